"""Two leaders, and hand-overs: stopped, blocked, robbed and killed holders. Nothing is doubled, nothing is lost."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from anyio import to_thread

from headgate.settings import Settings
from tests.support.check import check_trail
from tests.support.leaks import check_after
from tests.support.process import SchedulerProcess
from tests.support.servers import PrivateServer
from tests.support.worlds import World, running, wait_until

QUICK = Settings(lease_ttl_ms=1500, lease_margin_ms=150, call_timeout_ms=500)
Start = Callable[..., SchedulerProcess]
Measured = Callable[[str], None]


@pytest.fixture
async def quick(server: PrivateServer, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A namespace on real time with a short lease, and a schedule every 100 ms that is to miss nothing."""
    world = World(server.url, f"t-{uuid.uuid4().hex[:12]}", settings=QUICK)
    await world.put("busy", "@every:100", on_missed="backfill", backfill_limit=1000)
    try:
        yield world
        await check_after(world, request.node)
    finally:
        await world.close()


@pytest.fixture
def start(quick: World) -> Iterator[Start]:
    children: list[SchedulerProcess] = []

    def starting(*, credulous: bool = False) -> SchedulerProcess:
        children.append(SchedulerProcess(quick, credulous=credulous))
        return children[-1]

    yield starting
    for child in children:
        child.close()


async def holder(world: World) -> str:
    found: str | None = await world.client.get(world.keys("duty", "scheduler"))
    return found or ""


async def held_by(world: World, pid: int, *, seconds: float = 10) -> None:
    async def holds() -> bool:
        return f"-{pid}-" in await holder(world)

    await wait_until(holds, seconds=seconds)


async def fired_more(world: World, count: int = 3) -> None:
    """Wait until so many further ticks were decided."""
    target = int((await world.record("busy"))["event_seq"]) + count

    async def enough() -> bool:
        return int((await world.record("busy"))["event_seq"]) >= target

    await wait_until(enough)


async def check_everything(world: World) -> None:
    record = await world.record("busy")
    since = int(record["created_at_ms"])
    await check_trail(world, "busy", since_ms=since, until_ms=int(record["last_tick_ms"]))


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGUSR1], ids=["stopped", "loop-blocked"])
async def test_a_holder_that_slept_past_its_lease_writes_nothing_and_lives_on_as_a_standby(
    quick: World, start: Start, how: signal.Signals
) -> None:
    first = start()
    await held_by(quick, first.pid)
    await fired_more(quick)
    second = start()
    first.signal(how)
    await held_by(quick, second.pid)
    await fired_more(quick)
    if how is signal.SIGSTOP:
        first.signal(signal.SIGCONT)
    else:
        await fired_more(quick, 12)  # until the blocked loop runs again
    await fired_more(quick)
    await held_by(quick, second.pid)
    assert first.alive
    second.signal(signal.SIGTERM)
    await held_by(quick, first.pid)
    await fired_more(quick)
    log = first.close()
    await check_everything(quick)
    assert "duty.lost" in log
    assert "Traceback" not in log


async def test_a_holder_that_never_doubts_its_lease_is_stopped_by_the_script(quick: World, start: Start) -> None:
    """Local distrust is a courtesy. This one has none, sleeps past its lease, and goes on where it was."""
    first = start(credulous=True)
    await held_by(quick, first.pid)
    await fired_more(quick)
    first.signal(signal.SIGSTOP)
    second = start()
    await held_by(quick, second.pid)
    await fired_more(quick)
    first.signal(signal.SIGCONT)
    await to_thread.run_sync(first.read_until, "refused")
    await fired_more(quick)
    await held_by(quick, second.pid)
    assert first.alive
    await check_everything(quick)


async def test_a_lease_deleted_by_hand_goes_to_one_of_them_and_nothing_is_doubled(quick: World) -> None:
    one, two = quick.scheduler(), quick.scheduler()
    async with running(one, two):
        for _ in range(5):
            await fired_more(quick)
            await quick.client.delete(quick.keys("duty", "scheduler"))

            async def held_again() -> bool:
                return bool(await holder(quick))

            await wait_until(held_again)
        await fired_more(quick)
    await check_everything(quick)


async def test_take_over_after_kill_9_takes_at_most_the_lease_and_a_second(
    quick: World, start: Start, measured: Measured
) -> None:
    first = start()
    await held_by(quick, first.pid)
    second = start()
    await fired_more(quick)
    killed = time.monotonic()
    first.signal(signal.SIGKILL)
    await held_by(quick, second.pid)
    took = time.monotonic() - killed
    await fired_more(quick)
    second.close()
    measured(f"take-over after kill -9: {took * 1000:.0f} ms, lease {QUICK.lease_ttl_ms} ms")
    assert took <= QUICK.lease_ttl_ms / 1000 + 1
    await check_everything(quick)


async def test_take_over_after_sigterm_takes_at_most_200_ms(quick: World, start: Start, measured: Measured) -> None:
    first = start()
    await held_by(quick, first.pid)
    second = start()
    await fired_more(quick)
    told = time.monotonic()
    first.signal(signal.SIGTERM)
    await held_by(quick, second.pid)
    took = time.monotonic() - told
    await fired_more(quick)
    second.close()
    measured(f"take-over after SIGTERM: {took * 1000:.0f} ms")
    assert took <= 0.2
    await check_everything(quick)
