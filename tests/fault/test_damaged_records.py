"""One damaged record is that schedule's own trouble: it never stops the others, the list or the scheduler."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from headgate.errors import InvalidRequest, StoreError
from headgate.jsontext import canonical
from headgate.models import JobRequest
from headgate.settings import Settings
from tests.support.worlds import START_MS, World

MINUTE = 60_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("next_run_ms", None),
        ("next_run_ms", "abc"),
        ("backfill_limit", "0"),
        ("backfill_limit", "-5"),
        ("spec", b"\xff\xfe"),
        ("queue", b"\xff\xfe"),
    ],
)
async def test_a_damaged_field_delays_nobody_else(moved: World, field: str, value: Any) -> None:
    """It is put off or recorded as failed; the sweep goes on."""
    await moved.put("a", "@every:1000", on_missed="backfill")
    await moved.put("b")
    if value is None:
        await moved.client.hdel(moved.keys("schedule", "a"), field)
    else:
        await moved.client.hset(moved.keys("schedule", "a"), field, value)
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    assert f"sched-b-{tick}" in await moved.queued()


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
            await moved.store.jobs.enqueue(JobRequest(**{"kind": "k", field: value}), idempotency_key="k")


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


async def test_a_foreign_epoch_grants_nothing(moved: World) -> None:
    """Else the lease is held, and renewed, by a process that only sees errors."""
    await moved.client.sadd(moved.keys("epoch", "scheduler"), "foreign")
    with pytest.raises(StoreError):
        await moved.store.leases.heartbeat("scheduler", "p/t", 5000, "p", {"host": "h"})
    assert await moved.client.exists(moved.keys("duty", "scheduler")) == 0


async def test_a_list_that_ends_with_a_full_page_ends_there(moved: World) -> None:
    """As the history does."""
    for schedule_id in "abc":
        await moved.put(schedule_id)
    assert (await moved.store.schedules.list(limit=3)).next_cursor is None


def test_sets_have_one_spelling() -> None:
    """msgspec makes lists of them; their order must not be that of hashes."""
    assert canonical({"b", "a", "d", "c"}) == '["a","b","c","d"]'
