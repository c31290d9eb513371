"""The sweep loop from outside: how it wakes, how it idles, how it carries a herd."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator

import anyio
import pytest

from headgate.models import ScheduleDefinition
from headgate.planning import Sweep
from headgate.scheduler import Scheduler
from headgate.store.ticks import PlannedFire
from tests.support.check import commands
from tests.support.worlds import START_MS, World, running, wait_until

HERD = 10_000


async def test_ten_thousand_schedules_due_in_the_same_second_fire_once_each(moved: World) -> None:
    definition = ScheduleDefinition(kind="report", spec="0 9 * * *", payload={"n": 1})

    async def put_some(numbers: range) -> None:
        for number in numbers:
            await moved.store.schedules.put(f"s{number}", definition)

    async with anyio.create_task_group() as tasks:
        for part in range(8):
            tasks.start_soon(put_some, range(part, HERD, 8))
    nine = START_MS + 3_600_000  # the clock stands at eight
    await moved.set_clock(nine)

    async def all_queued() -> bool:
        return bool(await moved.client.zcard(moved.keys("state", "default", "available")) >= HERD)

    async with running(moved.scheduler()):
        await wait_until(all_queued, seconds=30)
    jobs = await moved.queued()
    assert len(jobs) == len(set(jobs)) == HERD
    async with moved.client.pipeline(transaction=False) as pipeline:
        for number in range(HERD):
            pipeline.lrange(moved.keys("events", f"s{number}"), 0, -1)
            pipeline.hmget(moved.keys("schedule", f"s{number}"), "last_tick_ms", "next_run_ms")
        replies = await pipeline.execute()
    assert Counter(map(len, replies[::2])) == {1: HERD}
    assert Counter(map(tuple, replies[1::2])) == {(str(nine), str(nine + 86_400_000)): HERD}


async def test_a_schedule_written_by_anybody_wakes_the_scheduler(world: World) -> None:
    """Without the wake-up, the new schedule would wait for a heartbeat, 1.7 s."""
    other = World(world.url, world.namespace)
    async with running(world.scheduler()):
        async with world.client.pubsub() as _:
            await wait_until(lambda: subscribed(world))
        for _ in range(3):
            await other.put("new", "@every:50")
            written = time.monotonic()
            await wait_until(lambda: has_events(world, "new"))
            assert time.monotonic() - written < 1.0
            await other.store.schedules.delete("new")
            await world.client.delete(world.keys("events", "new"))
    await other.close()


async def subscribed(world: World) -> bool:
    channel = world.keys("wake")
    return bool(dict(await world.client.pubsub_numsub(channel)).get(channel))


async def has_events(world: World, schedule_id: str) -> bool:
    return bool(await world.client.exists(world.keys("events", schedule_id)))


async def test_a_tick_fires_at_its_time_and_not_a_heartbeat_later(world: World) -> None:
    async with running(world.scheduler()):
        await world.put("often", "@every:250")

        async def enough() -> bool:
            return int((await world.record("often"))["event_seq"]) >= 6

        await wait_until(enough)
    lateness = sorted(event["recorded_at_ms"] - event["tick_ms"] for event in await world.events("often"))
    assert lateness[0] >= 0
    assert lateness[len(lateness) // 2] < 100


async def test_an_idle_scheduler_makes_less_than_one_call_a_second(world: World) -> None:
    """Heartbeats alone: one each third of the lease."""
    await world.put("later", "@every:86400000")
    scheduler = world.scheduler()
    async with running(scheduler):
        for _ in range(3):  # whatever belongs to the start is over by the third heartbeat
            await next_heartbeat(world, scheduler)
        before, began = await commands(world, ["evalsha"]), time.monotonic()
        for _ in range(3):
            await next_heartbeat(world, scheduler)
        calls = await commands(world, ["evalsha"]) - before
        spent = time.monotonic() - began
        assert calls < spent, [client["name"] for client in await world.client.client_list()]


async def next_heartbeat(world: World, scheduler: Scheduler) -> None:
    key = world.keys("process", scheduler.heart.process_id)
    last = await world.client.hget(key, "seen_at_ms")

    async def beaten() -> bool:
        return bool(await world.client.hget(key, "seen_at_ms") != last)

    await wait_until(beaten)


async def test_a_paused_schedule_does_not_fire(moved: World) -> None:
    definition = ScheduleDefinition(kind="test", spec="@every:1000")
    await moved.store.schedules.put("still", definition, paused=True)
    await moved.put("moving", "@every:1000")
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await moved.advance(5000)
    await scheduler.sweep()
    assert await moved.events("still") == []
    assert len(await moved.events("moving")) == 1


async def test_a_lost_entry_of_what_resumes_is_put_back_by_the_look_from_time_to_time(world: World) -> None:
    """No heartbeat counts those: the duty stays where it is, and the other indexes are whole."""
    await world.put("later", "@every:86400000")
    await world.store.control.pause("later", until_ms=int(time.time() * 1000) + 3_600_000)
    scheduler = world.scheduler()
    async with running(scheduler):
        await next_heartbeat(world, scheduler)
        assert time.monotonic() + 500 < scheduler._mend_at < time.monotonic() + 601, "it was looked at when it began"
        await world.client.delete(world.keys("resumes"))
        await next_heartbeat(world, scheduler)
        assert not await world.client.exists(world.keys("resumes"))
        scheduler._mend_at = time.monotonic()

        async def back() -> bool:
            return bool(await world.client.zcard(world.keys("resumes")))

        await wait_until(back)
        assert scheduler._mend_at > time.monotonic() + 500


async def test_a_fault_of_our_own_is_a_line_in_the_log_and_not_the_end(
    moved: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await moved.put("a", payload="words of a payload")
    await moved.advance(60_000)
    planned = Sweep.batches
    faults = iter([True, True])

    def faulty(sweep: Sweep) -> Iterator[list[PlannedFire]]:
        if next(faults, False):
            raise RuntimeError("words of a payload")
        yield from planned(sweep)

    monkeypatch.setattr(Sweep, "batches", faulty)
    with caplog.at_level(logging.INFO, "headgate"):
        async with running(moved.scheduler()):
            await wait_until(lambda: has_events(moved, "a"))
    lines = [line for line in caplog.text.splitlines() if "sweep.failed" in line]
    assert len(lines) == 1
    assert "RuntimeError in faulty" in lines[0]
    assert "words of a payload" not in caplog.text
