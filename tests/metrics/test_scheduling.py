"""Metrics of a scheduler: each moves for the reason it names, in sweeps on a real store."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import StoreUnavailable
from headgate.models import QueueLimits
from headgate.names import fingerprint
from headgate.scheduler import Scheduler
from headgate.store.leases import Heartbeat, Leases
from headgate.store.ticks import Ticks
from tests.metrics.conftest import all_counted, counted
from tests.support.worlds import World, running, wait_until

MINUTE = 60_000


class Away:
    """A store that takes no heartbeats while it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = False
        real = Leases.heartbeat

        async def heartbeat(leases: Leases, *args: Any, **options: Any) -> Heartbeat:
            if self.now:
                raise StoreUnavailable("no answer")
            return await real(leases, *args, **options)

        monkeypatch.setattr(Leases, "heartbeat", heartbeat)


async def on_duty(world: World) -> Scheduler:
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    return scheduler


async def test_ticks_are_counted_by_what_became_of_them_and_why(moved: World) -> None:
    """A whole plan of a backfill too; a schedule that changed since it was read counts for nothing."""
    await moved.store.queues.set_limits("full", QueueLimits(max_unfinished=0))
    await moved.store.quarantine.add(fingerprint("barred", "{}"))
    await moved.put("plain")
    await moved.put("many", on_missed="backfill", backfill_limit=3)
    await moved.put("full", queue="full")
    await moved.put("barred", kind="barred", payload={})
    scheduler = await on_duty(moved)
    await moved.advance(5 * MINUTE)
    await scheduler.sweep()
    assert all_counted("headgate_ticks_total") == {
        ("enqueued", "accepted"): 4,
        ("failed", "backpressure"): 1,
        ("skipped", "quarantined"): 1,
    }


async def test_lateness_is_from_the_tick_to_its_decision_by_store_time(moved: World) -> None:
    """Of each tick of a plan; one that fails is not decided, and counts when it is, with all its lateness."""
    await moved.put("plain")
    await moved.put("many", on_missed="backfill", backfill_limit=2)
    await moved.put("full", queue="full")
    await moved.store.queues.set_limits("full", QueueLimits(max_unfinished=0))
    scheduler = await on_duty(moved)
    await moved.advance(2 * MINUTE + 5_000)
    await scheduler.sweep()
    assert counted("headgate_tick_lateness_seconds_count") == 3
    assert 75 <= counted("headgate_tick_lateness_seconds_sum") < 80, "5 s, 5 s and 65 s, and the sweep's own time"
    assert counted("headgate_tick_lateness_seconds_bucket", le="2.5") == 0
    assert counted("headgate_tick_lateness_seconds_bucket", le="10.0") == 2
    await moved.store.queues.set_limits("full", QueueLimits())
    await moved.advance(30_000)
    await scheduler.sweep()
    assert counted("headgate_tick_lateness_seconds_count") == 4
    assert 110 <= counted("headgate_tick_lateness_seconds_sum") < 120


async def test_a_tick_whose_event_cannot_be_written_counts_as_failed_until_it_is(moved: World) -> None:
    await moved.put("plain")
    scheduler = await on_duty(moved)
    await moved.advance(MINUTE)
    await moved.client.set(moved.keys("events", "plain"), "foreign")
    await scheduler.sweep()
    assert all_counted("headgate_ticks_total") == {("failed", "store_error"): 1}
    assert counted("headgate_tick_lateness_seconds_count") == 0
    await moved.client.delete(moved.keys("events", "plain"))
    await moved.advance(MINUTE // 2)
    await scheduler.sweep()
    assert counted("headgate_ticks_total", outcome="enqueued", reason="replayed") == 1
    assert counted("headgate_tick_lateness_seconds_count") == 1


async def test_what_the_store_could_not_take_is_counted_all_the_same(
    moved: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One try a schedule, with the code of the error for its reason."""

    async def fire(*_: object) -> list[str]:
        raise StoreUnavailable("no answer")

    for name in "abc":
        await moved.put(name)
    scheduler = await on_duty(moved)
    await moved.advance(MINUTE)
    monkeypatch.setattr(Ticks, "fire", fire)
    with pytest.raises(StoreUnavailable):
        await scheduler.sweep()
    assert all_counted("headgate_ticks_total") == {("failed", "store_unavailable"): 3}


async def test_a_record_without_a_plan_counts_as_failed(moved: World) -> None:
    await moved.put("odd")
    await moved.client.hset(moved.keys("schedule", "odd"), "spec", "no spec")
    scheduler = await on_duty(moved)
    await moved.advance(MINUTE)
    await scheduler.sweep()
    assert all_counted("headgate_ticks_total") == {("failed", "invalid_spec"): 1}


async def test_a_sweep_tells_its_size_and_how_long_it_took(moved: World) -> None:
    for number in range(30):
        await moved.put(f"s{number}")
    scheduler = await on_duty(moved)
    await moved.advance(MINUTE)
    await scheduler.sweep()
    await scheduler.sweep()
    assert counted("headgate_sweep_schedules_count") == counted("headgate_sweep_seconds_count") == 2
    assert counted("headgate_sweep_schedules_sum") == 30
    assert counted("headgate_sweep_schedules_bucket", le="0.0") == 1, "the second found nothing due"
    assert 0 < counted("headgate_sweep_seconds_sum") < 10


async def test_scripts_are_timed_by_name(moved: World) -> None:
    await moved.put("plain")
    scheduler = await on_duty(moved)
    await moved.advance(MINUTE)
    await scheduler.sweep()
    calls = all_counted("headgate_script_seconds_count")
    assert {name: calls[name,] for name in ("put", "heartbeat", "due", "fire")} == {
        "put": 1,
        "heartbeat": 1,
        "due": 1,
        "fire": 1,
    }
    assert counted("headgate_script_seconds_sum", script="fire") > 0


# renewals of the duty


async def test_heartbeats_that_fail_count_while_the_duty_is_held(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a scheduler that runs, from when the store falls silent until it has to give its lease up for lost."""
    away = Away(monkeypatch)
    scheduler = world.scheduler()
    async with running(scheduler):

        async def held() -> bool:
            return scheduler.duty.trusted

        async def missed() -> bool:
            return bool(all_counted("headgate_lease_renewals_failed_total"))

        await wait_until(held)
        assert not await missed()
        away.now = True
        scheduler.heart.nudge()
        await wait_until(missed)
        away.now = False
    assert set(all_counted("headgate_lease_renewals_failed_total")) == {("scheduler",)}


async def test_a_standby_has_no_lease_that_could_fail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    away = Away(monkeypatch)
    holder, standby = world.scheduler(), world.scheduler()
    await world.own_the_duty(holder)
    await standby.heart._try_beat()
    away.now = True
    await standby.heart._try_beat()
    assert all_counted("headgate_lease_renewals_failed_total") == {}
    await holder.heart._try_beat()
    assert all_counted("headgate_lease_renewals_failed_total") == {("scheduler",): 1}


async def test_a_renewal_that_is_refused_counts(world: World) -> None:
    scheduler = await on_duty(world)
    await world.client.set(world.keys("duty", "scheduler"), "somebody/else", px=5_000)
    await scheduler.heart.beat()
    assert counted("headgate_lease_renewals_failed_total", lease="scheduler") == 1
    await scheduler.heart.beat()
    assert counted("headgate_lease_renewals_failed_total", lease="scheduler") == 1, "it has no lease any more"
    await world.client.delete(world.keys("duty", "scheduler"))
