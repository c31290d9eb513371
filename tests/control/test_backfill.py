"""A range backfill: which ticks become jobs, what it says of the others, and what it never moves."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import InvalidRequest, ScheduleNotFound, SkipTick
from headgate.hooks import Enqueueing, Hooks, Trigger
from headgate.hooks import backfill as past_hooks
from headgate.models import Backfilled, QueueLimits
from headgate.names import fingerprint
from headgate.settings import MAX_GAPS, MAX_RANGE
from tests.control.acts import DAY, HOUR, MINUTE, at, dump, finish, gaps, pass_time, pause, ran, resume, sweep
from tests.support.worlds import START_MS, World


async def backfill(world: World, after: int, until: int, **options: Any) -> Backfilled:
    """Minutes since the start; the range begins after the first."""
    return await world.store.backfills.run("a", at(after), at(until), **options)


def minutes(done: Backfilled) -> list[int]:
    return [(tick - START_MS) // MINUTE for tick in done.ticks]


async def paused_for(world: World, minutes: int, **options: Any) -> None:
    """Schedule a was paused from the start on, and goes on now."""
    await world.put("a", **options)
    await pause(world)
    await world.advance(minutes * MINUTE)
    await resume(world)


async def test_the_ticks_of_a_gap_become_jobs_oldest_first_and_the_gap_is_gone(moved: World) -> None:
    await paused_for(moved, 5, payload={"n": 1}, headers={"h": "1"})
    done = await backfill(moved, 0, 5, by="ann")
    assert minutes(done) == [1, 2, 3, 4, 5]
    assert (done.already_ran, done.unknown, done.stopped_by, done.more_after_ms) == (0, 0, None, None)
    assert await ran(moved) == [1, 2, 3, 4, 5]
    assert await moved.gaps("a") == []
    job = await moved.store.jobs.get(f"sched-a-{at(3)}", include_payload=True)
    assert job.payload == {"n": 1}
    assert job.periodic_origin is not None
    assert job.periodic_origin.tick_ms == at(3)
    runs = (await moved.store.runs.list("a")).runs
    assert [(run.trigger, run.tick_ms, run.by, run.outcome) for run in runs] == [
        ("backfill", at(minute), "ann", "enqueued") for minute in (5, 4, 3, 2, 1)
    ]


async def test_it_moves_nothing_of_where_the_schedule_stands(moved: World) -> None:
    """Nor does it add to its events."""
    await paused_for(moved, 5)
    before, events = await moved.record("a"), await moved.events("a")
    await backfill(moved, 0, 5)
    assert await moved.record("a") == before
    assert await moved.events("a") == events


async def test_a_part_in_the_middle_leaves_two_gaps(moved: World) -> None:
    await paused_for(moved, 10)
    assert minutes(await backfill(moved, 3, 6)) == [4, 5, 6]
    assert await gaps(moved) == [(1, 3, "paused"), (7, 10, "paused")]
    again = await backfill(moved, 0, 10)
    assert minutes(again) == [1, 2, 3, 7, 8, 9, 10]
    assert again.already_ran == 3
    assert await ran(moved) == list(range(1, 11))


async def test_the_ends_of_a_range_need_be_no_ticks(moved: World) -> None:
    await paused_for(moved, 10)
    done = await moved.store.backfills.run("a", at(3) - 1, at(4) + 1)
    assert minutes(done) == [3, 4]
    assert await gaps(moved) == [(1, 2, "paused"), (5, 10, "paused")]


async def test_it_goes_over_several_gaps_and_each_has_the_ticks_of_its_own_spec(moved: World) -> None:
    await paused_for(moved, 4)
    await moved.put("a", "@every:120000")
    await moved.store.quarantine.add(fingerprint("test", "null"))
    await pass_time(moved, 6 * MINUTE)
    await moved.store.quarantine.release(fingerprint("test", "null"))
    assert await gaps(moved) == [(1, 4, "paused"), (6, 10, "quarantined")]
    assert minutes(await backfill(moved, 0, 10)) == [1, 2, 3, 4, 6, 8, 10]
    assert await moved.gaps("a") == []


async def test_ticks_in_no_gap_ran_already(moved: World) -> None:
    await moved.put("a")
    await pass_time(moved, 3 * MINUTE)
    await pause(moved)
    await moved.advance(3 * MINUTE)
    await resume(moved)
    done = await backfill(moved, 0, 6)
    assert (minutes(done), done.already_ran, done.unknown) == ([4, 5, 6], 3, 0)


async def test_a_dry_run_lists_the_same_and_writes_nothing(moved: World) -> None:
    await paused_for(moved, 10)
    before = await dump(moved)
    said = await backfill(moved, 2, 9, dry_run=True)
    assert await dump(moved) == before
    done = await backfill(moved, 2, 9)
    assert (said.dry_run, done.dry_run) == (True, False)
    assert said.ticks == done.ticks


async def test_a_thousand_a_call_and_from_where_to_go_on(moved: World) -> None:
    await paused_for(moved, 1300)
    for dry_run in (True, False):
        done = await backfill(moved, 0, 1300, dry_run=dry_run)
        assert minutes(done) == list(range(1, MAX_RANGE + 1))
        assert done.more_after_ms == at(MAX_RANGE)
    rest = await backfill(moved, MAX_RANGE, 1300)
    assert (minutes(rest), rest.more_after_ms) == (list(range(1001, 1301)), None)
    assert len(await moved.queued()) == 1300
    assert len((await moved.store.runs.list("a", limit=100)).runs) == 100


async def test_a_repeat_finds_nothing_left_even_after_the_jobs_are_done_and_gone(moved: World) -> None:
    """Neither marker nor job must be needed: the gap is what says so."""
    await paused_for(moved, 3, retention_ms=0)
    await backfill(moved, 0, 3)
    for _ in range(3):
        await finish(moved)
    await moved.advance(2 * DAY)
    for minute in (1, 2, 3):
        await moved.client.delete(moved.keys("tick", "a", at(minute)))
    done = await backfill(moved, 0, 3)
    assert (done.ticks, done.already_ran) == ([], 3)


# what is not known


async def test_ticks_before_it_was_created_are_unknown_and_need_force(moved: World) -> None:
    """Another schedule may have had the id, and may have run them."""
    await moved.advance(HOUR)
    await moved.put("a")
    done = await backfill(moved, 50, 60)
    assert (done.ticks, done.unknown, done.already_ran) == ([], 10, 0)
    forced = await backfill(moved, 50, 60, force=True)
    assert (minutes(forced), forced.unknown) == (list(range(51, 61)), 0)
    again = await backfill(moved, 50, 60, force=True)
    assert await ran(moved) == list(range(51, 61)), again


async def test_a_deleted_schedules_ticks_are_run_once_whatever_is_forced(moved: World) -> None:
    await moved.put("a")
    await pass_time(moved, 3 * MINUTE)
    await moved.store.schedules.delete("a")
    await moved.put("a")
    await backfill(moved, 0, 3, force=True)
    assert await ran(moved) == [1, 2, 3]


async def many_gaps(world: World, count: int) -> None:
    """Every second minute since the start was paused."""
    await world.put("a")
    for _ in range(count):
        await pause(world)
        await world.advance(MINUTE)
        await resume(world)
        await world.advance(MINUTE)
        await sweep(world)


async def test_what_was_in_a_gap_that_is_forgotten_is_unknown_and_stays_so(moved: World) -> None:
    """Also when the gaps become fewer again: it must not be taken for what ran."""
    await many_gaps(moved, MAX_GAPS + 2)
    last = 2 * (MAX_GAPS + 2)
    assert await moved.client.zcard(moved.keys("gaps", "a")) == MAX_GAPS
    assert (await gaps(moved))[0] == (5, 5, "paused")
    for _ in range(2):
        done = await backfill(moved, 0, 10)
        assert done.unknown == 3, "the first three minutes: one that ran lies between two that did not"
    assert await moved.client.zcard(moved.keys("gaps", "a")) == MAX_GAPS - 3
    forced = await backfill(moved, 0, last, force=True)
    assert len(forced.ticks) == 3 + MAX_GAPS - 3
    assert await ran(moved) == list(range(1, last + 1)), "the one that ran is not run again"


async def test_splitting_gaps_makes_no_more_of_them_than_are_kept(moved: World) -> None:
    await many_gaps(moved, MAX_GAPS - 2)
    first = 2 * (MAX_GAPS - 2)
    await pause(moved)
    await moved.advance(20 * MINUTE)
    await resume(moved)
    for minute in range(first + 2, first + 20, 2):
        assert minutes(await backfill(moved, minute - 1, minute)) == [minute]
    assert await moved.client.zcard(moved.keys("gaps", "a")) <= MAX_GAPS


# what stops it, and what is refused


async def test_a_full_queue_stops_it_and_the_tick_stays_in_its_gap(moved: World) -> None:
    await paused_for(moved, 5)
    await moved.store.queues.set_limits("default", QueueLimits(max_unfinished=2))
    done = await backfill(moved, 0, 5)
    assert (minutes(done), done.stopped_by, done.more_after_ms) == ([1, 2], "backpressure", at(2))
    assert await gaps(moved) == [(3, 5, "paused")]
    none = await backfill(moved, 2, 5)
    assert (none.ticks, none.stopped_by, none.more_after_ms) == ([], "backpressure", at(2))
    await moved.store.queues.set_limits("default", QueueLimits())
    assert minutes(await backfill(moved, 2, 5)) == [3, 4, 5]


async def test_barred_content_stops_it_and_the_tick_stays_in_its_gap(moved: World) -> None:
    await paused_for(moved, 3)
    await moved.store.quarantine.add(fingerprint("test", "null"))
    done = await backfill(moved, 0, 3)
    assert (done.ticks, done.stopped_by) == ([], "quarantined")
    assert await gaps(moved) == [(1, 3, "paused")]
    assert await moved.queued() == []


@pytest.mark.parametrize(("raises", "reason"), [(SkipTick("no"), "hook_skipped"), (ValueError(), "hook_error")])
async def test_a_hook_has_its_say_and_may_stop_it(moved: World, raises: Exception, reason: str) -> None:
    await paused_for(moved, 4)
    seen: list[tuple[Trigger, int | None]] = []

    async def before(job: Enqueueing) -> None:
        seen.append((job.trigger, job.tick_ms))
        job.payload = {"minute": ((job.tick_ms or 0) - START_MS) // MINUTE}
        job.headers["by"] = "hook"
        if job.tick_ms == at(3):
            raise raises

    hooks = Hooks()
    hooks.before.append(before)
    done = await past_hooks(moved.store, hooks, "a", at(0), at(4))
    assert (minutes(done), done.stopped_by) == ([1, 2], reason)
    assert seen == [(Trigger.BACKFILL, at(minute)) for minute in (1, 2, 3, 4)]
    assert await gaps(moved) == [(3, 4, "paused")]
    assert (await moved.store.jobs.get(f"sched-a-{at(2)}", include_payload=True)).payload == {"minute": 2}


@pytest.mark.parametrize(
    ("after_ms", "until_ms", "field"),
    [
        (START_MS, START_MS, "until_ms"),
        (START_MS, START_MS - 1, "until_ms"),
        (START_MS, START_MS + 5 * MINUTE + 1, "until_ms"),
        (-1, START_MS, "after_ms"),
        (0, 10**18, "until_ms"),
        (0.5, START_MS, "after_ms"),
    ],
)
async def test_a_range_that_is_empty_the_wrong_way_round_or_in_the_future_is_refused(
    moved: World, after_ms: int, until_ms: int, field: str
) -> None:
    await paused_for(moved, 5)
    before = await dump(moved)
    with pytest.raises(InvalidRequest) as refused:
        await moved.store.backfills.run("a", after_ms, until_ms)
    assert refused.value.field == field
    with pytest.raises(InvalidRequest) as refused:
        await backfill(moved, 0, 5, by="x" * 201)
    assert refused.value.field == "by"
    with pytest.raises(ScheduleNotFound):
        await moved.store.backfills.run("b", at(0), at(5))
    assert await dump(moved) == before


async def test_rules_about_time_and_overlap_do_not_count_for_ticks_that_somebody_wants(moved: World) -> None:
    """They are late, and several at once, on purpose; a key that a job holds is still held."""
    rules = {"max_lateness_ms": MINUTE, "overlap": "skip", "deadline_ms": MINUTE, "jitter_ms": 30_000}
    await paused_for(moved, 3, **rules)
    assert minutes(await backfill(moved, 0, 3)) == [1, 2, 3]
    assert await ran(moved) == [1, 2, 3], "at once, and not later"
    assert (await moved.store.jobs.get(f"sched-a-{at(1)}")).deadline_ms is None


async def test_a_paused_schedules_recorded_gaps_can_be_made_up_for(moved: World) -> None:
    await paused_for(moved, 3)
    await pause(moved)
    assert minutes(await backfill(moved, 0, 3)) == [1, 2, 3]
    assert (await moved.store.schedules.get("a")).paused
