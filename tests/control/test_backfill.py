"""A range backfill: which ticks become jobs, what it says of the others, and what it never moves."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import InvalidRequest, ScheduleNotFound, SkipTick, StoreUnavailable
from headgate.hooks import Enqueueing, Hooks, Trigger
from headgate.hooks import backfill as past_hooks
from headgate.models import Backfilled, JobRequest, QueueLimits
from headgate.names import fingerprint
from headgate.settings import MARKER_MAX_MS, MAX_GAPS, MAX_RANGE
from tests.control.acts import DAY, HOUR, MINUTE, at, dump, finish, gaps, pass_time, pause, ran, resume, sweep
from tests.lua.test_leases import Lossy
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
    assert [(run.trigger, run.by, run.outcome, run.job_id) for run in runs] == [
        ("backfill", "ann", "enqueued", f"sched-a-{at(1)}")
    ], "one entry for all of them"
    assert (runs[0].tick_ms, runs[0].from_ms, runs[0].until_ms, runs[0].count) == (at(1), at(1), at(5), 5)


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
    runs = (await moved.store.runs.list("a", limit=100)).runs
    assert sum(run.count or 0 for run in runs) == 1300
    assert len(runs) == 1300 // 200 + 1, "one for each call of the store"


async def test_many_ticks_made_up_for_push_no_run_by_hand_out(moved: World) -> None:
    await paused_for(moved, 150)
    await moved.store.producer.run_now("a", idempotency_key="k", by="ann")
    assert len((await backfill(moved, 0, 150)).ticks) == 150
    made_up, by_hand = (await moved.store.runs.list("a", limit=100)).runs
    assert (made_up.trigger, made_up.from_ms, made_up.until_ms, made_up.count) == ("backfill", at(1), at(150), 150)
    assert (by_hand.trigger, by_hand.by, by_hand.from_ms, by_hand.count) == ("manual", "ann", None, None)


@pytest.mark.parametrize("losses", [1, 2, 3])
async def test_a_lost_answer_is_told_and_what_became_jobs_by_then_ran_already(moved: World, losses: int) -> None:
    """Asked again by itself, the store would say that nothing was left, as if somebody else had done it."""
    await paused_for(moved, 500)
    lossy: Any = Lossy(moved.client, 0)
    store = moved.store_on(lossy)
    call, sent = store.backfills._scripts.call, 0

    async def losing(name: str, *args: str | int) -> Any:
        nonlocal sent
        sent += name == "backfill"
        lossy.losses = int(name == "backfill" and sent == losses)
        return await call(name, *args)

    store.backfills._scripts.call = losing  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await store.backfills.run("a", at(0), at(500))
    assert sent == losses
    count = min(200 * losses, 500)
    assert len(await moved.queued()) == count, "the call was carried out"
    rest = await backfill(moved, 0, 500)
    assert (minutes(rest), rest.already_ran) == (list(range(count + 1, 501)), count)
    assert (rest.stopped_by, rest.more_after_ms) == (None, None)
    assert await ran(moved) == list(range(1, 501))


async def test_from_where_to_go_on_is_the_last_wanted_tick_whoever_made_up_for_it(moved: World) -> None:
    """Another's work is no reason to look at it all again, nor to end before the rest."""
    await paused_for(moved, 1300)
    backfills: Any = moved.store_on(moved.client).backfills
    read, calls = backfills._gaps, 0

    async def late(schedule_id: str) -> Any:
        nonlocal calls
        calls += 1
        answer = await read(schedule_id)
        if calls == 1:
            await moved.store.backfills.run("a", at(0), at(1000))
        return answer

    backfills._gaps = late
    done = await backfills.run("a", at(0), at(1300))
    assert (done.ticks, done.more_after_ms) == ([], at(1000))
    rest = await backfill(moved, 1000, 1300)
    assert (len(rest.ticks), rest.more_after_ms) == (300, None)


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
    await moved.advance(23 * HOUR)
    assert len(await jobs_done(moved, 10)) == 10, "their jobs are gone"
    again = await backfill(moved, 50, 60, force=True)
    assert (await moved.queued(), again.ticks) == ([], forced.ticks), "they are named again, and make no job"
    [run] = (await moved.store.runs.list("a")).runs
    assert (run.from_ms, run.until_ms, run.count) == (at(51), at(60), 10)


async def jobs_done(world: World, count: int) -> list[str]:
    """Jobs that were run to their end, and of which nothing is kept."""
    done = [await finish(world) for _ in range(count)]
    for job_id in done:
        await world.store.jobs.delete(job_id)
    return done


