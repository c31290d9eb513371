"""Workers killed, stopped, blocked, or left without a store: each job runs to an end that one of them tells."""

from __future__ import annotations

import asyncio
import signal
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator

import anyio
import pytest
from anyio import to_thread

import headgate
from headgate.models import Job, JobRequest
from headgate.process import running_process
from headgate.reclaimer import Reclaimer
from headgate.settings import Settings
from tests.support.leaks import check_after, check_store
from tests.support.servers import PrivateServer
from tests.support.worker_process import WorkerProcess
from tests.support.worlds import World, wait_until

QUICK = Settings(lease_ttl_ms=900, lease_margin_ms=100, call_timeout_ms=300, backoff_max_ms=200)
Start = Callable[[], WorkerProcess]
Measured = Callable[[str], None]


@pytest.fixture
async def quick(server: PrivateServer, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A namespace on real time with a short lease, and a reclaimer that outlives all workers."""
    world = World(server.url, f"t-{uuid.uuid4().hex[:12]}", settings=QUICK)
    reclaiming = asyncio.create_task(reclaim(world))
    try:
        yield world
        await ended(reclaiming)
        await check_after(world, request.node)
    finally:
        await ended(reclaiming)
        await world.close()


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def reclaim(world: World) -> None:
    heart = world.heart(duties=("reclaimer",))
    async with running_process(heart, [Reclaimer(world.store, heart).run]):
        await anyio.sleep_forever()


@pytest.fixture
def start(quick: World) -> Iterator[Start]:
    children: list[WorkerProcess] = []

    def starting() -> WorkerProcess:
        children.append(WorkerProcess(quick))
        return children[-1]

    yield starting
    for child in children:
        child.close()


async def enqueue(world: World, **payload: int) -> str:
    request = JobRequest(kind="test", payload=payload, max_attempts=1)
    return (await world.store.producer.enqueue(request, idempotency_key=uuid.uuid4().hex)).job_id


async def reaches(world: World, job_id: str, state: str, *, worker: int | None = None) -> Job:
    """Wait for a state of the job and, if given, for the process that has it."""

    async def there() -> bool:
        job = await world.store.jobs.get(job_id)
        return job.state == state and (worker is None or f"-{worker}-" in (job.worker or ""))

    await wait_until(there, seconds=25)  # many lives of a lease, for a machine that is busy
    return await world.store.jobs.get(job_id)


async def claim_of(world: World, job_id: str) -> int:
    return int(await world.client.hget(world.keys("job", job_id), "claim"))


async def says(child: WorkerProcess, words: str) -> None:
    """Wait until it says so, unless it did before."""
    if any(words in line for line in child.log):
        return
    await to_thread.run_sync(child.read_until, words)


async def test_after_kill_9_in_the_middle_of_a_job_it_runs_again_after_its_lease_once(
    quick: World, start: Start, measured: Measured
) -> None:
    first = start()
    job_id = await enqueue(quick, sleep_ms=400)
    await says(first, f"begins {job_id}")
    first.signal(signal.SIGSTOP)  # it is in the middle for certain
    claimed = await reaches(quick, job_id, "running", worker=first.pid)
    number = await claim_of(quick, job_id)
    second = start()
    first.signal(signal.SIGKILL)
    killed = time.monotonic()
    job = await reaches(quick, job_id, "completed", worker=second.pid)
    took = time.monotonic() - killed
    measured(f"a killed worker's job ran again after {took * 1000:.0f} ms, lease {QUICK.lease_ttl_ms} ms")
    assert claimed.started_at_ms is not None
    assert job.started_at_ms is not None
    assert job.started_at_ms >= claimed.started_at_ms + QUICK.lease_ttl_ms, "before its lease was over"
    assert took <= QUICK.lease_ttl_ms / 1000 + 1
    assert (job.attempt, job.crash_attempt) == (0, 1)
    assert second.close().count(f"begins {job_id}") == 1
    assert await claim_of(quick, job_id) > number


async def test_a_worker_stopped_past_its_lease_is_refused_and_the_second_run_stands(quick: World, start: Start) -> None:
    first = start()
    job_id = await enqueue(quick, sleep_ms=800)
    await says(first, f"begins {job_id}")
    first.signal(signal.SIGSTOP)
    second = start()
    await reaches(quick, job_id, "completed", worker=second.pid)
    stands = await quick.client.hgetall(quick.keys("job", job_id))
    first.signal(signal.SIGCONT)
    await says(first, f"job.lost job={job_id}")
    after = await enqueue(quick)
    await reaches(quick, after, "completed")
    assert await quick.client.hgetall(quick.keys("job", job_id)) == stands
    assert first.alive
    assert "Traceback" not in first.close()
    assert second.close().count(f"ends {job_id}") == 1


async def test_a_handler_whose_job_is_anothers_by_now_is_cancelled(quick: World, start: Start) -> None:
    first = start()
    job_id = await enqueue(quick, sleep_ms=30_000)  # it outlasts the test
    await says(first, f"begins {job_id}")
    first.signal(signal.SIGSTOP)
    second = start()
    await reaches(quick, job_id, "running", worker=second.pid)
    first.signal(signal.SIGCONT)
    await says(first, f"cancelled {job_id}")
    job = await quick.store.jobs.get(job_id)
    assert (job.state, job.attempt, job.crash_attempt) == ("running", 0, 1)
    assert f"-{second.pid}-" in (job.worker or "")
    assert f"ends {job_id}" not in first.close()


async def test_a_blocked_loop_notices_says_so_and_gives_up_what_is_anothers(quick: World, start: Start) -> None:
    children = [start(), start()]
    job_id = await enqueue(quick, sleep_ms=600)
    job = await reaches(quick, job_id, "running")
    blocked, other = sorted(children, key=lambda child: f"-{child.pid}-" not in (job.worker or ""))
    await says(blocked, f"begins {job_id}")
    blocked.signal(signal.SIGUSR1)
    await reaches(quick, job_id, "completed", worker=other.pid)
    await says(blocked, "worker.blocked")
    await says(blocked, f"job.lost job={job_id}")
    await reaches(quick, await enqueue(quick), "completed")
    assert blocked.alive
    assert "Traceback" not in blocked.close()
    assert other.close().count(f"ends {job_id}") == 1


async def test_a_blocked_loop_that_takes_its_own_job_again_gives_the_older_run_up(quick: World, start: Start) -> None:
    """Alone, it may be the one to bring its own job back: one run goes on, and the worker with it."""
    alone = start()
    job_id = await enqueue(quick, sleep_ms=300)
    await says(alone, f"begins {job_id}")
    alone.signal(signal.SIGUSR1)
    await enqueue(quick)  # so that it claims as soon as it can
    await says(alone, "worker.blocked")
    await reaches(quick, job_id, "completed")
    await reaches(quick, await enqueue(quick), "completed")
    assert alone.alive
    job = await quick.store.jobs.get(job_id)
    assert job.attempt == 0
    log = alone.close()
    assert 1 <= log.count(f"begins {job_id}") <= 1 + job.crash_attempt, "what it had done may have counted, late"
    assert "Traceback" not in log


async def test_sigterm_ends_it_after_its_jobs(quick: World, start: Start) -> None:
    child = start()
    job_id = await enqueue(quick, sleep_ms=100)
    await says(child, f"begins {job_id}")
    child.signal(signal.SIGTERM)
    await says(child, f"ends {job_id}")
    assert (await reaches(quick, job_id, "completed")).attempt == 0


async def test_jobs_outlive_a_store_that_vanishes_for_longer_than_their_leases(own_server: PrivateServer) -> None:
    """The worker lives on; each job's end arrives, or it runs again. Not one is lost or failed."""
    world = World(own_server.url, "away", settings=QUICK)
    app = headgate.Headgate(world.url, namespace="away", settings=QUICK)
    ends: dict[str, int] = {}
    begun: set[str] = set()

    @app.actor("test")
    async def test(job: headgate.Job, sleep_ms: int) -> None:
        begun.add(job.id)
        await anyio.sleep(sleep_ms / 1000)
        ends[job.id] = ends.get(job.id, 0) + 1

    try:
        async with app.run():
            ids = [await enqueue(world, sleep_ms=sleep_ms) for sleep_ms in (500, 2000, 4000, 5500)]

            async def all_begun() -> bool:
                return len(begun) == 4

            await wait_until(all_begun)
            own_server.signal(signal.SIGSTOP)
            back = time.monotonic() + 5

            async def away_long_enough() -> bool:
                return time.monotonic() >= back

            await wait_until(away_long_enough)
            assert ends
            own_server.signal(signal.SIGCONT)
            for job_id in ids:
                job = await reaches(world, job_id, "completed")
                assert job.attempt == 0
                assert 1 <= ends[job_id] <= 1 + job.crash_attempt
            await reaches(world, await enqueue(world, sleep_ms=0), "completed")
        await check_store(world)
    finally:
        own_server.signal(signal.SIGCONT)
        await world.close()


async def test_a_store_that_was_emptied_ends_nothing(own_server: PrivateServer) -> None:
    """The scripts are gone, and so are the jobs: what ran is given up, what is new runs."""
    world = World(own_server.url, "empty", settings=QUICK)
    app = headgate.Headgate(world.url, namespace="empty", settings=QUICK)
    begun, cancelled = anyio.Event(), anyio.Event()

    @app.actor("test")
    async def test(sleep_ms: int) -> None:
        begun.set()
        try:
            await anyio.sleep(sleep_ms / 1000)
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise

    try:
        async with app.run(scheduler=False):
            await enqueue(world, sleep_ms=30_000)
            await begun.wait()
            with own_server.client() as client:
                client.flushall()
                client.script_flush()
            with anyio.fail_after(10):
                await cancelled.wait()
            await reaches(world, await enqueue(world, sleep_ms=0), "completed")
        await check_store(world)
    finally:
        await world.close()
