"""What can be seen of a namespace: duties, sweeps, overdue and failing schedules; at a cost that does not grow."""

from __future__ import annotations

import time

import anyio
import pytest

from headgate.app import Headgate
from headgate.health import check_health
from headgate.models import Health, OverdueSchedule, Overview
from headgate.process import contending, running_process
from headgate.settings import Settings
from headgate.store.wakeups import Wakeups
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World, running, wait_until

AFTER_MS = Settings().overdue_after_ms
MINUTE = 60_000
QUICK = Settings(lease_ttl_ms=900, lease_margin_ms=100, call_timeout_ms=300)


def codes(health: Health) -> list[str]:
    return [problem.code for problem in health.problems]


async def seen(world: World) -> Overview:
    return await world.store.leases.overview()


async def test_an_empty_namespace_misses_its_scheduler(moved: World) -> None:
    health = await check_health(moved.store)
    assert (health.status, health.store) == ("down", "ok")
    assert codes(health) == ["no_scheduler", "no_reclaimer"]


async def test_an_overdue_schedule_is_one_that_waits_for_longer_than_the_limit(moved: World) -> None:
    """To the millisecond: at the limit it is late, past it overdue."""
    await moved.put("slow", "@every:600000")
    await moved.put("first", "@every:60000")
    due_ms = START_MS + MINUTE
    await moved.set_clock(due_ms + AFTER_MS)
    assert ((await seen(moved)).overdue, (await seen(moved)).oldest_overdue) == (0, None)
    await moved.advance(1)
    overview = await seen(moved)
    assert (overview.overdue, overview.overdue_by_ms) == (1, AFTER_MS + 1)
    assert overview.oldest_overdue == OverdueSchedule(schedule_id="first", due_ms=due_ms)
    assert "overdue" in codes(await check_health(moved.store))


async def test_the_limit_is_a_setting(moved: World) -> None:
    world = World(moved.url, moved.namespace, settings=Settings(overdue_after_ms=1), moved=True)
    await world.put("a", "@every:60000")
    await world.set_clock(START_MS + MINUTE + 2)
    assert (await seen(world)).overdue == 1
    await world.close()


async def test_a_sweep_ends_it_and_is_noted(moved: World) -> None:
    await moved.put("a", "@every:60000")
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    assert (await seen(moved)).swept_at_ms is None
    now_ms = await moved.advance(5 * MINUTE)
    assert (await seen(moved)).overdue == 1
    await scheduler.sweep()
    overview = await seen(moved)
    assert (overview.overdue, overview.oldest_overdue, overview.swept_at_ms) == (0, None, now_ms)


@pytest.mark.damages_store("a record that cannot be planned")
async def test_a_schedule_that_fails_is_overdue_by_its_tick_and_counts_once(moved: World) -> None:
    """It waits for a later attempt in the due index; its tick is what has not got through."""
    await moved.put("a", "@every:60000")
    await moved.client.hset(moved.keys("schedule", "a"), "spec", "nonsense")
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    due_ms = START_MS + MINUTE
    await moved.set_clock(due_ms)
    await scheduler.sweep()
    overview = await seen(moved)
    assert (overview.failing, overview.overdue) == (1, 0)
    for ms in (AFTER_MS + 1, 10 * MINUTE):  # the second time its next attempt is overdue as well
        await moved.advance(ms)
        overview = await seen(moved)
        assert (overview.failing, overview.overdue) == (1, 1)
        assert overview.oldest_overdue == OverdueSchedule(schedule_id="a", due_ms=due_ms)


async def test_a_pause_that_should_have_ended_is_overdue(moved: World) -> None:
    """Somebody relies on it to go on by itself."""
    await moved.put("a", "@every:60000")
    await moved.store.control.pause("a", until_ms=START_MS + 1_000)
    await moved.advance(MINUTE)
    overview = await seen(moved)
    assert (overview.paused, overview.overdue) == (1, 1)
    assert overview.oldest_overdue == OverdueSchedule(schedule_id="a", due_ms=START_MS + 1_000)


