"""A tick that is queued and lacks its event when its schedule is paused."""

from __future__ import annotations

import pytest

from tests.support.worlds import START_MS, World


@pytest.mark.damages_store("a list of events of a foreign type, mended later")
async def test_a_pause_writes_the_event_that_nobody_would_come_back_for(moved: World) -> None:
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await moved.put("a")
    await moved.client.set(moved.keys("events", "a"), "foreign")
    await moved.advance(60_000)
    await scheduler.sweep()
    assert (await moved.record("a"))["last_tick_ms"] == str(START_MS + 60_000)
    await moved.client.delete(moved.keys("events", "a"))
    await moved.store.control.pause("a")
    [event] = await moved.events("a")
    assert (event["tick_ms"], event["outcome"], event["reason"]) == (START_MS + 60_000, "enqueued", "replayed")
    await moved.advance(60_000)
    await moved.store.control.resume("a", missed="run_once")
    await scheduler.sweep()
    assert [event["tick_ms"] - START_MS for event in await moved.events("a")] == [120_000, 60_000]
    assert await moved.queued() == [f"sched-a-{START_MS + 60_000}", f"sched-a-{START_MS + 120_000}"]