async def test_the_marker_of_a_forced_tick_stays_for_a_day(moved: World) -> None:
    """No gap tells that it was made up for. One from a gap lives as any."""
    await moved.advance(HOUR)
    await paused_for(moved, 2)
    await backfill(moved, 50, 60, force=True)
    for minute in (51, 60):
        assert await moved.client.pttl(moved.keys("tick", "a", at(minute))) > MARKER_MAX_MS - HOUR
    await backfill(moved, 60, 62)
    assert await moved.client.pttl(moved.keys("tick", "a", at(61))) < HOUR


async def test_ticks_that_ran_are_those_of_the_spec_as_it_is(moved: World) -> None:
    """Of the time before it, only what is in gaps is known."""
    await moved.put("a")
    await pass_time(moved, 5 * MINUTE)
    await moved.put("a", "@every:10000")
    assert (await moved.record("a"))["spec_since_ms"] == str(at(5))
    await pass_time(moved, MINUTE, step=10_000)
    done = await backfill(moved, 0, 5, dry_run=True)
    assert (done.ticks, done.already_ran, done.unknown) == ([], 0, 0)
    assert (await backfill(moved, 0, 6, dry_run=True)).already_ran == 6
    await moved.put("a", "@every:10000", payload=2)
    assert (await moved.record("a"))["spec_since_ms"] == str(at(5)), "another edit begins no new spec"


async def test_what_is_unknown_takes_nothing_from_what_ran(moved: World) -> None:
    await moved.advance(HOUR)
    await moved.put("a")
    await pass_time(moved, 2 * MINUTE)
    await moved.put("a", "@every:30000")
    await pass_time(moved, 2 * MINUTE, step=30_000)
    done = await backfill(moved, 50, 64, dry_run=True)
    assert (done.ticks, done.already_ran, done.unknown) == ([], 4, 20)


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


async def test_a_tick_whose_unique_key_is_held_stays_in_its_gap(moved: World) -> None:
    await paused_for(moved, 4, unique_key="u")
    done = await backfill(moved, 0, 4)
    assert (minutes(done), done.stopped_by, done.more_after_ms) == ([1], "unique_key", at(1))
    assert await gaps(moved) == [(2, 4, "paused")]
    await finish(moved)
    await moved.store.producer.enqueue(JobRequest(kind="other", queue="q", unique_key="u"))
    none = await backfill(moved, 1, 4)
    assert (none.ticks, none.stopped_by, none.more_after_ms) == ([], "unique_key", at(1))
    await finish(moved, queue="q")
    assert minutes(await backfill(moved, 1, 4)) == [2]
    assert await gaps(moved) == [(3, 4, "paused")]


@pytest.mark.parametrize(("raises", "reason"), [(SkipTick("no"), "hook_skipped"), (ValueError(), "hook_error")])
async def test_a_hook_has_its_say_and_may_stop_it(moved: World, raises: Exception, reason: str) -> None:
    """What it skips is passed over by whoever goes on; what it fails at is tried again."""
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
    assert done.more_after_ms == at(3 if reason == "hook_skipped" else 2)
    rest = await past_hooks(moved.store, hooks, "a", done.more_after_ms, at(4))
    if reason == "hook_skipped":
        assert (minutes(rest), rest.stopped_by, rest.more_after_ms) == ([4], None, None)
        assert await gaps(moved) == [(3, 3, "paused")]
        last = await past_hooks(moved.store, hooks, "a", at(2), at(3))
        assert (last.stopped_by, last.more_after_ms) == ("hook_skipped", None), "there is nothing to go on with"
    else:
        assert (rest.ticks, rest.stopped_by, rest.more_after_ms) == ([], reason, at(2))


async def test_after_hooks_hear_what_became_of_each_tick(moved: World) -> None:
    await paused_for(moved, 4)
    heard: list[tuple[Trigger, int | None, str, str]] = []

    async def before(job: Enqueueing) -> None:
        if job.tick_ms == at(3):
            raise SkipTick("no")

    async def after(job: Enqueueing, outcome: str, reason: str) -> None:
        heard.append((job.trigger, job.tick_ms, str(outcome), str(reason)))

    hooks = Hooks()
    hooks.after.append(after)
    await past_hooks(moved.store, hooks, "a", at(0), at(1), dry_run=True)
    assert heard == []
    hooks.before.append(before)
    await past_hooks(moved.store, hooks, "a", at(0), at(4))
    assert heard == [
        (Trigger.BACKFILL, at(1), "enqueued", "accepted"),
        (Trigger.BACKFILL, at(2), "enqueued", "accepted"),
        (Trigger.BACKFILL, at(3), "skipped", "hook_skipped"),
    ]


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