async def test_a_paused_schedule_is_not_overdue(moved: World) -> None:
    await moved.put("a", "@every:60000")
    await moved.store.control.pause("a")
    await moved.advance(60 * MINUTE)
    assert ((await seen(moved)).paused, (await seen(moved)).overdue) == (1, 0)


async def test_processes_that_live_are_counted(moved: World) -> None:
    for _ in range(3):
        await moved.heart(duties=()).beat()
    assert (await seen(moved)).processes == 3
    await moved.advance(moved.settings.lease_ttl_ms * 2 + 1)
    assert (await seen(moved)).processes == 0


async def test_looking_writes_nothing(moved: World) -> None:
    before = (await moved.client.info("persistence"))["rdb_changes_since_last_save"]
    await check_health(moved.store)
    assert (await moved.client.info("persistence"))["rdb_changes_since_last_save"] == before


async def test_looking_costs_the_same_whatever_there_is(moved: World) -> None:
    """Ten thousand overdue schedules, and as many that fail: the same commands, and a short call."""
    await check_health(moved.store)

    async def cost() -> tuple[int, int]:
        await moved.client.config_resetstat()
        await check_health(moved.store)
        stats = await moved.client.info("commandstats")
        return sum(row["calls"] for row in stats.values()), stats["cmdstat_evalsha"]["usec"]

    await moved.put("a")
    few, _ = await cost()
    for family in ("due", "failing"):
        many = {f"{family}-{number:05}": START_MS + number for number in range(10_000)}
        await moved.client.zadd(moved.keys(family), many)
    await moved.advance(MINUTE)
    calls, usec = await cost()
    assert calls <= few + 2, "a look at each of them"
    assert usec < 20_000
    assert (await seen(moved)).overdue == 20_000
    await moved.client.delete(moved.keys("due"), moved.keys("failing"))
    await moved.client.zadd(moved.keys("due"), {"a": START_MS + MINUTE})


async def test_a_scheduler_makes_it_well_and_its_end_shows_at_once(server: PrivateServer) -> None:
    world = World(server.url, "health-end", settings=QUICK)
    try:
        heart, services = contending(world.store, Wakeups(world._pubsub, world.namespace))

        async def is_well() -> bool:
            return (await check_health(world.store)).status == "ok"

        async with running_process(heart, services):
            await wait_until(is_well)
        health = await check_health(world.store)
        assert (health.status, codes(health)) == ("down", ["no_scheduler", "no_reclaimer"])
    finally:
        await world.close()


async def test_a_scheduler_that_dies_shows_within_its_lease(server: PrivateServer) -> None:
    """Nobody gives its lease up: it runs out."""
    world = World(server.url, "health-death", settings=QUICK)
    try:
        await world.heart(duties=("scheduler", "reclaimer")).beat()
        assert (await check_health(world.store)).status == "ok"
        died = time.monotonic()

        async def is_down() -> bool:
            return "no_scheduler" in codes(await check_health(world.store))

        await wait_until(is_down)
        assert time.monotonic() - died < QUICK.lease_ttl_ms / 1000 + 0.5
    finally:
        await world.close()


async def test_a_scheduler_that_has_nothing_to_do_stays_well(server: PrivateServer) -> None:
    world = World(server.url, "health-idle", settings=QUICK)
    try:
        async with running(world.scheduler(heart=world.heart(duties=("scheduler", "reclaimer")))):
            await anyio.sleep(QUICK.lease_ttl_ms / 1000 * 2)
            assert (await check_health(world.store)).status == "ok"
    finally:
        await world.close()


async def test_an_application_says_how_it_stands(world: World) -> None:
    async with Headgate(world.url, namespace=world.namespace).run(worker=False) as app:

        async def is_well() -> bool:
            return (await app.health()).status == "ok"

        await wait_until(is_well)
        health = await app.health()
        assert health.overview is not None
        assert health.overview.processes == 1
