"""One damaged record is that schedule's own trouble: it never stops the others, the list or the scheduler."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from headgate.errors import InvalidRequest, StoreError
from headgate.jsontext import canonical
from headgate.models import JobRequest, QueueLimits, RateLimit
from headgate.settings import Settings
from headgate.store.leases import Bid
from tests.jobs.acts import LEASE, admit, enqueue, enqueue_many, finish, reclaim
from tests.support.worlds import START_MS, World

MINUTE = 60_000


DEFINITION = (
    "kind",
    "spec",
    "queue",
    "priority",
    "max_attempts",
    "timeout_ms",
    "retention_ms",
    "fingerprint",
    "payload",
)
STANDING = ("on_missed", "backfill_limit", "revision", "next_run_ms", "anchor_ms", "last_tick_ms", "payload_bytes")
BOOKS = ("event_seq", "outcomes", "paused")


@pytest.mark.damages_store("fields of any content")
@pytest.mark.parametrize("field", [*DEFINITION, *STANDING, *BOOKS])
@pytest.mark.parametrize("value", [None, "", "abc", "nan", "-1", "1e300", b"\xff\xfe"])
async def test_whatever_a_field_holds_no_other_schedule_is_delayed_or_loses_a_job(
    moved: World, field: str, value: str | bytes | None
) -> None:
    """Before and behind it in the batch, jobs and events agree; a sweep that found it ends like any other."""
    for schedule_id in "abc":
        await moved.put(schedule_id)
    if value is None:
        await moved.client.hdel(moved.keys("schedule", "b"), field)
    else:
        await moved.client.hset(moved.keys("schedule", "b"), field, value)
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    jobs = [job for job in await moved.queued() if not job.startswith("sched-b-")]
    assert jobs == [f"sched-a-{tick}", f"sched-c-{tick}"]
    for schedule_id in "ac":
        assert [event["outcome"] for event in await moved.events(schedule_id)] == ["enqueued"]
    assert (await moved.store.schedules.list()).schedules
    await moved.store.leases.overview()


async def test_a_page_with_an_entry_that_is_no_due_schedule_is_not_taken_for_the_last(moved: World) -> None:
    """Else the due ones behind it would wait for a heartbeat."""
    world = World(moved.url, moved.namespace, settings=Settings(sweep_limit=2), moved=True)
    for schedule_id in "bc":
        await world.put(schedule_id)
    await world.client.zadd(world.keys("due"), {"gone": 1})
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    await world.advance(MINUTE)
    assert await scheduler.sweep() == 0
    await scheduler.sweep()
    assert len(await world.queued()) == 2
    await world.close()


@pytest.mark.parametrize("priority", ["high", "nan", "1e300"])
async def test_a_tick_that_failed_for_its_priority_is_queued_once_that_is_mended(moved: World, priority: str) -> None:
    """Nothing of the failed try may look like a job that was queued."""
    await moved.put("a")
    await moved.client.hset(moved.keys("schedule", "a"), "priority", priority)
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    assert not await moved.client.exists(moved.keys("job", f"sched-a-{tick}"), moved.keys("tick", "a", tick))
    await moved.client.hset(moved.keys("schedule", "a"), "priority", "0")
    await moved.advance(1000)
    await scheduler.sweep()
    assert await moved.queued() == [f"sched-a-{tick}"]
    assert (await moved.events("a"))[0]["reason"] == "accepted"


@pytest.mark.parametrize("score", ["1.5", "1e300", "-inf", "inf"])
async def test_whatever_score_the_due_index_holds_heartbeats_and_overview_go_on(moved: World, score: str) -> None:
    await moved.put("a")
    await moved.client.zadd(moved.keys("due"), {"a": score})
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await moved.store.leases.overview()
    await scheduler.sweep()


async def test_one_damaged_record_does_not_keep_the_others_out_of_a_lost_index(moved: World) -> None:
    for schedule_id in "abc":
        await moved.put(schedule_id)
    await moved.client.hset(moved.keys("schedule", "b"), "next_run_ms", "abc")
    await moved.client.delete(moved.keys("due"))
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await moved.store.schedules.reindex(scheduler.duty.token, "", 200)
    assert await moved.client.zrange(moved.keys("due"), 0, -1) == ["b", "a", "c"]
    await scheduler.sweep()
    assert await moved.client.zrange(moved.keys("failing"), 0, -1) == ["b"]


@pytest.mark.damages_store("a schedule that vanished")
@pytest.mark.parametrize("mending", ["delete the key", "put the field right"])
async def test_a_mended_record_is_taken_off_the_failing_list(moved: World, mending: str) -> None:
    await moved.put("a")
    await moved.client.hset(moved.keys("schedule", "a"), "next_run_ms", "abc")
    await moved.client.zadd(moved.keys("due"), {"a": START_MS})
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await scheduler.sweep()
    assert (await moved.store.leases.overview()).failing == 1
    if mending == "delete the key":
        await moved.client.delete(moved.keys("schedule", "a"))
    else:
        await moved.client.hset(moved.keys("schedule", "a"), "next_run_ms", START_MS + MINUTE)
    await moved.advance(2 * MINUTE)
    await scheduler.sweep()
    assert (await moved.store.leases.overview()).failing == 0


@pytest.mark.damages_store("a foreign type")
async def test_a_queued_tick_without_payload_bytes_delays_nobody_else(moved: World) -> None:
    """The repair of an unwritten event needs no size either."""
    await moved.put("a", "@every:1000")
    await moved.put("b")
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await moved.client.set(moved.keys("events", "a"), "foreign")
    await moved.advance(1000)
    await scheduler.sweep()
    await moved.client.hdel(moved.keys("schedule", "a"), "payload_bytes")
    await moved.set_clock(START_MS + MINUTE)
    await scheduler.sweep()
    assert f"sched-b-{START_MS + MINUTE}" in await moved.queued()


@pytest.mark.parametrize("field", ["next_run_ms", "anchor_ms", "queue", "revision"])
async def test_a_put_or_a_delete_mends_or_refuses_a_damaged_record_with_an_error_of_ours(
    moved: World, field: str
) -> None:
    """Never a KeyError or ValueError."""
    await moved.put("a")
    for damage in ("", "abc"):
        await moved.client.hset(moved.keys("schedule", "a"), field, damage)
        for spec in ("@every:60000", "@every:7000"):
            with contextlib.suppress(StoreError):
                await moved.put("a", spec, payload=damage)
    await moved.client.hdel(moved.keys("schedule", "a"), field)
    for spec in ("@every:60000", "@every:7000"):
        with contextlib.suppress(StoreError):
            await moved.put("a", spec, payload="x")


async def test_a_damaged_record_can_be_deleted(moved: World) -> None:
    """Else nobody could get rid of it."""
    await moved.put("a")
    await moved.client.hset(moved.keys("schedule", "a"), "last_tick_ms", "5")
    await moved.client.hdel(moved.keys("schedule", "a"), "anchor_ms")
    await moved.store.schedules.delete("a")


async def test_a_damaged_record_does_not_hide_the_others_from_the_list(moved: World) -> None:
    """A page is as good as its readable rows."""
    for schedule_id in "abc":
        await moved.put(schedule_id)
    await moved.client.hdel(moved.keys("schedule", "b"), "queue")
    assert [it.id for it in (await moved.store.schedules.list()).schedules] == ["a", "c"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", 1.5),
        ("priority", True),
        ("priority", "1"),
        ("max_attempts", True),
        ("timeout_ms", 1000.0),
        ("backfill_limit", 1.5),
        ("on_missed", "sometimes"),
        ("on_missed", None),
    ],
)
async def test_a_value_of_the_wrong_type_is_refused_before_anything_is_stored(
    moved: World, field: str, value: Any
) -> None:
    """msgspec does not check constructors: the definition's own check must."""
    with pytest.raises(InvalidRequest) as caught:
        await moved.put("a", **{field: value})
    assert caught.value.field == field
    assert await moved.record("a") == {}
    if field not in ("backfill_limit", "on_missed"):
        with pytest.raises(InvalidRequest):
            await moved.store.producer.enqueue(JobRequest(**{"kind": "k", field: value}), idempotency_key="k")


