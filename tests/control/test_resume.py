"""A resume: what becomes of the ticks of a pause, and what stays on record of those that did not run."""

from __future__ import annotations

import pytest

from headgate.errors import InvalidRequest, RevisionMismatch
from headgate.models import ScheduleDefinition
from headgate.settings import MAX_BACKFILL
from tests.control.acts import DAY, MINUTE, at, dump, gaps, on_duty, pass_time, pause, ran, resume, sweep
from tests.support.check import check_trail, commands
from tests.support.worlds import START_MS, World

WEEKS = 14 * 24 * 60


@pytest.mark.parametrize(("missed", "limit", "jobs"), [("none", 100, 0), ("run_once", 100, 1), ("backfill", 300, 300)])
async def test_two_weeks_of_a_minute_leave_the_jobs_asked_for_one_event_and_one_gap(
    moved: World, missed: str, limit: int, jobs: int
) -> None:
    await moved.put("a", backfill_limit=limit)
    await pause(moved)
    await moved.advance(14 * DAY)
    await resume(moved, missed)
    await sweep(moved)
    assert await ran(moved) == list(range(WEEKS - jobs + 1, WEEKS + 1))
    skipped = [event for event in await moved.events("a") if event["outcome"] == "skipped"]
    if jobs < 100:  # the newest hundred events are kept
        [event] = skipped
        assert (event["reason"], event["tick_ms"]) == ("paused", at(WEEKS - jobs))
        assert event["discarded"] == {"from_ms": at(1), "until_ms": at(WEEKS - jobs - 1)}
    assert await gaps(moved) == [(1, WEEKS - jobs, "paused")]
    await moved.advance(MINUTE)
    await sweep(moved)
    assert (await ran(moved))[-1] == WEEKS + 1, "and it goes on"


@pytest.mark.parametrize("missed", ["none", "run_once", "backfill"])
async def test_a_resume_costs_the_same_however_long_the_pause(moved: World, missed: str) -> None:
    await moved.put("a", "@every:1000", backfill_limit=2)
    costs = []
    for pause_ms in (10_000, 400 * DAY):
        await pause(moved)
        await moved.advance(pause_ms)
        before = await commands(moved)
        await resume(moved, missed)
        costs.append(await commands(moved) - before)
        await sweep(moved)
    assert abs(costs[0] - costs[1]) <= 1, "a gap that grows is taken out first"


@pytest.mark.parametrize("missed", ["none", "run_once", "backfill"])
async def test_a_pause_without_a_tick_leaves_nothing_on_record(moved: World, missed: str) -> None:
    await moved.put("a")
    await pause(moved)
    await moved.advance(MINUTE - 1)
    await resume(moved, missed)
    assert (await moved.events("a"), await moved.gaps("a")) == ([], [])
    await moved.advance(1)
    await sweep(moved)
    assert await ran(moved) == [1]


@pytest.mark.parametrize("missed", ["run_once", "backfill"])
async def test_a_pause_whose_only_tick_is_made_up_for_leaves_no_gap(moved: World, missed: str) -> None:
    await moved.put("a")
    await pause(moved)
    await moved.advance(MINUTE)
    await resume(moved, missed)
    await sweep(moved)
    assert await ran(moved) == [1]
    assert await moved.gaps("a") == []
    await check_trail(moved, "a", since_ms=START_MS, until_ms=at(1))


async def test_the_catch_up_of_more_than_one_call_goes_on_in_order_and_to_the_last(moved: World) -> None:
    """Two sweeps, in the hands of two processes, while new ticks come due in between."""
    await moved.put("a", backfill_limit=450)
    await pause(moved)
    await moved.advance(500 * MINUTE)
    await resume(moved, "backfill")
    await (await on_duty(moved)).sweep()
    assert await ran(moved) == list(range(51, 251))
    await moved.advance(3 * MINUTE)
    await sweep(moved)
    assert await ran(moved) == [*range(51, 501), 503]
    assert await gaps(moved) == [(1, 50, "paused"), (501, 502, "discarded")], "then the policy decides again"


async def test_a_catch_up_makes_up_for_all_that_was_asked_whatever_came_due_since(moved: World) -> None:
    """A policy of backfill counts its own ticks, and takes none away of those."""
    await moved.put("a", on_missed="backfill", backfill_limit=10)
    await pause(moved)
    await moved.advance(50 * MINUTE)
    await resume(moved, "backfill")
    await moved.advance(30 * MINUTE)
    await sweep(moved)
    assert await ran(moved) == [*range(41, 51), *range(71, 81)]


