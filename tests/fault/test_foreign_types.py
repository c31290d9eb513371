"""The script stopped between its steps: a key of the wrong type in place of each key it uses.

The other schedules of the batch fire; the stricken one does not pass an unwritten event; once the key is mended, it
replays without a second job and without a lost one.
"""

from __future__ import annotations

import logging

import pytest

from headgate.errors import StoreError
from headgate.missed import Plan
from headgate.models import JobRequest
from headgate.names import fingerprint
from headgate.scheduler import Scheduler
from headgate.store.ticks import PlannedFire
from tests.support.check import check_trail
from tests.support.leaks import check_store
from tests.support.worlds import START_MS, World, running, wait_until

MINUTE = 60_000


async def three_schedules(world: World) -> Scheduler:
    """One to be stricken, on a queue of its own, between two healthy ones."""
    for schedule_id, queue in (("a", "default"), ("b", "own"), ("c", "default")):
        await world.put(schedule_id, queue=queue, on_missed="backfill", backfill_limit=2)
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    return scheduler


async def check_queue(world: World, schedule_id: str, queue: str, ticks: list[int]) -> None:
    jobs = [job for job in await world.queued(queue) if job.startswith(f"sched-{schedule_id}-")]
    assert sorted(jobs) == sorted(f"sched-{schedule_id}-{tick}" for tick in ticks)


@pytest.mark.parametrize("family", ["job", "tick", "available", "scheduled", "deadlines", "queue", "events", "gaps"])
async def test_a_foreign_type_stops_its_own_schedule_only_and_is_made_good_once_mended(
    moved: World, family: str
) -> None:
    scheduler = await three_schedules(moved)
    await moved.advance(4 * MINUTE)  # two ticks are discarded, so that gaps are written too
    late, latest = START_MS + 3 * MINUTE, START_MS + 4 * MINUTE
    key = {
        "job": moved.keys("job", f"sched-b-{late}"),
        "tick": moved.keys("tick", "b", late),
        "available": moved.keys("state", "own", "available"),
        "scheduled": moved.keys("state", "own", "scheduled"),
        "deadlines": moved.keys("deadlines", "own"),
        "queue": moved.keys("queue", "own"),
        "events": moved.keys("events", "b"),
        "gaps": moved.keys("gaps", "b"),
    }[family]
    # No key of Headgate's is a set of members.
    await moved.client.sadd(key, "foreign")
    before = await moved.record("b")
    await scheduler.sweep()

    for schedule_id in ("a", "c"):
        assert [event["tick_ms"] for event in await moved.events(schedule_id)] == [latest, late]
        await check_queue(moved, schedule_id, "default", [late, latest])
    stricken = await moved.record("b")
    assert stricken["anchor_ms"] == before["anchor_ms"], "it passed a tick whose event was not written"
    assert stricken["next_run_ms"] == before["next_run_ms"]
    assert stricken["failing_reason"] == "store_error"
    assert await moved.client.zscore(moved.keys("due"), "b") == int(stricken["retry_at_ms"])
    assert await moved.client.smembers(key) == {"foreign"}, "a foreign key was touched"
    if family not in ("events", "gaps"):
        event = (await moved.events("b"))[0]
        assert (event["outcome"], event["reason"], event["tick_ms"]) == ("failed", "store_error", late)
        assert stricken["last_tick_ms"] == before["last_tick_ms"]
    else:
        assert stricken["last_tick_ms"] == str(late), "the ledger must know what is queued"

    await moved.client.delete(key)
    for _ in range(3):
        await moved.advance(2000)
        await scheduler.sweep()
    await check_queue(moved, "b", "own", [late, latest])
    events = [event for event in await moved.events("b") if event["outcome"] != "failed"]
    assert [event["tick_ms"] for event in events] == [latest, late]
    assert events[-1]["attempts"] == 2
    assert events[-1]["reason"] == ("replayed" if family in ("events", "gaps") else "accepted")
    ids = [event["event_id"] for event in reversed(await moved.events("b"))]
    assert ids == list(range(1, len(ids) + 1))
    assert "failing_tick_ms" not in await moved.record("b")
    assert await moved.gaps("b") == await moved.gaps("a")


