"""The facts behind the sentences, what is told after much has changed, and input that is refused."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import InvalidRequest, ScheduleNotFound, StoreError
from headgate.models import JobState, QueueLimits, TickCode, TickRange
from headgate.settings import MAX_CHANGES, MAX_GAPS, MAX_INSTANT_MS, MAX_MANUAL
from tests.explain.stage import ID, MINUTE, Stage
from tests.support.worlds import START_MS, World

FIRST = START_MS + MINUTE
SECOND = FIRST + MINUTE
THIRD = SECOND + MINUTE


@pytest.fixture
def stage(moved: World) -> Stage:
    return Stage(moved)


async def test_a_tick_that_ran(stage: Stage) -> None:
    await stage.put()
    await stage.go(MINUTE + 7)
    it = await stage.explain(FIRST)
    assert (it.code, it.outcome, it.reason, it.event_id, it.attempts) == (
        *(TickCode.ENQUEUED, "enqueued", "accepted", 1, 1),
    )
    assert (it.recorded_at_ms, it.store_time_ms, it.spec) == (FIRST + 7, FIRST + 7, "@every:60000")
    assert (it.job_id, it.job_state, it.job_at_ms) == (f"sched-{ID}-{FIRST}", JobState.AVAILABLE, FIRST + 7)


async def test_a_discarded_tick(stage: Stage) -> None:
    await stage.put(on_missed="skip")
    await stage.go(3 * MINUTE)
    await stage.world.advance(1)
    await stage.put(on_missed="backfill")
    it = await stage.explain(SECOND)
    assert (it.code, it.policy, it.other_tick_ms, it.event_id) == (TickCode.DISCARDED, "skip", THIRD, 1)
    assert it.range == TickRange(from_ms=FIRST, until_ms=SECOND)


async def test_a_failing_tick_and_what_became_of_it(stage: Stage) -> None:
    await stage.put()
    await stage.store.queues.set_limits("default", QueueLimits(max_unfinished=0))
    await stage.go(MINUTE)
    it = await stage.explain(FIRST)
    assert (it.code, it.outcome, it.reason, it.attempts) == (TickCode.FAILING, "failed", "backpressure", 1)
    assert (it.since_ms, it.retry_at_ms, it.due_in_ms) == (FIRST, FIRST + 1000, 0)
    await stage.go(MINUTE)
    assert [(await stage.explain(tick)).code for tick in (FIRST, SECOND)] == [TickCode.BEHIND_FAILING, TickCode.FAILING]
    await stage.store.queues.set_limits("default", QueueLimits())
    await stage.go(2_000)
    first, second = await stage.explain(FIRST), await stage.explain(SECOND)
    assert (first.code, first.other_tick_ms) == (TickCode.DISCARDED, SECOND)
    assert (second.code, second.attempts) == (TickCode.ENQUEUED, 2)


async def test_ticks_of_a_pause_whose_spec_was_changed_meanwhile(stage: Stage) -> None:
    """They belong to the pause: a resume knows only the new spec."""
    await stage.put()
    await stage.store.control.pause(ID, by="ann", reason="moving")
    await stage.world.advance(3 * MINUTE + 1)
    await stage.put("@every:420000")
    await stage.world.advance(10 * MINUTE)
    await stage.store.control.resume(ID)
    for tick in (FIRST, SECOND, THIRD):
        it = await stage.explain(tick)
        assert (it.code, it.by, it.why, it.spec) == (TickCode.PAUSED, "ann", "moving", "@every:60000")
        assert (it.earlier_spec, it.range) == (True, TickRange(from_ms=FIRST, until_ms=THIRD))
    assert (await stage.explain(THIRD + MINUTE)).code is TickCode.NOT_A_TICK
    later = START_MS // 420_000 * 420_000 + 420_000
    assert ((await stage.explain(later)).code, (await stage.explain(later)).spec) == (TickCode.PAUSED, "@every:420000")


async def test_what_was_forgotten_counts_as_neither_run_nor_made_up_for(stage: Stage) -> None:
    """That fewer gaps are kept now than could be says nothing: some were made up for since."""
    await stage.put()
    for _ in range(MAX_GAPS + 3):
        await stage.store.control.pause(ID)
        await stage.world.advance(2 * MINUTE)
        await stage.store.control.resume(ID)
        await stage.go(MINUTE)
    ticks = [START_MS + n * MINUTE for n in (1, 2, 4, 7)]
    assert {(await stage.explain(tick)).code for tick in ticks} == {TickCode.UNKNOWN}
    gap = (await stage.world.gaps(ID))[-1]
    await stage.store.backfills.run(ID, gap["from_ms"] - 1, gap["until_ms"])
    assert len(await stage.world.gaps(ID)) < MAX_GAPS
    assert {(await stage.explain(tick)).code for tick in ticks} == {TickCode.UNKNOWN}
    assert (await stage.store.backfills.run(ID, START_MS, ticks[-1], dry_run=True)).unknown == 7


async def test_an_event_outlives_its_gap(stage: Stage) -> None:
    """Two gaps to an event: the gap is forgotten first. As long as no backfill can be forgotten, the event is right."""
    await stage.put(max_lateness_ms=1000)
    await stage.world.advance(30_000)
    for _ in range(90):
        await stage.go(3 * MINUTE)
    late = next(event for event in reversed(await stage.world.events(ID)) if event["reason"] == "too_late")
    tick, older = late["tick_ms"], late["tick_ms"] - MINUTE
    gap = (await stage.world.gaps(ID))[-1]
    assert tick < (await stage.world.gaps(ID))[0]["from_ms"], "its gap is still kept"
    await stage.store.backfills.run(ID, gap["from_ms"] - 1, gap["until_ms"])
    first, second = await stage.explain(tick), await stage.explain(older)
    assert (first.code, first.job_id) == (TickCode.TOO_LATE, None)
    assert (second.code, second.job_id) == (TickCode.DISCARDED, None)
    await stage.world.advance(1)
    for number in range(MAX_MANUAL):
        await stage.store.producer.run_now(ID, idempotency_key=str(number))
    first = await stage.explain(tick)
    assert (first.code, first.event_id, first.job_id) == (TickCode.UNKNOWN, late["event_id"], None)


async def test_a_large_backfill_is_one_run_and_tells_of_each_tick(stage: Stage) -> None:
    await stage.put(on_missed="skip")
    await stage.go(160 * MINUTE)
    await stage.store.backfills.run(ID, START_MS, START_MS + 150 * MINUTE, by="ann")
    [run] = (await stage.store.runs.list(ID)).runs
    assert (run.from_ms, run.until_ms, run.count) == (FIRST, START_MS + 150 * MINUTE, 150)
    tick = START_MS + 20 * MINUTE
    it = await stage.explain(tick)
    assert (it.code, it.by, it.job_state) == (TickCode.MADE_UP, "ann", JobState.AVAILABLE)
    await stage.store.jobs.cancel(f"sched-{ID}-{tick}")
    await stage.store.jobs.delete(f"sched-{ID}-{tick}")
    it = await stage.explain(tick)
    assert (it.code, it.by, it.job_id, it.job_state) == (TickCode.MADE_UP, "ann", f"sched-{ID}-{tick}", None)
    assert (await stage.explain(tick + 1)).code is TickCode.NOT_A_TICK
    assert (await stage.explain(START_MS + 151 * MINUTE)).code is TickCode.DISCARDED


async def test_a_tick_between_ones_that_were_made_up_for_and_that_had_run(stage: Stage) -> None:
    """Only what became a job in that call was made up for by it."""
    await stage.put(on_missed="skip")
    await stage.go(4 * MINUTE)
    await stage.world.client.set(stage.world.keys("tick", ID, SECOND), "of other content", px=1000)
    await stage.store.backfills.run(ID, START_MS, THIRD, by="ann")
    for tick in (FIRST, THIRD):
        await stage.store.jobs.cancel(f"sched-{ID}-{tick}")
        await stage.store.jobs.delete(f"sched-{ID}-{tick}")
    said = [await stage.explain(tick) for tick in (FIRST, SECOND, THIRD, THIRD + MINUTE)]
    assert [(it.code, it.by) for it in said] == [
        *((TickCode.MADE_UP, "ann"), (TickCode.IN_NO_GAP, "ann"), (TickCode.IN_NO_GAP, "ann")),
        (TickCode.ENQUEUED, None),
    ]
    assert [it.job_id for it in said[1:3]] == [None, None]


async def test_a_forced_backfill_claims_no_job_that_was_there(stage: Stage) -> None:
    """The tick in the middle ran in its time; all events are forgotten, and the jobs and markers of its neighbours."""
    world = stage.world
    await stage.put()
    for tick in (FIRST, SECOND, THIRD):
        await stage.go(MINUTE)
        if tick != SECOND:
            await stage.store.jobs.cancel(f"sched-{ID}-{tick}")
            await stage.store.jobs.delete(f"sched-{ID}-{tick}")
            await world.client.delete(world.keys("tick", ID, tick))
    await world.client.hset(world.keys("schedule", ID), "forgotten_ms", THIRD)
    await world.client.delete(world.keys("events", ID))
    await world.advance(1)
    await stage.store.backfills.run(ID, START_MS, THIRD, force=True, by="ann")
    assert [(run.from_ms, run.until_ms) for run in (await stage.store.runs.list(ID)).runs] == [(FIRST, THIRD)]
    said = [await stage.explain(tick) for tick in (FIRST, SECOND, THIRD)]
    assert [(it.code, it.by) for it in said] == [
        *((TickCode.MADE_UP, "ann"), (TickCode.ENQUEUED, None), (TickCode.MADE_UP, "ann")),
    ]


async def test_a_pause_that_was_to_end_by_itself(stage: Stage) -> None:
    """What comes due after its end was missed, whether it was ended in time or not."""
    await stage.put(on_missed="skip")
    await stage.store.control.pause(ID, by="ann", until_ms=SECOND)
    before = [(await stage.explain(tick)).since_ms for tick in (SECOND, THIRD)]
    assert before == [START_MS, None]
    await stage.world.advance(4 * MINUTE + 7)
    second, third, fifth = [await stage.explain(tick) for tick in (SECOND, THIRD, START_MS + 5 * MINUTE)]
    assert (second.code, second.by) == (TickCode.PAUSED_NOW, "ann")
    assert (third.code, third.by, third.until_ms, third.policy) == (TickCode.OVERDUE, None, SECOND, "skip")
    assert (fifth.code, fifth.until_ms) == (TickCode.NOT_DUE, None)
    await stage.sweep()
    assert [(await stage.explain(tick)).code for tick in (SECOND, THIRD, THIRD + MINUTE)] == [
        *(TickCode.PAUSED, TickCode.DISCARDED, TickCode.ENQUEUED),
    ]


async def test_a_forgotten_instant_that_headgate_did_not_write(stage: Stage) -> None:
    await stage.put()
    await stage.world.client.hset(stage.world.keys("schedule", ID), "forgotten_ms", "never")
    with pytest.raises(StoreError):
        await stage.explain(FIRST)


async def test_a_queued_tick_that_lacks_its_event(stage: Stage) -> None:
    """As a crash of the store between the two leaves it; the job may be removed already."""
    await stage.put()
    await stage.world.advance(MINUTE)
    await stage.world.client.hset(stage.world.keys("schedule", ID), "last_tick_ms", FIRST)
    it = await stage.explain(FIRST)
    assert (it.code, it.event_id, it.job_id) == (TickCode.ENQUEUED, None, f"sched-{ID}-{FIRST}")


async def test_a_schedule_that_was_made_again(stage: Stage) -> None:
    """The history goes on; of what it does not tell, the new schedule knows nothing."""
    await stage.put(on_missed="skip")
    await stage.go(2 * MINUTE)
    await stage.store.schedules.delete(ID)
    it = await stage.explain(FIRST)
    assert (it.code, it.deleted, it.other_tick_ms) == (TickCode.DISCARDED, True, SECOND)
    await stage.world.advance(2 * MINUTE + 1)
    await stage.put()
    codes = [(await stage.explain(START_MS + n * MINUTE)).code for n in range(1, 6)]
    assert codes == [
        *(TickCode.DISCARDED, TickCode.ENQUEUED, TickCode.BEFORE_CREATED, TickCode.BEFORE_CREATED, TickCode.NOT_DUE),
    ]


async def test_what_is_older_than_the_log_of_changes(stage: Stage) -> None:
    """Whose tick it was is forgotten: only the present spec can be asked, and what was recorded is told."""
    await stage.put()
    await stage.go(MINUTE)
    await stage.put("@every:420000")
    for _ in range(MAX_CHANGES // 2 + 1):
        await stage.world.advance(1)
        await stage.store.control.pause(ID)
        await stage.store.control.resume(ID)
    first = await stage.explain(FIRST)
    assert (first.code, first.earlier_spec, first.spec) == (TickCode.ENQUEUED, True, None)
    assert first.sentence.endswith(" It was a tick of an earlier spec.")
    other = await stage.explain(FIRST - 1)
    assert (other.code, other.spec) == (TickCode.NOT_A_TICK, "@every:420000")


async def test_a_spec_that_is_refused_now(stage: Stage) -> None:
    """For instance because its zone left the zone database: what is known is told, and no more."""
    await stage.put()
    await stage.go(MINUTE)
    await stage.world.client.hset(stage.world.keys("schedule", ID), "spec", "CRON_TZ=Mars/Olympus 0 9 * * *")
    codes = [(await stage.explain(tick)).code for tick in (FIRST, FIRST + 1, SECOND, THIRD)]
    assert codes == [TickCode.ENQUEUED, TickCode.UNKNOWN, TickCode.NOT_DUE, TickCode.UNKNOWN]


async def test_the_first_and_the_last_instant(stage: Stage) -> None:
    """Also on clocks for which the year 10000 has begun, or 1970 has not."""
    for spec in ("@every:60000", "CRON_TZ=Pacific/Auckland * * * * *", "CRON_TZ=America/Adak * * * * *"):
        await stage.put(spec)
        assert (await stage.explain(0)).code is TickCode.BEFORE_CREATED
        assert (await stage.explain(MAX_INSTANT_MS)).code is TickCode.NOT_A_TICK


@pytest.mark.parametrize("schedule_id", ["", ".", "a b", "a/b", "x" * 201, 7, None])
async def test_an_id_that_is_none_is_refused(moved: World, schedule_id: Any) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        await moved.store.explains.explain(schedule_id, START_MS)
    assert refusal.value.field == "id"


@pytest.mark.parametrize("tick_ms", [-1, MAX_INSTANT_MS + 1, 1.5, "1", True, None])
async def test_an_instant_that_is_none_is_refused(moved: World, tick_ms: Any) -> None:
    await moved.put(ID)
    with pytest.raises(InvalidRequest) as refusal:
        await moved.store.explains.explain(ID, tick_ms)
    assert refusal.value.field == "tick_ms"


async def test_a_schedule_that_never_existed_is_not_found(moved: World) -> None:
    with pytest.raises(ScheduleNotFound):
        await moved.store.explains.explain("never", START_MS)
    await moved.put("other")
    with pytest.raises(ScheduleNotFound):
        await moved.store.explains.explain("never", START_MS)


async def test_explaining_writes_nothing(stage: Stage) -> None:
    await stage.put()
    await stage.go(2 * MINUTE)
    before = await stage.world.record(ID), await stage.world.events(ID), await stage.world.gaps(ID)
    for tick in (FIRST, SECOND, THIRD):
        await stage.explain(tick)
    assert (await stage.world.record(ID), await stage.world.events(ID), await stage.world.gaps(ID)) == before