async def test_a_foreign_payload_is_a_store_error(moved: World) -> None:
    """Not the reader's syntax error: over HTTP that would be a 400 to a GET."""
    await moved.put("a")
    await moved.client.hset(moved.keys("schedule", "a"), "payload", "{nope")
    with pytest.raises(StoreError):
        await moved.store.schedules.get("a")


@pytest.mark.parametrize(
    "values",
    [
        {"call_timeout_ms": 0},
        {"backoff_min_ms": 0, "backoff_max_ms": 0},
        {"backoff_min_ms": 9000},
        {"history_retention_ms": 2**63},
        {"lease_ttl_ms": "x"},
        {"sweep_limit": True},
    ],
)
def test_settings_that_cannot_work_are_refused(values: dict[str, Any]) -> None:
    """By an error of ours."""
    with pytest.raises(InvalidRequest):
        Settings(**values)


@pytest.mark.damages_store("a foreign type")
async def test_a_foreign_epoch_grants_nothing(moved: World) -> None:
    """Else the lease is held, and renewed, by a process whose terms nobody can tell apart."""
    await moved.client.sadd(moved.keys("epoch", "scheduler"), "foreign")
    heartbeat = await moved.store.leases.heartbeat("p", [Bid("scheduler", "p/t")], {"host": "h"}, ttl_ms=5000)
    assert not heartbeat.duties["scheduler"].held
    assert await moved.client.exists(moved.keys("duty", "scheduler")) == 0


