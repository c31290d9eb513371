"""A pause: what it says of itself, what it stops, and how it ends by itself."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import Conflict, InvalidRequest, LeaseLost, NotPaused, RevisionMismatch, ScheduleNotFound
from headgate.models import QueueLimits, ScheduleDefinition
from headgate.settings import MAX_TEXT, MAX_WHO
from headgate.store.control import BY_ITSELF
from tests.control.acts import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    at,
    dump,
    gaps,
    on_duty,
    pass_time,
    pause,
    ran,
    resume,
    sweep,
    ticks_of,
)
from tests.support.worlds import START_MS, World


async def test_a_pause_says_why_who_since_when_and_until_when(moved: World) -> None:
    await moved.put("a")
    before = (await moved.store.schedules.get("a")).revision
    it = await moved.store.control.pause("a", reason="it pages Ann", by="ann", until_ms=START_MS + HOUR)
    assert it.paused
    assert it.pause is not None
    assert (it.pause.reason, it.pause.by) == ("it pages Ann", "ann")
    assert (it.pause.since_ms, it.pause.until_ms) == (START_MS, START_MS + HOUR)
    assert it.revision > before
    assert (it.next_run_ms, it.finished) == (None, False)


async def test_a_paused_schedule_fires_nothing_not_even_what_was_due(moved: World) -> None:
    await moved.put("a")
    await moved.advance(MINUTE)
    await pause(moved)
    await pass_time(moved, 5 * MINUTE)
    assert await moved.queued() == []
    assert await moved.events("a") == []


async def test_a_second_pause_gives_the_reason_name_and_end_anew_and_keeps_since_when(moved: World) -> None:
    await moved.put("a")
    await pause(moved, reason="one", by="ann", until_ms=START_MS + HOUR)
    await moved.advance(MINUTE)
    it = await moved.store.control.pause("a", by="bob")
    assert it.pause is not None
    assert (it.pause.reason, it.pause.by, it.pause.until_ms) == (None, "bob", None)
    assert it.pause.since_ms == START_MS
    await pass_time(moved, 2 * HOUR, step=HOUR)
    assert (await moved.store.schedules.get("a")).paused, "the first one's end is forgotten"


async def test_a_second_pause_in_the_same_words_writes_nothing(moved: World) -> None:
    """Also from whoever read it before the first: it is what they want."""
    await moved.put("a")
    stale = (await moved.store.schedules.get("a")).revision
    words: dict[str, Any] = {"reason": "why", "by": "ann", "until_ms": START_MS + HOUR}
    first = await moved.store.control.pause("a", **words)
    before = await dump(moved)
    await moved.advance(MINUTE)
    assert await moved.store.control.pause("a", **words) == first
    assert await moved.store.control.pause("a", expected_revision=stale, **words) == first
    after = await dump(moved)
    del before[moved.keys.root + "test-clock"], after[moved.keys.root + "test-clock"]
    assert after == before
    changes = (await moved.store.changes.list("a")).changes
    assert [change.what for change in changes] == ["paused", "created"]
    other = await moved.store.control.pause("a", **words | {"by": "bob"})
    assert other.revision > first.revision


async def test_a_pause_of_what_is_not_as_it_was_read_is_refused_with_what_is_there(moved: World) -> None:
    await moved.put("a")
    stale = (await moved.store.schedules.get("a")).revision
    await moved.put("a", payload=1)
    before = await dump(moved)
    with pytest.raises(RevisionMismatch) as refused:
        await moved.store.control.pause("a", expected_revision=stale)
    assert refused.value.current == await moved.store.schedules.get("a")
    with pytest.raises(RevisionMismatch):
        await moved.store.control.pause("a", expected_revision=0)
    assert await dump(moved) == before
    right = (await moved.store.schedules.get("a")).revision
    assert (await moved.store.control.pause("a", expected_revision=right)).paused


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"until_ms": START_MS}, "until_ms"),
        ({"until_ms": START_MS - 1}, "until_ms"),
        ({"until_ms": -1}, "until_ms"),
        ({"until_ms": 1.5}, "until_ms"),
        ({"reason": "x" * (MAX_TEXT + 1)}, "reason"),
        ({"reason": "\ud800"}, "reason"),
        ({"by": "x" * (MAX_WHO + 1)}, "by"),
        ({"by": 7}, "by"),
    ],
)
async def test_a_bad_value_is_named_and_nothing_is_paused(moved: World, options: dict[str, object], field: str) -> None:
    await moved.put("a")
    before = await dump(moved)
    with pytest.raises(InvalidRequest) as refused:
        await pause(moved, **options)
    assert refused.value.field == field
    assert await dump(moved) == before


async def test_what_does_not_exist_can_be_neither_paused_nor_resumed(moved: World) -> None:
    with pytest.raises(ScheduleNotFound):
        await pause(moved)
    with pytest.raises(ScheduleNotFound):
        await resume(moved)


async def test_a_pause_takes_a_failing_schedule_off_the_list_and_a_resume_begins_anew(moved: World) -> None:
    await moved.put("a", queue="full")
    await moved.store.queues.set_limits("full", QueueLimits(max_unfinished=0))
    await moved.advance(MINUTE)
    await sweep(moved)
    assert (await moved.store.schedules.get("a")).failure is not None
    await pause(moved)
    assert (await moved.store.schedules.get("a")).failure is None
    assert (await moved.store.leases.overview()).failing == 0
    await moved.advance(MINUTE)
    await resume(moved)
    assert await gaps(moved) == [(1, 2, "paused")], "the tick that failed did not run either"


async def test_the_resume_of_one_that_is_not_paused_says_so_and_changes_nothing(moved: World) -> None:
    await moved.put("a")
    before = await dump(moved)
    with pytest.raises(NotPaused):
        await resume(moved)
    assert issubclass(NotPaused, Conflict)
    assert await dump(moved) == before


# the end that was said beforehand


async def test_a_pause_ends_at_its_instant_by_the_hand_of_whoever_schedules(moved: World) -> None:
    await moved.put("a")
    await pause(moved, reason="the weekend", until_ms=at(10))
    await pass_time(moved, 9 * MINUTE)
    assert (await moved.store.schedules.get("a")).paused
    await pass_time(moved, 3 * MINUTE)
    it = await moved.store.schedules.get("a")
    assert (it.paused, it.pause) == (False, None)
    assert await ran(moved) == [11, 12]
    assert await gaps(moved) == [(1, 10, "paused")]
    [change, *_] = (await moved.store.changes.list("a")).changes
    assert (change.what, change.by) == ("resumed", BY_ITSELF)


async def test_ticks_after_the_end_were_missed_not_paused_should_nobody_have_scheduled(moved: World) -> None:
    """The policy of missed ticks decides about them, as after any outage."""
    await moved.put("a", on_missed="backfill", backfill_limit=3)
    await pause(moved, until_ms=at(10))
    await moved.advance(20 * MINUTE)
    await sweep(moved)
    assert await ran(moved) == [18, 19, 20]
    assert await gaps(moved) == [(1, 10, "paused"), (11, 17, "discarded")]


async def test_whoever_resumes_it_after_its_end_finds_later_ticks_missed(moved: World) -> None:
    """Nobody scheduled when it was to end. Only its own ticks are paused ones, whatever is asked for those."""
    for missed, own, left in (("none", [], 10), ("run_once", [10], 9), ("backfill", [9, 10], 8)):
        name = f"p-{missed}"
        await moved.put(name, queue=name, on_missed="backfill", backfill_limit=2)
        await moved.store.control.pause(name, until_ms=at(10))
        await moved.set_clock(at(20))
        await moved.store.control.resume(name, missed=missed, by="ann")
        await sweep(moved)
        ticks = ticks_of(await moved.queued(name), name)
        assert [(tick - START_MS) // MINUTE for tick in ticks] == [*own, 19, 20]
        reasons = {(gap["from_ms"], gap["until_ms"]): gap["reason"] for gap in await moved.gaps(name)}
        assert reasons == {(at(1), at(left)): "paused", (at(11), at(18)): "discarded"}
        await moved.set_clock(START_MS)


async def test_a_new_pause_after_one_that_is_over_ends_that_first(moved: World) -> None:
    await moved.put("a")
    await pause(moved, reason="one", by="ann", until_ms=at(10))
    await moved.advance(20 * MINUTE)
    over = (await moved.store.schedules.get("a")).revision
    before = await dump(moved)
    with pytest.raises(RevisionMismatch):
        await pause(moved, reason="two", expected_revision=over - 1)
    with pytest.raises(InvalidRequest):
        await pause(moved, reason="two", until_ms=at(15))
    assert await dump(moved) == before, "what is refused ends nothing"
    it = await moved.store.control.pause("a", reason="two", by="bob", expected_revision=over)
    assert it.pause is not None
    assert (it.pause.reason, it.pause.by, it.pause.since_ms, it.pause.until_ms) == ("two", "bob", at(20), None)
    assert await gaps(moved) == [(1, 10, "paused")]
    changes = (await moved.store.changes.list("a")).changes
    assert [(change.what, change.by) for change in changes] == [
        ("paused", "bob"),
        ("resumed", BY_ITSELF),
        ("paused", "ann"),
        ("created", None),
    ]


# between the scheduler's look and its call


@pytest.mark.parametrize("anew", ["prolonged", "for good", "resumed and paused", "resumed and paused for long"])
async def test_a_scheduler_resumes_no_pause_that_somebody_made_since_it_looked(moved: World, anew: str) -> None:
    await moved.put("a")
    await pause(moved, until_ms=at(5))
    await moved.advance(5 * MINUTE)
    scheduler = await on_duty(moved)
    due: Any = moved.store.ticks.due

    async def late(*args: Any) -> Any:
        page = await due(*args)
        if anew.startswith("resumed"):
            await resume(moved)
        await pause(moved, reason="longer", until_ms=None if anew in {"for good", "resumed and paused"} else at(50))
        return page

    ticks: Any = scheduler._store.ticks
    ticks.due = late
    await scheduler.sweep()
    ticks.due = due
    it = await moved.store.schedules.get("a")
    assert it.pause is not None
    assert it.pause.reason == "longer"
    before = await dump(moved)
    control: Any = moved.store_on(moved.client).control
    call, sent = control._scripts.call, []

    async def noted(name: str, *args: Any) -> Any:
        sent.append(name)
        return await call(name, *args)

    control._scripts.call = noted
    with pytest.raises(Conflict):
        await control.resume("a", token=scheduler.duty.token)
    assert sent == ["get"], "it is not even asked for"
    assert await dump(moved) == before


async def test_the_script_resumes_for_a_scheduler_only_what_was_to_end_by_now(moved: World) -> None:
    """Prolonged after the plan was made: the script has the last word."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    for until_ms in (at(5), None):
        await pause(moved, until_ms=until_ms)
        revision = (await moved.store.schedules.get("a")).revision
        arguments = ("a", revision, "", "", START_MS, at(1), "", "}")
        before = await dump(moved)
        answer = await moved.store.control._scripts.call("resume", scheduler.duty.token, *arguments)
        assert answer == ["moved"]
        assert await dump(moved) == before


