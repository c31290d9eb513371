"""The facts behind the sentences, what is told after much has changed, and input that is refused."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import InvalidRequest, ScheduleNotFound
from headgate.models import JobState, QueueLimits, TickCode, TickRange
from headgate.settings import MAX_CHANGES, MAX_INSTANT_MS
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
