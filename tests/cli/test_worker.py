"""`headgate worker`: it runs an application's jobs and nothing else, waits for its store, ends without losing any."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from headgate import Headgate
from headgate.cli.node import Node, running
from headgate.models import Job, JobRequest
from headgate.settings import Settings
from tests.cli.conftest import SECRET, Ended, Start, check_refused
from tests.cli.test_serve_redis import PASSWORD
from tests.support.commands import HEADGATE, Command, run_to_end
from tests.support.servers import PrivateServer
from tests.support.worlds import World

APP = """
import anyio, pathlib
import headgate

app = headgate.Headgate()

@app.actor("greet")
async def greet(name: str) -> None:
    print(f"hello {name}", flush=True)

@app.actor("mail", queue="mail")
def mail() -> None:
    print("mailed", flush=True)

@app.actor("wait")
async def wait(job: headgate.Job, note: str = "") -> None:
    print(f"attempt {job.attempt} waits", flush=True)
    while not pathlib.Path("go").exists():
        await anyio.sleep(0.005)
    print("done", flush=True)

app.periodic("yearly", "0 0 1 1 *", kind="mail")
"""


@pytest.fixture(autouse=True)
def app_file(folder: Path) -> None:
    (folder / "jobs.py").write_text(APP)


def worker_of(world: World, *more: str) -> tuple[str, ...]:
    return ("worker", "--app", "jobs:app", "--redis", world.url, "--namespace", world.namespace, *more)


async def enqueue(world: World, kind: str, payload: Any = None, *, queue: str = "default") -> str:
    request = JobRequest(kind=kind, payload=payload, queue=queue)
    return (await world.store.producer.enqueue(request, idempotency_key=uuid.uuid4().hex)).job_id


def after(command: Command, pattern: str, *, times: int) -> int:
    """Wait for lines with the pattern; where the last of them ends."""
    position = 0
    for _ in range(times):
        position = command.lines.index(command.line(pattern, after=position).string, position) + 1
    return position


async def job(world: World, job_id: str) -> Job:
    return await world.store.jobs.get(job_id)


async def test_it_runs_jobs_and_writes_what_is_declared_and_schedules_nothing(start: Start, world: World) -> None:
    first = await enqueue(world, "greet", {"name": "one"})
    command = start(*worker_of(world))
    command.line(r"^hello one$")
    command.line(r" app\.running ")
    await enqueue(world, "mail", queue="mail")
    command.line(r"^mailed$")
    assert (await world.store.schedules.get("yearly")).kind == "mail"
    assert not await world.client.exists(world.keys("duty", "scheduler"))
    assert command.end() == 0
    assert (await job(world, first)).state == "completed"


async def test_it_takes_jobs_of_the_queues_it_is_told_only(start: Start, world: World) -> None:
    other = await enqueue(world, "greet", {"name": "one"})
    command = start(*worker_of(world, "--queue", "mail", "--queue", "urgent"))
    for queue in ("mail", "urgent"):
        seen = len(command.lines)
        await enqueue(world, "mail", queue=queue)
        command.line(r"^mailed$", after=seen)
    assert command.end() == 0
    assert (await job(world, other)).state == "available"


async def test_it_runs_so_many_at_once_and_no_more(start: Start, folder: Path, world: World) -> None:
    jobs = [await enqueue(world, "wait") for _ in range(3)]
    command = start(*worker_of(world, "--concurrency", "2"))
    begun = after(command, r"^attempt 1 waits$", times=2)
    assert sorted([(await job(world, each)).state for each in jobs]) == ["available", "running", "running"]
    (folder / "go").touch()
    command.line(r"^attempt 1 waits$", after=begun)
    assert command.end() == 0


async def test_a_job_that_runs_may_finish_within_the_grace_and_none_is_begun(
    start: Start, folder: Path, world: World
) -> None:
    held = await enqueue(world, "wait", {"note": SECRET})
    command = start(*worker_of(world))
    command.line(r"^attempt 1 waits$")
    command.send(signal.SIGTERM)
    command.line(r" app\.ending ")
    late = await enqueue(world, "greet", {"name": "late"})
    (folder / "go").touch()
    assert command.wait() == 0
    assert (await job(world, held)).state == "completed"
    assert (await job(world, late)).state == "available"


async def test_a_job_that_outlasts_the_grace_is_handed_back_without_an_attempt_counted(
    start: Start, folder: Path, world: World
) -> None:
    held = await enqueue(world, "wait")
    command = start(*worker_of(world, "--shutdown-grace", "0.05"))
    command.line(r"^attempt 1 waits$")
    sent = time.monotonic()
    assert command.end() == 0
    assert time.monotonic() - sent < 2
    returned = await job(world, held)
    assert (returned.state, returned.attempt, returned.crash_attempt) == ("available", 0, 0)
    (folder / "go").touch()
    second = start(*worker_of(world))
    second.line(r"^attempt 1 waits$")
    second.line(r"^done$")
    assert second.end() == 0
    assert (await job(world, held)).state == "completed"


async def test_a_second_signal_ends_it_at_once(start: Start, world: World) -> None:
    held = await enqueue(world, "wait")
    command = start(*worker_of(world))
    command.line(r"^attempt 1 waits$")
    command.send(signal.SIGTERM)
    command.line(r" app\.ending ")
    sent = time.monotonic()
    command.send(signal.SIGTERM)
    assert command.wait() == 128 + signal.SIGTERM
    assert time.monotonic() - sent < 1
    assert (await job(world, held)).state == "running", "until its lease ends"


async def test_an_application_that_is_still_starting_is_cancelled_with_its_context() -> None:
    class Starting(Headgate):
        @asynccontextmanager
        async def run(self, **_: Any) -> AsyncIterator[Headgate]:
            await anyio.sleep_forever()
            yield self

    class Ready(Node):
        async def check_store(self) -> None:
            pass

    node = Ready("redis://localhost", "default", Settings())
    with anyio.move_on_after(0.01) as scope:
        async with running(node, Starting()):
            pytest.fail("it never started")
    assert scope.cancelled_caught
    await node.close()


async def test_it_leaves_no_connection_open_when_it_ends(folder: Path, world: World) -> None:
    await enqueue(world, "greet", {"name": "one"})
    program = (HEADGATE[0], "-W", "always::ResourceWarning", *HEADGATE[1:])
    with Command(*worker_of(world), cwd=folder, program=program) as command:
        command.line(r"^hello one$")
        assert command.end() == 0
        assert "ResourceWarning" not in command.output, command.output
        assert "Traceback" not in command.output, command.output


def test_a_store_that_is_away_at_the_start_is_waited_for(start: Start, own_server: PrivateServer) -> None:
    own_server.kill()
    command = start("worker", "--app", "jobs:app", "--redis", own_server.url)
    command.line(r" WARNING store\.away store=unix://\S+ detail=the store ")
    own_server.start()
    command.line(r" INFO    app\.running ")
    assert command.end() == 0


def test_it_can_be_ended_while_the_store_is_away(start: Start, own_server: PrivateServer) -> None:
    own_server.kill()
    command = start("worker", "--app", "jobs:app", "--redis", own_server.url)
    command.line(r" WARNING store\.away ")
    assert command.end() == 0


def test_a_refused_password_is_in_no_output(start: Start, own_server: PrivateServer) -> None:
    with own_server.client() as client:
        client.config_set("requirepass", "another")
    command = start("worker", "--app", "jobs:app", HEADGATE_REDIS_URL=f"{own_server.url}&password={PASSWORD}")
    assert "authentication" in command.line(r" WARNING store\.away .*")[0]
    assert command.end() == 0
    assert PASSWORD not in command.output


def test_a_queue_that_is_none_is_refused(folder: Path) -> None:
    refused: Ended = run_to_end("worker", "--app", "jobs:app", "--queue", "a b", cwd=folder)
    check_refused(refused, folder, "queue 'a b'")