async def test_only_the_holder_of_the_duty_ends_a_pause(moved: World) -> None:
    await moved.put("a")
    await pause(moved, until_ms=at(1))
    await moved.advance(MINUTE)
    await on_duty(moved)
    before = await dump(moved)
    with pytest.raises(LeaseLost):
        await moved.store.control.resume("a", token="stale/token")
    assert await dump(moved) == before


async def test_another_process_that_takes_over_ends_it(moved: World) -> None:
    await moved.put("a")
    first = await on_duty(moved)
    await pause(moved, until_ms=at(1))
    await moved.advance(MINUTE)
    second = await on_duty(moved)
    with pytest.raises(LeaseLost):
        await first.sweep()
    assert (await moved.store.schedules.get("a")).paused
    await second.sweep()
    assert not (await moved.store.schedules.get("a")).paused


async def test_heartbeat_and_sweep_know_when_a_pause_is_to_end(moved: World) -> None:
    """Else a process with nothing due would sleep through it."""
    await moved.put("a", "@every:86400000")
    await pause(moved, until_ms=START_MS + 90 * SECOND)
    scheduler = await on_duty(moved)
    assert (await scheduler.heart.beat()).due_next_ms == START_MS + 90 * SECOND
    assert 88 < await scheduler.sweep() <= 90