async def test_a_catch_up_of_large_payloads_makes_up_for_all_that_was_asked_too(moved: World) -> None:
    await moved.put("a", on_missed="backfill", backfill_limit=10, payload="x" * 10_000)
    await pause(moved)
    await moved.advance(50 * MINUTE)
    await resume(moved, "backfill")
    await moved.advance(30 * MINUTE)
    await sweep(moved)
    assert await ran(moved) == [*range(41, 51), *range(71, 81)]


async def test_a_pause_in_the_middle_of_a_catch_up_keeps_the_rest_for_its_own_resume(moved: World) -> None:
    await moved.put("a", backfill_limit=MAX_BACKFILL)
    await pause(moved)
    await moved.advance(300 * MINUTE)
    await resume(moved, "backfill")
    await (await on_duty(moved)).sweep()
    await pause(moved)
    await moved.advance(10 * MINUTE)
    await sweep(moved)
    assert await ran(moved) == list(range(1, 201))
    await resume(moved, "none")
    await sweep(moved)
    assert await ran(moved) == list(range(1, 201))
    assert await gaps(moved) == [(201, 310, "paused")]


async def test_a_spec_changed_during_the_pause_leaves_two_ranges_each_of_its_own_spec(moved: World) -> None:
    await moved.put("a")
    await pause(moved)
    await moved.advance(10 * MINUTE)
    await moved.put("a", "@every:120000")
    await moved.advance(10 * MINUTE)
    assert (await moved.store.schedules.get("a")).paused, "a write of the definition ends no pause"
    await resume(moved)
    found = [(gap["from_ms"], gap["until_ms"], gap["reason"], gap["spec"]) for gap in await moved.gaps("a")]
    assert found == [(at(1), at(10), "paused", "@every:60000"), (at(12), at(20), "paused", "@every:120000")]


async def test_other_edits_during_a_pause_leave_one_range(moved: World) -> None:
    await moved.put("a")
    await pause(moved)
    await moved.advance(10 * MINUTE)
    await moved.put("a", payload=2)
    await moved.advance(10 * MINUTE)
    await resume(moved, "run_once")
    await sweep(moved)
    assert await ran(moved) == [20]
    assert await gaps(moved) == [(1, 19, "paused")]
    assert (await moved.store.jobs.get(f"sched-a-{at(20)}", include_payload=True)).payload == 2


@pytest.mark.parametrize(("missed", "jobs"), [("none", []), ("run_once", [5]), ("backfill", [4, 5])])
async def test_a_schedule_whose_end_came_during_the_pause_is_finished_after_it(
    moved: World, missed: str, jobs: list[int]
) -> None:
    await moved.put("a", ends_at_ms=at(5), backfill_limit=2)
    await pause(moved)
    await moved.advance(60 * MINUTE)
    await resume(moved, missed)
    await sweep(moved)
    it = await moved.store.schedules.get("a")
    assert (it.finished, it.paused, it.next_run_ms) == (True, False, None)
    assert await ran(moved) == jobs
    assert await gaps(moved) == [(1, 5 - len(jobs), "paused")]


async def test_a_clock_gone_back_makes_no_tick_run_twice_and_none_vanish(moved: World) -> None:
    await moved.put("a")
    await pass_time(moved, 10 * MINUTE)
    await pause(moved)
    await moved.advance(-5 * MINUTE)
    await resume(moved, "backfill")
    assert (await moved.store.schedules.get("a")).next_run_ms == at(11)
    await pass_time(moved, 7 * MINUTE)
    assert await ran(moved) == list(range(1, 13))
    await check_trail(moved, "a", since_ms=START_MS, until_ms=at(12))


async def test_a_resume_of_what_is_not_as_it_was_read_is_refused(moved: World) -> None:
    await moved.put("a")
    stale = (await moved.store.schedules.get("a")).revision
    await pause(moved)
    before = await dump(moved)
    with pytest.raises(RevisionMismatch):
        await resume(moved, expected_revision=stale)
    with pytest.raises(InvalidRequest) as refused:
        await resume(moved, "some")
    assert refused.value.field == "missed"
    assert await dump(moved) == before
    await resume(moved, expected_revision=(await moved.store.schedules.get("a")).revision)


async def test_one_that_began_paused_counts_from_its_creation(moved: World) -> None:
    await moved.store.schedules.put("a", ScheduleDefinition(kind="test", spec="@every:60000"), paused=True)
    await moved.advance(5 * MINUTE)
    await resume(moved)
    assert await gaps(moved) == [(1, 5, "paused")]
