"""When a schedule may fire at all, and when its jobs do: starts_at_ms, ends_at_ms, jitter_ms."""

from __future__ import annotations

import pytest

from headgate.models import Schedule
from tests.control.acts import HOUR, MINUTE, at, gaps, pass_time, ran, sweep
from tests.support.check import check_trail
from tests.support.worlds import START_MS, World


async def stored(world: World) -> Schedule:
    return await world.store.schedules.get("a")


@pytest.mark.parametrize(("starts", "first"), [(at(3), 3), (at(3) + 1, 4), (at(3) - 1, 3), (at(0) - 1, 1)])
async def test_no_tick_before_its_start_which_may_be_one(moved: World, starts: int, first: int) -> None:
    await moved.put("a", starts_at_ms=starts)
    assert (await stored(moved)).next_run_ms == at(first)
    await pass_time(moved, 5 * MINUTE)
    assert await ran(moved) == list(range(first, 6))
    assert await moved.gaps("a") == [], "what is before the start was never a tick"


@pytest.mark.parametrize(("ends", "last"), [(at(3), 3), (at(3) + 1, 3), (at(3) - 1, 2)])
async def test_no_tick_after_its_end_which_may_be_one_and_then_it_is_finished_and_seen_to_be(
    moved: World, ends: int, last: int
) -> None:
    await moved.put("a", ends_at_ms=ends)
    assert not (await stored(moved)).finished
    await pass_time(moved, 5 * MINUTE)
    assert await ran(moved) == list(range(1, last + 1))
    it = await stored(moved)
    assert (it.finished, it.next_run_ms, it.paused) == (True, None, False)
    [listed] = (await moved.store.schedules.list()).schedules
    assert listed.finished
    assert (await moved.store.leases.overview()).due_next_ms is None


async def test_one_that_is_over_when_it_is_written_is_finished_at_once(moved: World) -> None:
    await moved.put("a", ends_at_ms=at(-5))
    assert (await stored(moved)).finished
    await pass_time(moved, 2 * MINUTE)
    assert await moved.events("a") == []


async def test_a_later_end_opens_it_again_without_the_ticks_in_between(moved: World) -> None:
    """They were none when they would have been due."""
    await moved.put("a", ends_at_ms=at(2))
    await pass_time(moved, 5 * MINUTE)
    await moved.put("a", ends_at_ms=at(8))
    assert not (await stored(moved)).finished
    await pass_time(moved, 5 * MINUTE)
    assert await ran(moved) == [1, 2, 6, 7, 8]
    assert await moved.gaps("a") == []
    assert (await stored(moved)).finished


async def test_an_earlier_end_finishes_it_and_records_what_was_due(moved: World) -> None:
    await moved.put("a")
    await moved.advance(3 * MINUTE)
    await moved.put("a", ends_at_ms=at(1))
    assert (await stored(moved)).finished
    assert await gaps(moved) == [(1, 3, "spec_changed")]


async def test_the_last_ticks_of_an_outage_that_outlived_the_end_fire_by_policy(moved: World) -> None:
    await moved.put("a", on_missed="backfill", backfill_limit=2, ends_at_ms=at(10))
    await moved.advance(HOUR)
    await sweep(moved)
    assert await ran(moved) == [9, 10]
    assert await gaps(moved) == [(1, 8, "discarded")]
    assert (await stored(moved)).finished


# jitter


async def delays(world: World, schedule_id: str) -> dict[int, int]:
    """How long after its tick each job may run."""
    found = {}
    for state in ("available", "scheduled"):
        for job_id in await world.client.zrange(world.keys("state", "default", state), 0, -1):
            job = await world.store.jobs.get(job_id)
            origin = job.periodic_origin
            assert origin is not None
            if origin.schedule_id == schedule_id:
                found[origin.tick_ms] = job.available_at_ms - origin.tick_ms
    return found


async def test_jitter_moves_when_a_job_may_run_and_nothing_else(moved: World) -> None:
    """Identity, next run and trail stay those of the tick."""
    await moved.put("a", jitter_ms=30_000)
    await moved.put("plain")
    await pass_time(moved, 20 * MINUTE)
    found = await delays(moved, "a")
    assert sorted(found) == [at(minute) for minute in range(1, 21)]
    assert all(0 <= delay <= 30_000 for delay in found.values())
    assert len(set(found.values())) > 15, "they are spread"
    assert max(found.values()) > 20_000
    assert min(found.values()) < 10_000
    assert set((await delays(moved, "plain")).values()) == {0}
    assert [event["tick_ms"] for event in await moved.events("a")] == [at(minute) for minute in range(20, 0, -1)]
    assert (await stored(moved)).next_run_ms == at(21)


async def test_jitter_is_the_same_for_one_tick_whoever_works_it_out(moved: World) -> None:
    """On time, or in a batch after an outage; another schedule has its own."""
    await moved.put("a", jitter_ms=30_000)
    await pass_time(moved, 5 * MINUTE)
    first = await delays(moved, "a")
    other = World(moved.url, moved.namespace + "-other", moved=True)
    try:
        await other.set_clock(START_MS)
        await other.put("a", jitter_ms=30_000, on_missed="backfill")
        await other.put("b", jitter_ms=30_000, on_missed="backfill")
        await other.advance(5 * MINUTE)
        await sweep(other)
        late = await delays(other, "a")
        # A job is never due before it was made, so only the last of them is seen to wait.
        assert late[at(5)] == first[at(5)]
        assert (await delays(other, "b"))[at(5)] != first[at(5)]
    finally:
        await other.close()


async def test_jitter_is_never_as_late_as_the_next_tick(moved: World) -> None:
    """A cron spec has no one interval: its shortest distance counts where it is."""
    await moved.put("a", "0,1 * * * *", jitter_ms=20 * MINUTE)
    await pass_time(moved, 6 * HOUR)
    for tick, delay in (await delays(moved, "a")).items():
        assert delay < (MINUTE if tick % HOUR == 0 else 59 * MINUTE)
    assert max((await delays(moved, "a")).values()) > MINUTE


async def test_the_last_tick_of_all_has_the_whole_jitter(moved: World) -> None:
    await moved.put("a", ends_at_ms=at(1), jitter_ms=59_999)
    await pass_time(moved, MINUTE)
    assert 0 <= (await delays(moved, "a"))[at(1)] <= 59_999
    await pass_time(moved, MINUTE)
    assert await moved.events("a")


async def test_a_trail_with_jitter_and_bounds_is_whole(moved: World) -> None:
    await moved.put("a", jitter_ms=0, starts_at_ms=at(2), ends_at_ms=at(6))
    await pass_time(moved, 8 * MINUTE)
    await check_trail(moved, "a", since_ms=at(1), until_ms=at(6))