async def test_an_entry_that_its_record_contradicts_is_dropped_and_resumes_nobody(moved: World) -> None:
    await moved.put("a")
    await moved.store.schedules.put("b", ScheduleDefinition(kind="test", spec="@every:60000"), paused=True)
    await moved.client.zadd(moved.keys("resumes"), {"a": 1, "b": 2, "none": 3})
    await sweep(moved)
    assert await moved.client.zcard(moved.keys("resumes")) == 0
    assert (await moved.store.schedules.get("b")).paused


async def test_a_lost_entry_is_put_back_when_the_indexes_are_mended(moved: World) -> None:
    await moved.put("a")
    await pause(moved, until_ms=at(5))
    await moved.client.delete(moved.keys("resumes"), moved.keys("paused"))
    scheduler = await on_duty(moved)
    assert await moved.store.schedules.reindex(scheduler.duty.token, "", 10) == ("", 2)
    await pass_time(moved, 6 * MINUTE)
    assert await ran(moved) == [6]


async def test_a_pause_that_ends_costs_the_others_nothing(moved: World) -> None:
    """More of them than one sweep reads, and one that cannot be read among them."""
    for number in range(5):
        await moved.put(f"p{number}", "@every:86400000")
        await moved.store.control.pause(f"p{number}", until_ms=at(1))
    await moved.client.hset(moved.keys("schedule", "p2"), "spec", "nonsense")
    await moved.put("a")
    await moved.advance(MINUTE)
    scheduler = await on_duty(moved)
    await scheduler.sweep()
    await scheduler.sweep()
    assert await ran(moved) == [1]
    paused = [it.id for it in (await moved.store.schedules.list(paused=True)).schedules]
    assert paused == ["p2"]
    await moved.put("p2", "@every:86400000")


async def test_somebody_who_resumes_before_its_end_makes_the_end_void(moved: World) -> None:
    await moved.put("a")
    await pause(moved, until_ms=at(30))
    await moved.advance(5 * MINUTE)
    await resume(moved)
    await pass_time(moved, MINUTE)
    await pause(moved)
    await pass_time(moved, DAY, step=6 * HOUR)
    assert (await moved.store.schedules.get("a")).paused
