"""``headgate demo``: a handful of telling schedules on a store of their own, and an account of what becomes of them."""

from __future__ import annotations

import argparse
import logging
import math
import os
import shlex
import shutil
import socket
import sys
import time
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import anyio

from headgate.cli.arguments import to_port, to_seconds
from headgate.cli.demo_app import MEANING, ON_HOLD, POISON, app
from headgate.cli.node import Node, open_node, running, until_signalled
from headgate.errors import StoreUnavailable
from headgate.http import make_api
from headgate.http.server import listening
from headgate.models import Event, JobRequest
from headgate.runner import CallNext, Job
from headgate.store import Store

_LATE_SECONDS: Final = 5
_POLL_SECONDS: Final = 0.2


def add_to(command: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    command.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        default=Path(".headgate-demo"),
        help="where its store is kept (default: %(default)s)",
    )
    command.add_argument(
        "--port",
        type=to_port,
        default=8420,
        help="port of the API (default: %(default)s, or a free one if it is taken)",
    )
    command.add_argument("--seconds", type=to_seconds, metavar="N", help="end by itself after so long")
    command.set_defaults(run=run, redis=None, namespace=None)


def run(options: argparse.Namespace) -> None:
    """Run the demo until Ctrl-C, or for ``--seconds``."""
    anyio.run(_run, options)


async def _run(options: argparse.Namespace) -> None:
    handler = logging.StreamHandler()
    handler.addFilter(lambda record: getattr(record, "headgate_event", "") != "job.failed")  # which _tell says
    logging.basicConfig(level=logging.WARNING, format="-- %(message)s --", handlers=[handler])
    told: list[str] = []
    app.middleware(partial(_tell, told))
    async with (
        until_signalled(),
        open_node(options, app) as node,
        _api(node, options.port) as address,
    ):
        await node.check_store()
        await _prepare(node.store)
        async with running(node, app, scheduler=False, shutdown_grace=0), anyio.create_task_group() as tasks:
            _say_hello(node, options.data_dir, address)
            with anyio.move_on_after(math.inf if options.seconds is None else options.seconds):
                tasks.start_soon(_account, node.store, told)
                # On purpose: what is missed by then shows what a missed-run policy does.
                await anyio.sleep(_LATE_SECONDS)
                print(
                    "-- only now does the scheduler start: what was missed until now follows each schedule's policy --",
                    flush=True,
                )
                await node.schedule()
            tasks.cancel_scope.cancel()
    print(*told, sep="\n")
    _say_goodbye(options.data_dir, urlsplit(address).port)


def _api(node: Node, port: int) -> AbstractAsyncContextManager[str]:
    api = make_api(lambda: node.store, node.follow_hints, app.hooks, environment="demo")
    return listening(api, "127.0.0.1", _free(port))


async def _prepare(store: Store) -> None:
    """What an application cannot declare: content that is barred, and a schedule that begins paused."""
    _, fingerprint = JobRequest(kind="demo.report", payload=POISON).content()
    await store.quarantine.add(fingerprint, note="the demo bars this content")
    await store.schedules.put("on-hold", ON_HOLD, paused=True)


async def _tell(told: list[str], job: Job, call_next: CallNext) -> None:
    """Have it printed what becomes of an attempt."""
    began = time.monotonic()
    became, note = "job completed", ""
    try:
        await call_next(job)
    except Exception as error:
        became, note = "job failed", f", {type(error).__name__}: it is tried again"
        raise
    except BaseException:
        became, note = "job handed back", ", not counted"
        raise
    finally:
        schedule_id = job.origin.schedule_id if job.origin else "(by hand)"
        took_ms = round((time.monotonic() - began) * 1000)
        now = _clock(time.time_ns() // 1_000_000)
        told.append(f"{now}  {schedule_id:<9}   {became:<17} {took_ms:>6} ms long  attempt {job.attempt}{note}")


async def _account(store: Store, told: list[str]) -> None:
    """Print the trail as it grows, read from the store, as anybody could; below it what the jobs had to tell."""
    seen = dict.fromkeys(MEANING, 0)
    for schedule_id in seen:
        page = await store.events.list(schedule_id, limit=1)
        seen[schedule_id] = page.events[0].event_id if page.events else 0
    while True:
        fresh: list[Event] = []
        upto = len(told)  # each job ran after its event was written, so that will be read
        try:
            for schedule_id in seen:
                events = (await store.events.list(schedule_id, limit=20)).events
                fresh += [event for event in events if event.event_id > seen[schedule_id]]
                seen[schedule_id] = events[0].event_id if events else 0
        except StoreUnavailable:
            pass  # the log has it; the store is started again
        for event in sorted(fresh, key=lambda event: (event.recorded_at_ms, event.tick_ms)):
            print(_line(event), flush=True)
        for line in told[:upto]:
            print(line, flush=True)
        del told[:upto]
        await anyio.sleep(_POLL_SECONDS)


def _line(event: Event) -> str:
    lateness = event.recorded_at_ms - event.tick_ms
    became = f"{event.outcome}/{event.reason}"
    line = f"{_clock(event.tick_ms)}  {event.schedule_id:<9} {became:<19} {lateness:>6} ms late"
    if event.job_id is not None:
        line += f"  job {event.job_id}"
    if event.discarded is not None:
        first, last = _clock(event.discarded.from_ms), _clock(event.discarded.until_ms)
        line += f"\n{'':12}discarded: {first}" + (f" to {last}" if last != first else "")
    return line


def _clock(instant_ms: int) -> str:
    return datetime.fromtimestamp(instant_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-5]


def _say_hello(node: Node, data_dir: Path, address: str) -> None:
    print(f"Headgate (process {os.getpid()}) runs on a Valkey of its own in {data_dir}. Its schedules:\n")
    for schedule_id, meaning in MEANING.items():
        print(f"  {schedule_id:<9} {meaning}")
    path = node.url.removeprefix("unix://").partition("?")[0]
    print(
        f"\nIts console is at {address}/ (and what programs may ask, at {address}/docs/api).\n"
        "\nTry, in another terminal:\n"
        f"  curl '{address}/api/v1/periodic/catch-up/enqueue-events?limit=3'\n"
        f"  curl -X POST -H 'Idempotency-Key: once' '{address}/api/v1/periodic/on-hold/run'\n"
        f"  curl '{address}/api/v1/duties'\n"
        f"  redis-cli -s {shlex.quote(path)} LRANGE 'hg:{{default}}:events:every-3s' 0 2\n"
        "\nCtrl-C ends it. Ticks (UTC) as the trail records them, and what becomes of their jobs:\n",
        flush=True,
    )


def _say_goodbye(data_dir: Path, port: int | None) -> None:
    address = f"http://127.0.0.1:{port}"
    print(
        "\nEnded; the schedules are kept. They go on, with what they missed, with\n"
        f"  {_program()} serve --app headgate.cli.demo_app:app --port {port} --data-dir {shlex.quote(str(data_dir))}\n"
        "and then answer to\n"
        f"  curl '{address}/api/v1/periodic'\n"
        f"  curl '{address}/api/v1/periodic/catch-up/enqueue-events?limit=5'",
        flush=True,
    )


def _program() -> str:
    """How to call this program again from here."""
    script = Path(sys.argv[0])
    if script.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m headgate"
    on_path = shutil.which(script.name)
    if on_path and Path(on_path).resolve() == script.resolve():
        return script.name
    return shlex.quote(os.path.relpath(script))


def _free(port: int) -> int:
    """`port`, or 0 for a free one, if somebody listens there already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port
