"""Hold the API to its contract: ``python -m tests.fuzz_api [--seconds N] [--seed N]``.

Serves a namespace in which something goes on, reads the contract from it as any client does, and lets schemathesis ask
what the contract allows and much that it does not. Every answer must be one that the contract describes: status, type,
headers, every field. Not part of the suite, since it takes the time that it is given.
"""

from __future__ import annotations

import argparse
import functools
import logging
import random
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

import headgate
from headgate.http import create_app
from headgate.http.access import Access, Tokens
from headgate.http.server import listening
from headgate.models import ScheduleDefinition
from tests.support.servers import PrivateServer

TOKEN = "the-token-of-the-operator-who-asks-everything"
PATIENCE_S = 30
"""What is left, after the time that was given, for answers under way and for a finding to be told."""

CONFIG = """
hooks = "hooks.py"

[checks]
# Rules of values are in no schema: a spec's grammar, an instant after now, fields that exclude each other.
positive_data_acceptance.enabled = false
negative_data_rejection.enabled = false
# A job may be run and removed before somebody asks for it.
ensure_resource_availability.enabled = false
# Whether a token is asked for is the server's affair; tests/http has every route and caller.
ignored_auth.enabled = false

[phases.coverage]
unexpected-methods = ["GET", "PUT", "POST", "DELETE", "PATCH", "TRACE", "OPTIONS"]

[dictionaries]
schedules.values = ["often", "paused", "failing", "new{1}@x"]
jobs.values = ["waits", "runs", "done", "barred", "new-job"]
queues.values = ["default", "full", "slow", "new"]
fingerprints.values = ["00000000000000000000000000000000", "0123456789abcdef0123456789abcdef"]
specs.values = ["@every:1000", "@every:60000", "*/2 * * * * *", "CRON_TZ=Europe/Berlin 30 2 * * *", "0 0 30 2 *"]
kinds.values = ["quick", "long", "nobody"]
states.values = ["available", "running", "completed", "scheduled", "quarantined", "archived", "retryable", "cancelled"]
instants.values = [0, 1, 1800000000000, 253402300799999, 253402300800000]
revisions.values = ['"1"', "2", "*"]
keys.values = ["key-1", "key-2", "key-3"]

[parameters]
"path.queue" = { dictionary = "queues", probability = 0.7 }
"path.fingerprint" = { dictionary = "fingerprints", probability = 0.7 }
"query.queue" = { dictionary = "queues", probability = 0.7 }
"query.state" = { dictionary = "states", probability = 0.7 }
"query.periodic_schedule_id" = { dictionary = "schedules", probability = 0.7 }
"query.tick_ms" = { dictionary = "instants", probability = 0.5 }
"query.until_ms" = { dictionary = "instants", probability = 0.5 }
"header.If-Match" = { dictionary = "revisions", probability = 0.5 }
"header.Idempotency-Key" = { dictionary = "keys", probability = 0.5 }
"body.spec" = { dictionary = "specs", probability = 0.8 }
"body.kind" = { dictionary = "kinds", probability = 0.8 }
"body.queue" = { dictionary = "queues", probability = 0.8 }
"body.id" = { dictionary = "jobs", probability = 0.5 }
"body.ids[*]" = { dictionary = "schedules", probability = 0.8 }
"body.jobs[*].kind" = { dictionary = "kinds", probability = 0.8 }
"body.after_ms" = { dictionary = "instants", probability = 0.5 }
"body.until_ms" = { dictionary = "instants", probability = 0.5 }

[[operations]]
include-path-regex = "^/api/v1/periodic/.id.(?!/(enqueue-events|manual-runs|changes|gaps|explain)$)"
parameters = { "path.id" = { dictionary = "schedules", probability = 0.8 } }

[[operations]]  # history outlives its schedule
include-path-regex = "^/api/v1/periodic/.id./(enqueue-events|manual-runs|changes|gaps|explain)$"
parameters = { "path.id" = { dictionary = "schedules", probability = 0.8 } }
checks.use_after_free.enabled = false

[[operations]]
include-path-regex = "^/api/v1/jobs/.id."
parameters = { "path.id" = { dictionary = "jobs", probability = 0.8 } }

[[operations]]  # a schedule may be called so: its methods are those of this path too, and are described with it
include-path = "/api/v1/periodic/bulk"
checks.allow_header_conformance.enabled = false

[[operations]]  # it answers for as long as its client listens
include-path = "/api/v1/stream"
enabled = false
"""
"""Most requests are about what is there, or was a moment ago: an id that is made up is never met again."""

