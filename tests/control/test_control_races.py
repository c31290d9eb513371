"""Pauses and resumes against each other, against a sweep, and against an answer that was lost."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from headgate.connect import connect
from headgate.errors import HeadgateError, NotPaused
from headgate.models import Schedule
from tests.control.acts import MINUTE, at, gaps, on_duty, pass_time, pause, ran, resume, sweep
from tests.fault.test_crash_points import Died, MortalClient
from tests.support.worlds import World


async def test_a_double_click_resumes_once(moved: World) -> None:
    """The second is told that there is nothing to resume; the range stands on record once."""
    await moved.put("a")
    await pause(moved)
    await moved.advance(10 * MINUTE)
    refused: list[HeadgateError] = []

    async def click() -> None:
        try:
            await resume(moved, "run_once")
        except NotPaused as error:
            refused.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(click)
    assert len(refused) == 2
    await sweep(moved)
    assert await ran(moved) == [10]
    assert await gaps(moved) == [(1, 9, "paused")]
    assert len(await moved.events("a")) == 2


async def test_a_double_click_pauses_once_and_answers_twice(moved: World) -> None:
    await moved.put("a")
    found: list[Schedule] = []

    async def click() -> None:
        found.append(await moved.store.control.pause("a", reason="x"))

    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(click)
    assert all(it.paused for it in found)
    await moved.advance(3 * MINUTE)
    await resume(moved)
    assert await gaps(moved) == [(1, 3, "paused")]


async def test_a_plan_from_before_a_write_is_not_carried_out(moved: World) -> None:
    """A resume plans by the record as read; one that changed meanwhile is planned again."""
    await moved.put("a")
    await pause(moved)
    await moved.advance(10 * MINUTE)
    control: Any = moved.store_on(moved.client).control
    call, reads = control._scripts.call, 0

    async def late(name: str, *args: Any) -> Any:
        nonlocal reads
        answer = await call(name, *args)
        reads += name == "get"
        if name == "get" and reads == 1:
            await moved.put("a", "@every:120000")
        return answer

    control._scripts.call = late
    await control.resume("a")
    assert reads > 1
    await pass_time(moved, 2 * MINUTE)
    assert await ran(moved) == [12]
    assert [gap["spec"] for gap in await moved.gaps("a")] == ["@every:60000"]


async def test_a_pause_between_a_plan_and_its_fire_stops_it(moved: World) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved)
    await moved.advance(MINUTE)
    fire: Any = moved.store.ticks.fire

    async def late(*args: Any) -> Any:
        await pause(moved)
        return await fire(*args)

    ticks: Any = scheduler._store.ticks
    ticks.fire = late
    await scheduler.sweep()
    assert await moved.queued() == []
    await resume(moved)
    assert await gaps(moved) == [(1, 1, "paused")]


@pytest.mark.parametrize("after_sending", [False, True], ids=["before-sending", "after-sending"])
@pytest.mark.parametrize("dies_at", [1, 2, 3, 4, 5])
async def test_a_death_while_a_pause_ends_by_itself_leaves_it_to_the_next(
    moved: World, dies_at: int, after_sending: bool
) -> None:
    await moved.put("a")
    await pause(moved, until_ms=at(5))
    await moved.advance(7 * MINUTE)
    client = connect(moved.url, moved.settings)
    mortal: Any = MortalClient(client, dies_at, after_sending=after_sending)
    scheduler = moved.scheduler(moved.store_on(mortal))
    try:
        await scheduler.heart.beat()
        await scheduler.sweep()
        await scheduler.sweep()
    except* Died:
        pass
    finally:
        await client.aclose()
    await sweep(moved)
    await pass_time(moved, MINUTE)
    assert await ran(moved) == [7, 8]
    assert await gaps(moved) == [(1, 5, "paused"), (6, 6, "discarded")]
    assert [event["reason"] for event in await moved.events("a")] == ["accepted", "accepted", "paused"]


@pytest.mark.parametrize("rules", [{"overlap": "skip"}, {"unique_key": "u"}, {"max_lateness_ms": 1000}])
@pytest.mark.damages_store("a record from a backup")
async def test_a_tick_that_is_queued_is_replayed_whatever_its_rules_say_by_now(
    moved: World, rules: dict[str, Any]
) -> None:
    """As of a record that was restored: its own job, or its age, is no reason against it."""
    await moved.put("a", **rules)
    record = await moved.record("a")
    await moved.advance(MINUTE)
    await sweep(moved)
    await moved.client.delete(moved.keys("schedule", "a"))
    await moved.client.hset(moved.keys("schedule", "a"), mapping=record)
    await moved.client.zadd(moved.keys("due"), {"a": record["next_run_ms"]})
    await moved.advance(5000)
    await sweep(moved)
    assert [event["reason"] for event in await moved.events("a")] == ["replayed", "accepted"]
