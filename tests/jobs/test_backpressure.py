"""Backpressure: a queue that is full pushes back on whoever feeds it, and nothing is lost by it."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import Backpressure
from headgate.models import QueueLimits
from headgate.scheduler import Scheduler
from tests.jobs.acts import (
    admit,
    counts,
    enqueue,
    enqueue_many,
    finish,
    happened,
    names_of_keys,
    reclaim,
    request,
    state_of,
    sweep,
)
from tests.support.worlds import START_MS, World

MINUTE = 60_000


async def hold(world: World, most: int | None, queue: str = "default") -> None:
    await world.store.queues.set_limits(queue, QueueLimits(max_unfinished=most))


async def drain(world: World, queue: str = "default") -> None:
    while claims := await admit(world, 200, queue):
        for claim in claims:
            await finish(world, claim)


# code


@pytest.mark.parametrize("state", ["scheduled", "available", "running", "retryable"])
async def test_every_unfinished_job_counts(moved: World, state: str) -> None:
    await hold(moved, 1)
    job_id = await enqueue(moved, delay_ms=MINUTE if state == "scheduled" else 0)
    if state in ("running", "retryable"):
        [claim] = await admit(moved)
        if state == "retryable":
            await finish(moved, claim, "failed", "Oops", MINUTE)
    assert await state_of(moved, job_id) == state
    with pytest.raises(Backpressure):
        await enqueue(moved)


async def test_finished_and_quarantined_jobs_make_room(moved: World) -> None:
    await hold(moved, 1)
    for verdict in ("completed", "cancelled", "undecodable"):
        await enqueue(moved)
        await finish(moved, (await admit(moved))[0], verdict)
    killer = await enqueue(moved, payload="bad")
    await moved.store.quarantine.add((await moved.store.jobs.get(killer)).fingerprint)
    await admit(moved)
    await enqueue(moved)
    with pytest.raises(Backpressure):
        await enqueue(moved)


async def test_a_limit_of_none_takes_no_job_at_all_and_lifting_it_takes_any(moved: World) -> None:
    await hold(moved, 0)
    before = await names_of_keys(moved)
    with pytest.raises(Backpressure):
        await enqueue(moved)
    assert await names_of_keys(moved) == before
    await hold(moved, None)
    await enqueue_many(moved, 200)


async def test_a_batch_is_all_or_nothing_at_the_limit_and_the_error_names_the_first_too_many(moved: World) -> None:
    await hold(moved, 3)
    before = await names_of_keys(moved)
    batch = [request(queue="other"), *(request() for _ in range(4)), request(queue="other")]
    with pytest.raises(Backpressure) as refused:
        await moved.store.producer.enqueue_many(batch, idempotency_key="k")
    assert refused.value.field == "jobs[4]"
    assert await names_of_keys(moved) == before
    assert len(await moved.store.producer.enqueue_many(batch[:4], idempotency_key="k")) == 4
    assert await counts(moved) == {"available": 3}


async def test_what_the_queue_has_already_needs_no_room(moved: World) -> None:
    await hold(moved, 2)
    await enqueue(moved, id="a", payload=1)
    await enqueue(moved, unique_key="u")
    repeated = [request(id="a", payload=1), request(unique_key="u")]
    answers = await moved.store.producer.enqueue_many(repeated)
    assert [(each.replayed, each.duplicate) for each in answers] == [(True, False), (False, True)]


async def test_an_operators_retry_and_release_need_no_room(moved: World) -> None:
    job_id = await enqueue(moved)
    await moved.store.jobs.cancel(job_id)
    aside = await enqueue(moved, payload="bad")
    content = (await moved.store.jobs.get(aside)).fingerprint
    await moved.store.quarantine.add(content)
    await admit(moved)
    await hold(moved, 0)
    await moved.store.jobs.retry(job_id)
    await moved.store.quarantine.release(content)
    assert await counts(moved) == {"available": 2}


async def test_a_run_by_hand_is_refused_and_its_key_may_be_used_again(moved: World) -> None:
    await moved.put("a")
    await hold(moved, 0)
    with pytest.raises(Backpressure):
        await moved.store.producer.run_now("a", idempotency_key="k")
    await hold(moved, 1)
    assert not (await moved.store.producer.run_now("a", idempotency_key="k")).replayed


# ticks


async def failing(world: World, schedule_id: str) -> dict[str, str]:
    found = await world.record(schedule_id)
    return {name: found[name] for name in ("failing_tick_ms", "failing_reason", "failing_attempts", "retry_at_ms")}


async def minute_by_second(world: World, scheduler: Scheduler, seconds: int) -> None:
    for _ in range(seconds):
        await world.advance(1000)
        await sweep(world, scheduler)


async def test_a_tick_stays_due_with_a_growing_back_off_and_one_event(moved: World) -> None:
    await moved.put("a", "@every:3600000")
    await hold(moved, 0)
    scheduler, tick = moved.scheduler(), START_MS + 3_600_000
    await moved.set_clock(tick)
    waits = []
    for attempts in range(1, 10):
        await sweep(moved, scheduler)
        now = int(await moved.client.get(moved.keys.root + "test-clock"))
        found = await failing(moved, "a")
        assert found["failing_tick_ms"] == str(tick)
        assert (found["failing_reason"], found["failing_attempts"]) == ("backpressure", str(attempts))
        [event] = await moved.events("a")
        assert (event["outcome"], event["reason"], event["attempts"]) == ("failed", "backpressure", attempts)
        waits.append(int(found["retry_at_ms"]) - now)
        await moved.advance(waits[-1] - 1)
        await sweep(moved, scheduler)
        assert (await failing(moved, "a"))["failing_attempts"] == str(attempts), "not before its time"
        await moved.advance(1)
    assert waits == [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]
    assert (await moved.record("a"))["next_run_ms"] == str(tick), "it is still due"
    await hold(moved, 1)
    await sweep(moved, scheduler)
    newest, older = await moved.events("a")
    assert (newest["outcome"], newest["tick_ms"], newest["attempts"]) == ("enqueued", tick, 10)
    assert older["attempts"] == 9
    assert "failing_tick_ms" not in await moved.record("a")
    assert await moved.client.exists(moved.keys("failing")) == 0


async def test_schedules_of_other_queues_are_not_delayed(moved: World) -> None:
    for number in range(30):
        await moved.put(f"stuck-{number}", queue="full", payload=number)
        await moved.put(f"free-{number}", queue="open", payload=number)
    await hold(moved, 0, "full")
    scheduler = moved.scheduler()
    for minute in range(1, 4):
        await moved.set_clock(START_MS + minute * MINUTE)
        await sweep(moved, scheduler)
        assert len(await moved.queued("open")) == 30 * minute
    for number in range(30):
        assert await happened(moved, f"free-{number}") == ["enqueued/accepted"] * 3
        events = await moved.events(f"stuck-{number}")
        assert {event["outcome"] for event in events} == {"failed"}
        assert len({event["tick_ms"] for event in events}) == len(events), "one event for each tick"
    assert await moved.queued("full") == []


@pytest.mark.parametrize(
    ("policy", "ran", "discarded"),
    [
        ("skip", [10], [(1, 9)]),
        ("run_once", [10], [(1, 9)]),
        ("backfill", [7, 8, 9, 10], [(1, 6)]),
    ],
)
async def test_once_the_queue_drains_each_schedule_recovers_by_its_policy(
    moved: World, policy: str, ran: list[int], discarded: list[tuple[int, int]]
) -> None:
    blocker = await enqueue(moved)
    await moved.put("a", on_missed=policy, backfill_limit=4)
    await hold(moved, 1)
    scheduler = moved.scheduler()
    for minute in range(1, 10):
        await moved.set_clock(START_MS + minute * MINUTE)
        await sweep(moved, scheduler)
    assert await state_of(moved, blocker) == "available"
    await hold(moved, 5)
    await moved.set_clock(START_MS + 10 * MINUTE)
    await sweep(moved, scheduler)
    await drain(moved)
    done = [_minute(event) for event in await moved.events("a") if event["outcome"] == "enqueued"]
    assert done[::-1] == ran
    assert [(_at(gap["from_ms"]), _at(gap["until_ms"])) for gap in await moved.gaps("a")] == discarded
    assert await counts(moved) == {"completed": 1 + len(ran)}


async def test_a_backfill_goes_as_far_as_there_is_room_and_on_when_there_is_more(moved: World) -> None:
    await moved.put("a", on_missed="backfill", backfill_limit=100)
    await hold(moved, 3)
    scheduler = moved.scheduler()
    await moved.set_clock(START_MS + 10 * MINUTE)
    seen: list[int] = []
    while len(seen) < 10:
        await sweep(moved, scheduler)
        assert len(await moved.queued()) <= 3
        await drain(moved)
        await moved.advance(1000)
        seen = [_minute(event) for event in await moved.events("a") if event["outcome"] == "enqueued"]
    assert seen[::-1] == list(range(1, 11)), "in order, none lost, none twice"


async def test_schedules_that_fire_together_share_the_room_there_is(moved: World) -> None:
    for number in range(20):
        await moved.put(f"s-{number}", payload=number)
    await hold(moved, 7)
    scheduler = moved.scheduler()
    await moved.set_clock(START_MS + MINUTE)
    await sweep(moved, scheduler)
    assert await counts(moved) == {"available": 7}
    outcomes = [(await happened(moved, f"s-{number}"))[0] for number in range(20)]
    assert outcomes.count("enqueued/accepted") == 7
    assert outcomes.count("failed/backpressure") == 13


async def test_a_replayed_tick_needs_no_room(moved: World) -> None:
    """The job of a tick is queued, its event could not be written; by then the queue is full."""
    await moved.put("a")
    await moved.client.set(moved.keys("events", "a"), "foreign")
    scheduler = moved.scheduler()
    await moved.set_clock(START_MS + MINUTE)
    await sweep(moved, scheduler)
    assert len(await moved.queued()) == 1
    await moved.client.delete(moved.keys("events", "a"))
    await hold(moved, 1)
    await minute_by_second(moved, scheduler, 2)
    assert await happened(moved, "a") == ["enqueued/replayed"]
    assert len(await moved.queued()) == 1


async def test_a_restored_schedules_tick_finds_its_job_in_a_full_queue(moved: World) -> None:
    await moved.put("a")
    scheduler = moved.scheduler()
    await moved.set_clock(START_MS + MINUTE)
    await sweep(moved, scheduler)
    [job_id] = await moved.queued()
    await moved.client.delete(moved.keys("tick", "a", START_MS + MINUTE))
    await _rewind(moved, "a")
    await hold(moved, 1)
    await sweep(moved, scheduler)
    assert await happened(moved, "a") == ["enqueued/replayed", "enqueued/accepted"]
    assert await moved.queued() == [job_id]
    assert (await reclaim(moved))[0].crashed == {}


async def _rewind(world: World, schedule_id: str) -> None:
    """As a backup that is a minute old has it."""
    old: dict[str, Any] = {"next_run_ms": START_MS + MINUTE, "anchor_ms": START_MS, "last_tick_ms": ""}
    await world.client.hset(world.keys("schedule", schedule_id), mapping=old)
    await world.client.zadd(world.keys("due"), {schedule_id: START_MS + MINUTE})


def _at(instant: int) -> int:
    return (instant - START_MS) // MINUTE


def _minute(event: dict[str, Any]) -> int:
    return _at(event["tick_ms"])