HOOKS = """
from urllib.parse import quote

import schemathesis


@schemathesis.hook
def filter_case(ctx, case):
    return len(case.formatted_path) + len(quote(str(case.query))) < 4_000
"""
"""A line of 8 KiB is no HTTP to aiohttp, which refuses it, as text, before there is a request to answer."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_api", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--seconds", type=int, default=60, help="how long to ask (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="as a run before printed it")
    options = parser.parse_args()
    logging.getLogger("headgate").setLevel(logging.ERROR)  # a schedule that fails is to say so, and not here
    print(f"seed {options.seed}, for {options.seconds} s", flush=True)
    if anyio.run(functools.partial(ask, options.seconds, options.seed)):
        sys.exit(
            "The API broke its contract. With each finding stands the curl that repeats it; this repeats the run:\n"
            f"python -m tests.fuzz_api --seconds {options.seconds} --seed {options.seed}"
        )


async def ask(seconds: int, seed: int) -> int:
    """The exit code of schemathesis: 0 when every answer was as the contract says."""
    with tempfile.TemporaryDirectory(prefix="headgate-fuzz-") as folder:
        for name, text in (("schemathesis.toml", CONFIG), ("hooks.py", HOOKS)):
            await anyio.Path(folder, name).write_text(text, encoding="utf-8")
        async with served() as address:
            command = [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/api/v1/openapi.json"),
                *("--max-time", str(seconds), "--seed", str(seed)),
                *("--header", f"Authorization: Bearer {TOKEN}", "--generation-database", "none"),
                *("--request-timeout", "10", "--max-failures", "5", "--continue-on-failure", "--warnings", "off"),
                *("--suppress-health-check", "all", "--output-sanitize", "false"),
            ]
            with anyio.fail_after(seconds + PATIENCE_S):  # its configuration is that of the folder it runs in
                done = await anyio.run_process(command, stdout=None, stderr=None, check=False, cwd=folder)
    return done.returncode


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """The address of an API, in whose namespace a scheduler and a worker are at work."""
    server = PrivateServer("valkey")
    server.start()
    try:
        app = headgate.Headgate(server.url, namespace="fuzz")
        app.actor("quick")(quick)
        app.actor("long")(long)
        access = Access(tokens=Tokens(TOKEN), allowed_hosts=frozenset())
        async with app.run(), listening(create_app(app, access=access), "127.0.0.1", 0) as address:
            await fill(app)
            yield address
    finally:
        server.close()


async def quick(it: str = "") -> None:
    """Ends at once, whatever it is."""


async def long() -> None:
    """Is running whenever somebody looks."""
    await anyio.sleep(3600)


async def fill(app: headgate.Headgate) -> None:
    """One of each: schedules, with what became of their ticks, jobs, queues and what is barred."""
    schedules, queues = app.store.schedules, app.store.queues
    await queues.set_limits("full", headgate.QueueLimits(max_unfinished=0))
    await queues.set_limits("slow", headgate.QueueLimits(max_concurrent=1, rate_limit=headgate.RateLimit(limit=1)))
    for name, kind, queue in (("often", "quick", "default"), ("failing", "quick", "full"), ("paused", "long", "slow")):
        await schedules.put(name, ScheduleDefinition(kind=kind, spec="@every:1000", queue=queue, labels={"team": "a"}))
    await app.store.control.pause("paused", reason="for a while", by="fuzz")
    await app.enqueue("long", id="runs", unique_key="runs")
    await app.enqueue("quick", id="done", retention_ms=3_600_000)
    await app.enqueue("quick", id="waits", delay_ms=3_600_000)
    barred = await app.enqueue("quick", {"it": "kills"}, id="barred", delay_ms=3_600_000)
    job = await app.store.jobs.get(barred.job_id)
    await app.store.quarantine.add(job.fingerprint, note="it kills")


if __name__ == "__main__":
    main()