@pytest.mark.damages_store("a foreign type")
async def test_an_unreadable_record_is_put_off_by_itself_and_said_out_loud(
    moved: World, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler = await three_schedules(moved)
    now = await moved.advance(MINUTE)
    await moved.client.delete(moved.keys("schedule", "b"))
    await moved.client.sadd(moved.keys("schedule", "b"), "foreign")
    with caplog.at_level(logging.ERROR, "headgate"):
        await scheduler.sweep()
    assert "schedule.unreadable schedule=b" in caplog.text
    assert sorted(await moved.queued()) == [f"sched-a-{now}", f"sched-c-{now}"]
    assert await moved.client.zscore(moved.keys("due"), "b") == now + MINUTE
    assert await moved.client.zrange(moved.keys("failing"), 0, -1) == ["b"]


@pytest.mark.parametrize("family", ["due", "failing", "quarantine"])
async def test_a_foreign_type_that_all_share_stops_the_call_before_its_first_write(moved: World, family: str) -> None:
    scheduler = await three_schedules(moved)
    now = await moved.advance(MINUTE)
    kept = await moved.client.zrange(moved.keys("due"), 0, -1, withscores=True) if family == "due" else []
    await moved.client.delete(moved.keys(family))
    await moved.client.sadd(moved.keys(family), "foreign")
    with pytest.raises(StoreError):
        await scheduler.sweep()
    for schedule_id in ("a", "b", "c"):
        assert await moved.events(schedule_id) == []
    assert await moved.queued() == []
    await moved.client.delete(moved.keys(family))
    if family == "due":
        assert kept
        assert not (await scheduler.heart.beat()).index_whole, "a lost index shows in the next heartbeat"
        await moved.store.schedules.reindex(scheduler.duty.token, "", 200)
        assert (await scheduler.heart.beat()).index_whole
    await scheduler.sweep()
    for schedule_id, queue in (("a", "default"), ("b", "own"), ("c", "default")):
        assert len(await moved.events(schedule_id)) == 1
        await check_queue(moved, schedule_id, queue, [now])


@pytest.mark.damages_store("records that contradict their index")
@pytest.mark.parametrize("damage", ["the record is gone", "the entry is early", "the schedule is paused"])
async def test_the_due_index_is_put_right_where_its_schedule_contradicts_it(moved: World, damage: str) -> None:
    scheduler = await three_schedules(moved)
    if damage == "the record is gone":
        await moved.client.delete(moved.keys("schedule", "b"))
    elif damage == "the schedule is paused":
        await moved.client.hset(moved.keys("schedule", "b"), "paused", "1")
    await moved.client.zadd(moved.keys("due"), {"b": START_MS})
    await scheduler.sweep()
    expected = START_MS + MINUTE if damage == "the entry is early" else None
    assert await moved.client.zscore(moved.keys("due"), "b") == expected
    assert await moved.events("b") == []


async def test_a_schedule_that_vanished_from_its_index_fires_again_within_a_heartbeat(moved: World) -> None:
    await three_schedules(moved)
    now = await moved.advance(MINUTE)
    await moved.client.zrem(moved.keys("due"), "a", "c")
    scheduler = moved.scheduler()
    await moved.client.delete(moved.keys("duty", "scheduler"))

    async def fired() -> bool:
        return all([len(await moved.events(schedule_id)) == 1 for schedule_id in ("a", "b", "c")])

    async with running(scheduler):
        await wait_until(fired)
    for schedule_id in ("a", "c"):
        await check_queue(moved, schedule_id, "default", [now])
    await check_trail(moved, "a", since_ms=START_MS, until_ms=now)


async def test_a_queued_tick_gets_its_event_before_later_ticks_are_planned(moved: World) -> None:
    """Under `skip`, the later tick would discard it: the trail would deny a job that ran."""
    await moved.put("a")
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    queued = await moved.advance(MINUTE)
    await moved.client.sadd(moved.keys("events", "a"), "foreign")
    await scheduler.sweep()
    later = await moved.advance(3 * MINUTE)
    await moved.client.delete(moved.keys("events", "a"))
    await scheduler.sweep()
    await scheduler.sweep()
    newest, oldest = await moved.events("a")
    assert (oldest["tick_ms"], oldest["reason"]) == (queued, "replayed")
    assert (newest["tick_ms"], newest["reason"]) == (later, "accepted")
    await check_trail(moved, "a", since_ms=START_MS, until_ms=later)


@pytest.mark.damages_store("a foreign type")
async def test_a_due_index_spoilt_before_the_fire_stops_the_call_before_its_first_write(
    moved: World,
) -> None:
    scheduler = await three_schedules(moved)
    tick = await moved.advance(MINUTE)
    page = await moved.store.ticks.due(scheduler.duty.token, 10)
    await moved.client.delete(moved.keys("due"))
    await moved.client.sadd(moved.keys("due"), "foreign")
    batch = [PlannedFire(row, Plan((tick,), None, tick + MINUTE)) for row in page.rows]
    with pytest.raises(StoreError):
        await moved.store.ticks.fire(scheduler.duty.token, batch)
    assert await moved.events("a") == []
    assert await moved.queued() == []


@pytest.mark.damages_store("a foreign type in place of a set")
async def test_a_release_keeps_hold_of_what_cannot_go_back_yet(moved: World) -> None:
    """The queue of one job holds something foreign: the others go back, and that one does once it is mended."""
    barred = fingerprint("test", "1")
    store = moved.store
    ids = [await store.producer.enqueue(JobRequest(kind="test", payload=1, queue=queue)) for queue in ("bad", "good")]
    await store.quarantine.add(barred)
    assert (await store.attempts.admit("w", ["bad", "good"], 10, 5000)).claims == []
    await moved.client.sadd(moved.keys("state", "bad", "available"), "foreign")
    assert await store.quarantine.release(barred) == 1
    assert [(await store.jobs.get(it.job_id)).state for it in ids] == ["quarantined", "available"]
    await moved.client.delete(moved.keys("state", "bad", "available"))
    await moved.client.set(moved.keys("duty", "reclaimer"), "tok")
    await store.reclaims.some("tok", "", lease_ms=5000)
    assert [(await store.jobs.get(it.job_id)).state for it in ids] == ["available", "available"]
    await check_store(moved)