async def test_a_list_that_ends_with_a_full_page_ends_there(moved: World) -> None:
    """As the history does."""
    for schedule_id in "abc":
        await moved.put(schedule_id)
    assert (await moved.store.schedules.list(limit=3)).next_cursor is None


def test_sets_have_one_spelling() -> None:
    """msgspec makes lists of them; their order must not be that of hashes."""
    assert canonical({"b", "a", "d", "c"}) == '["a","b","c","d"]'


# numbers that are none of ours, where jobs are looked for and tokens counted


@pytest.mark.damages_store("scores of any kind")
@pytest.mark.parametrize("state", ["scheduled", "available", "retryable", "running", "completed", "archived"])
@pytest.mark.parametrize("score", ["inf", "-inf", "1e300", "1.5"])
async def test_whatever_score_a_set_of_jobs_holds_workers_and_reclaimer_go_on(
    moved: World, state: str, score: str
) -> None:
    """Every call is answered with numbers that its reader can take, and no other job is lost or held up."""
    bad, good = await enqueue(moved), await enqueue(moved)
    later = await enqueue(moved, delay_ms=1000)
    await moved.client.zadd(moved.keys("state", "default", state), {"odd": score})
    await moved.client.hset(moved.keys("job", bad), "state", state)
    await moved.client.zrem(moved.keys("state", "default", "available"), bad)
    await moved.client.zadd(moved.keys("state", "default", state), {bad: score})
    seen = set()
    for _ in range(4):
        for claim in await admit(moved):
            seen.add(claim.id)
            assert await finish(moved, claim) == "completed"
        await reclaim(moved)
        await moved.advance(1000)
        await moved.store.queues.get("default")
        await moved.store.jobs.list("default", state)
    assert {good, later} <= seen


@pytest.mark.damages_store("limits that cannot be read")
@pytest.mark.parametrize("field", ["tokens", "tokens_at_ms", "rate_limit", "rate_window_ms", "rate_burst"])
@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "1e300", "-5", "abc", ""])
async def test_whatever_number_a_bucket_holds_the_queue_is_answered_for_and_goes_on(
    moved: World, field: str, value: str
) -> None:
    rate = RateLimit(limit=1, window_ms=1000, burst=2)
    await moved.store.queues.set_limits("default", QueueLimits(rate_limit=rate))
    ids = await enqueue_many(moved, 3)
    await moved.client.hset(moved.keys("queue", "default"), field, value)
    seen = []
    for _ in range(6):
        for claim in await admit(moved, 1):
            seen.append(claim.id)
            assert await finish(moved, claim) == "completed"
        await moved.advance(1000)
        with contextlib.suppress(StoreError):
            await moved.store.jobs.admission(ids[2])
        await reclaim(moved)
    if not field.startswith("rate_"):  # a limit that cannot be read is an operator's to put right
        assert sorted(seen) == sorted(ids)
        held = float(await moved.client.hget(moved.keys("queue", "default"), "tokens"))
        assert 0 <= held <= 2


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e300", "abc", ""])
@pytest.mark.parametrize("field", ["beaten_at_ms", "leases_judged_from_ms"])
async def test_whatever_is_known_of_heartbeats_leases_are_judged(moved: World, field: str, value: str) -> None:
    job_id = await enqueue(moved)
    await admit(moved)
    for _ in range(4):
        await moved.client.hset(moved.keys("meta"), field, value)
        await moved.store.leases.heartbeat("p", [], {}, ttl_ms=LEASE)
        await reclaim(moved)
        await moved.advance(LEASE // 2)
    assert (await moved.store.jobs.get(job_id)).crash_attempt == 1
