"""Backfills under an idempotency key: one answer for a day, and a request that was cut off goes on where it was."""

from __future__ import annotations

import json
from typing import Any

import anyio
import msgspec
import pytest

from headgate.connect import connect
from headgate.errors import (
    HeadgateError,
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
    InvalidRequest,
    ScheduleNotFound,
    SkipTick,
    StoreError,
)
from headgate.handles import Schedules
from headgate.hooks import Enqueueing, Hooks
from headgate.models import Backfilled, QueueLimits
from headgate.settings import IDEMPOTENCY_MS, MAX_RANGE
from tests.control.acts import DAY, HOUR, MINUTE, at, dump, gaps, pass_time, pause, ran, resume
from tests.fault.test_crash_points import Died, MortalClient
from tests.support.worlds import World


async def paused_for(world: World, minutes: int, name: str = "a", **options: Any) -> None:
    await world.put(name, **options)
    await world.store.control.pause(name)
    await world.advance(minutes * MINUTE)
    await world.store.control.resume(name)


async def backfill(world: World, after: int, until: int, *, store: Any = None, **options: Any) -> Backfilled:
    """Minutes since the start, under the key k unless told otherwise."""
    options.setdefault("idempotency_key", "k")
    done: Backfilled = await (store or world.store).backfills.run("a", at(after), at(until), **options)
    return done


def minutes(done: Backfilled) -> list[int]:
    return [(tick - at(0)) // MINUTE for tick in done.ticks]


def replay_of(done: Backfilled) -> Backfilled:
    return msgspec.structs.replace(done, replayed=True)


async def cut_off(world: World, calls: int, *, after_sending: bool, until: int = 500, **options: Any) -> bool:
    """A backfill of all minutes in a process that dies at that call; whether it does, or has an answer first."""
    client = connect(world.url, world.settings)
    mortal: Any = MortalClient(client, calls, after_sending=after_sending)
    try:
        await backfill(world, 0, until, store=world.store_on(mortal), **options)
    except Died:
        return True
    finally:
        await client.aclose()
    return False


# what a repeat gets


async def test_a_repeat_gets_the_same_answer_marked_as_replayed_and_does_nothing(moved: World) -> None:
    await moved.put("a")
    await pass_time(moved, 2 * MINUTE)
    await pause(moved)
    await moved.advance(5 * MINUTE)
    await resume(moved)
    done = await backfill(moved, 0, 7, by="ann")
    assert (minutes(done), done.already_ran, done.replayed) == ([3, 4, 5, 6, 7], 2, False)
    before = await dump(moved)
    assert await backfill(moved, 0, 7, by="somebody else") == replay_of(done)
    assert await dump(moved) == before
    assert len((await moved.store.runs.list("a")).runs) == 1


async def test_it_is_the_same_whatever_became_of_the_schedule(moved: World) -> None:
    """Also when it has another spec, more gaps, or is gone."""
    await paused_for(moved, 1300)
    done = await backfill(moved, 0, 1300)
    assert (len(done.ticks), done.more_after_ms) == (MAX_RANGE, at(MAX_RANGE))
    await moved.put("a", "@every:7000")
    await pause(moved)
    await moved.advance(HOUR)
    assert await backfill(moved, 0, 1300) == replay_of(done)
    await moved.store.schedules.delete("a")
    assert await backfill(moved, 0, 1300) == replay_of(done)
    with pytest.raises(ScheduleNotFound):
        await backfill(moved, 0, 1300, idempotency_key="another")


async def test_an_answer_that_says_why_it_stopped_is_kept_too(moved: World) -> None:
    """Whoever goes on has another request: that of `more_after_ms`, under a key of its own."""
    await paused_for(moved, 5)
    await moved.store.queues.set_limits("default", QueueLimits(max_unfinished=2))
    done = await backfill(moved, 0, 5)
    none = await backfill(moved, 2, 5, idempotency_key="none")
    assert (minutes(done), done.stopped_by, done.more_after_ms) == ([1, 2], "backpressure", at(2))
    assert (minutes(none), none.stopped_by, none.more_after_ms) == ([], "backpressure", at(2))
    await moved.store.queues.set_limits("default", QueueLimits())
    assert await backfill(moved, 0, 5) == replay_of(done)
    assert await backfill(moved, 2, 5, idempotency_key="none") == replay_of(none)
    assert await gaps(moved) == [(3, 5, "paused")]


async def test_where_nothing_was_to_be_done_that_is_the_answer(moved: World) -> None:
    await moved.put("a")
    await pass_time(moved, 3 * MINUTE)
    done = await backfill(moved, -5, 3)
    assert (done.ticks, done.already_ran, done.unknown, done.replayed) == ([], 3, 5, False)
    await pass_time(moved, MINUTE)
    assert await backfill(moved, -5, 3) == replay_of(done)


async def test_a_repeat_asks_no_hook(moved: World) -> None:
    await paused_for(moved, 3)
    asked: list[int | None] = []

    async def before(job: Enqueueing) -> None:
        asked.append(job.tick_ms)
        if job.tick_ms == at(2):
            raise SkipTick("no")

    hooks = Hooks()
    hooks.before.append(before)

    def refuse(*_: Any) -> Any:
        raise AssertionError("a backfill defines nothing")

    schedules = Schedules(moved.store, hooks, refuse, refuse)
    done = await schedules.backfill("a", at(0), at(3), idempotency_key="k")
    assert (minutes(done), done.stopped_by, done.more_after_ms) == ([1], "hook_skipped", at(2))
    assert asked == [at(1), at(2), at(3)]
    assert await schedules.backfill("a", at(0), at(3), idempotency_key="k") == replay_of(done)
    assert len(asked) == 3


async def test_without_a_key_nothing_is_kept(moved: World) -> None:
    await paused_for(moved, 3)
    assert minutes(await backfill(moved, 0, 3, idempotency_key=None)) == [1, 2, 3]
    again = await backfill(moved, 0, 3, idempotency_key=None)
    assert (again.ticks, again.already_ran, again.replayed) == ([], 3, False)
    assert not [name async for name in moved.client.scan_iter(match=moved.keys.root + "idem:*")]


# what a key stands for


@pytest.mark.parametrize("other", [{"after": 1}, {"until": 4}, {"force": True}], ids=["after_ms", "until_ms", "force"])
async def test_the_same_key_with_another_body_is_refused(moved: World, other: dict[str, Any]) -> None:
    await paused_for(moved, 5)
    await backfill(moved, 0, 3)
    before = await dump(moved)
    body: dict[str, Any] = {"after": 0, "until": 3} | other
    with pytest.raises(IdempotencyKeyReused):
        await backfill(moved, **body)
    assert await dump(moved) == before


async def test_another_body_is_refused_while_the_first_is_not_done_too(moved: World) -> None:
    await paused_for(moved, 500)
    assert await cut_off(moved, 7, after_sending=True)
    before = await dump(moved)
    with pytest.raises(IdempotencyKeyReused):
        await backfill(moved, 0, 499)
    assert await dump(moved) == before


async def test_the_key_is_of_one_schedule_and_of_backfills_alone(moved: World) -> None:
    await paused_for(moved, 2)
    await paused_for(moved, 3, "b")
    await moved.store.producer.run_now("a", idempotency_key="k")
    assert len((await backfill(moved, 0, 2)).ticks) == 2
    other = await moved.store.backfills.run("b", at(2), at(5), idempotency_key="k")
    assert (minutes(other), other.replayed) == ([3, 4, 5], False)


@pytest.mark.parametrize("key", ["", "with space", "é", "x" * 201])
async def test_a_key_that_breaks_its_rule_is_refused_also_for_a_dry_run(moved: World, key: str) -> None:
    await paused_for(moved, 2)
    for dry_run in (False, True):
        with pytest.raises(InvalidRequest if key else IdempotencyKeyMissing) as refused:
            await backfill(moved, 0, 2, idempotency_key=key, dry_run=dry_run)
        assert refused.value.field == "Idempotency-Key"
    assert await gaps(moved) == [(1, 2, "paused")]


# how long, and what not


async def test_an_answer_is_kept_for_a_day_by_store_time(moved: World) -> None:
    await paused_for(moved, 3)
    done = await backfill(moved, 0, 3)
    key = moved.keys("idem_backfill", "a", "k")
    assert 0 < await moved.client.pttl(key) <= IDEMPOTENCY_MS == DAY
    kept = json.loads(await moved.client.get(key))
    assert (kept["answer"], kept["until_ms"]) == (f"done 0 0 - - {at(1)},{at(2)},{at(3)}", at(3) + DAY)
    await moved.advance(DAY - 1)
    assert await backfill(moved, 0, 3) == replay_of(done)
    await moved.advance(1)
    anew = await backfill(moved, 0, 3)
    assert (anew.ticks, anew.already_ran, anew.replayed) == ([], 3, False)
    assert await backfill(moved, 0, 3) == replay_of(anew)


async def test_what_was_cut_off_is_kept_as_long(moved: World) -> None:
    """Then the request is a new one, which finds what the old one did."""
    await paused_for(moved, 500)
    assert await cut_off(moved, 7, after_sending=True)
    assert 0 < await moved.client.pttl(moved.keys("idem_backfill", "a", "k")) <= DAY
    await moved.advance(DAY)
    done = await backfill(moved, 0, 500)
    assert (minutes(done), done.already_ran) == (list(range(401, 501)), 400)


async def test_the_longest_answer_is_some_kilobytes(moved: World) -> None:
    await paused_for(moved, MAX_RANGE)
    done = await backfill(moved, 0, MAX_RANGE)
    assert len(done.ticks) == MAX_RANGE
    assert await moved.client.strlen(moved.keys("idem_backfill", "a", "k")) < 20_000
    assert await backfill(moved, 0, MAX_RANGE) == replay_of(done)


async def test_a_refusal_is_not_kept(moved: World) -> None:
    """Once what it named is mended, the key is good for any request."""
    with pytest.raises(ScheduleNotFound):
        await backfill(moved, 0, 5)
    await paused_for(moved, 5)
    before = await dump(moved)
    for after, until in ((0, 6), (3, 3), (-at(0) // MINUTE - 1, 3)):
        with pytest.raises(HeadgateError):
            await backfill(moved, after, until)
    assert await dump(moved) == before
    assert minutes(await backfill(moved, 0, 4)) == [1, 2, 3, 4]


async def test_a_dry_run_keeps_nothing_and_is_told_nothing_that_is_kept(moved: World) -> None:
    await paused_for(moved, 5)
    before = await dump(moved)
    assert minutes(await backfill(moved, 0, 5, dry_run=True)) == [1, 2, 3, 4, 5]
    assert await dump(moved) == before
    await backfill(moved, 0, 3)
    dry = await backfill(moved, 0, 5, dry_run=True)
    assert (minutes(dry), dry.dry_run, dry.replayed) == ([4, 5], True, False)


# cut off


@pytest.mark.parametrize("dies_at", range(1, 12))
@pytest.mark.parametrize("after_sending", [False, True], ids=["before-sending", "after-sending"])
async def test_a_repeat_goes_on_with_what_was_cut_off_at_any_call(
    moved: World, dies_at: int, after_sending: bool
) -> None:
    """What the first enqueued is in the answer of the second: each tick once. Then that is the answer."""
    await moved.put("a")
    await pass_time(moved, 3 * MINUTE)
    await pause(moved)
    await moved.advance(500 * MINUTE)
    await resume(moved)
    died = await cut_off(moved, dies_at, after_sending=after_sending, until=503)
    assert died == (dies_at <= 10), "the kept answer, two reads; for each two hundred a read and a call; the answer"
    was_whole = not died or (dies_at == 10 and after_sending)
    done = await backfill(moved, 0, 503)
    assert minutes(done) == list(range(4, 504))
    assert (done.already_ran, done.unknown, done.stopped_by, done.more_after_ms) == (3, 0, None, None)
    assert done.replayed == was_whole
    assert await ran(moved) == list(range(1, 504))
    assert await gaps(moved) == []
    assert await backfill(moved, 0, 503) == replay_of(done)


@pytest.mark.parametrize("dies_at", [5, 7, 9, 11, 13])
async def test_it_takes_no_more_than_a_thousand_also_when_it_was_cut_off(moved: World, dies_at: int) -> None:
    """And says from where to go on, as if nothing had happened."""
    await paused_for(moved, 1300)
    assert await cut_off(moved, dies_at, after_sending=True, until=1300)
    done = await backfill(moved, 0, 1300)
    assert minutes(done) == list(range(1, MAX_RANGE + 1))
    assert done.more_after_ms == at(MAX_RANGE)
    assert await ran(moved) == list(range(1, MAX_RANGE + 1))


async def test_forced_ticks_are_told_once_though_no_gap_shrinks_with_them(moved: World) -> None:
    await paused_for(moved, 100)
    await moved.store.schedules.delete("a")
    await paused_for(moved, 500)
    assert await cut_off(moved, 5, after_sending=True, until=600, force=True)
    done = await backfill(moved, 0, 600, force=True)
    assert minutes(done) == list(range(1, 601))
    assert (done.unknown, done.replayed) == (0, False)
    assert await ran(moved) == list(range(1, 601))


async def test_what_others_made_up_for_meanwhile_is_theirs(moved: World) -> None:
    """A tick is told under the key whose call made its job, and `already_ran` is what ran before the first call."""
    await paused_for(moved, 500)
    assert await cut_off(moved, 5, after_sending=True)
    assert minutes(await backfill(moved, 250, 300, idempotency_key="other")) == list(range(251, 301))
    done = await backfill(moved, 0, 500)
    assert minutes(done) == [*range(1, 251), *range(301, 501)]
    assert done.already_ran == 0
    assert await ran(moved) == list(range(1, 501))


async def test_one_that_was_cut_off_and_lost_its_schedule_is_refused_like_any_other(moved: World) -> None:
    await paused_for(moved, 500)
    assert await cut_off(moved, 5, after_sending=True)
    await moved.store.schedules.delete("a")
    with pytest.raises(ScheduleNotFound):
        await backfill(moved, 0, 500)


# at the same time


async def test_many_with_one_key_make_each_tick_once_and_tell_one_answer(moved: World) -> None:
    await paused_for(moved, 700)
    found: list[Backfilled] = []

    async def one() -> None:
        found.append(await backfill(moved, 0, 700))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(one)
    assert await ran(moved) == list(range(1, 701))
    assert [done.replayed for done in found].count(False) == 1
    assert {msgspec.json.encode(replay_of(done)) for done in found} == {msgspec.json.encode(replay_of(found[0]))}
    assert minutes(found[0]) == list(range(1, 701))


def interrupted(world: World, script: str, number: int, meanwhile: Any) -> Any:
    """A store at whose so-manieth call of a script something else comes first."""
    store = world.store_on(world.client)
    call, sent = store.backfills._scripts.call, 0

    async def late(name: str, *args: str | int) -> Any:
        nonlocal sent
        sent += name == script
        if name == script and sent == number:
            await meanwhile()
        return await call(name, *args)

    store.backfills._scripts.call = late  # type: ignore[method-assign]
    return store


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("calls", [5, 7])
async def test_one_that_is_overtaken_by_a_call_goes_on_from_there(moved: World, number: int, calls: int) -> None:
    """The other dies; what it did is in the answer of the one that lives."""
    await paused_for(moved, 700)

    async def other() -> None:
        assert await cut_off(moved, calls, after_sending=True, until=700)

    done = await backfill(moved, 0, 700, store=interrupted(moved, "backfill", number, other))
    assert (minutes(done), done.replayed) == (list(range(1, 701)), False)
    assert await ran(moved) == list(range(1, 701))
    assert await backfill(moved, 0, 700) == replay_of(done)


async def test_one_that_finds_nothing_left_does_not_take_that_for_the_answer(moved: World) -> None:
    """The other enqueued all, and died before it could say so."""
    await paused_for(moved, 100)

    async def other() -> None:
        assert await cut_off(moved, 5, after_sending=True, until=100)

    done = await backfill(moved, 0, 100, store=interrupted(moved, "get", 1, other))
    assert minutes(done) == list(range(1, 101))
    assert done.already_ran == 0


async def test_one_that_comes_too_late_to_finish_tells_the_answer_of_the_other(moved: World) -> None:
    await paused_for(moved, 100)
    found: list[Backfilled] = []

    async def other() -> None:
        found.append(await backfill(moved, 0, 100))

    done = await backfill(moved, 0, 100, store=interrupted(moved, "backfill_answer", 2, other))
    assert minutes(found[0]) == list(range(1, 101))
    assert done == replay_of(found[0])


async def test_one_that_is_overtaken_by_another_request_under_its_key_is_refused(moved: World) -> None:
    await paused_for(moved, 100)

    async def other() -> None:
        await backfill(moved, 0, 50)

    with pytest.raises(IdempotencyKeyReused):
        await backfill(moved, 0, 100, store=interrupted(moved, "backfill", 1, other))
    assert await ran(moved) == list(range(1, 51))


# damage


@pytest.mark.damages_store("a foreign type in place of an answer")
async def test_a_foreign_type_in_place_of_the_answer_is_told_and_nothing_is_done(moved: World) -> None:
    await paused_for(moved, 3)
    await moved.client.lpush(moved.keys("idem_backfill", "a", "k"), "foreign")
    with pytest.raises(StoreError):
        await backfill(moved, 0, 3)
    assert await gaps(moved) == [(1, 3, "paused")]


@pytest.mark.damages_store("a foreign type in place of an answer")
async def test_nor_is_anything_done_where_it_comes_in_between(moved: World) -> None:
    await paused_for(moved, 3)

    async def damage() -> None:
        await moved.client.lpush(moved.keys("idem_backfill", "a", "k"), "foreign")

    with pytest.raises(StoreError):
        await backfill(moved, 0, 3, store=interrupted(moved, "backfill", 1, damage))
    assert (await gaps(moved), await ran(moved)) == ([(1, 3, "paused")], [])


@pytest.mark.parametrize("answer", ["", "accepted job-1", "open x 0 1", "done 0 0 - - 1,x", "done 0 0 - -"])
@pytest.mark.damages_store("an answer that is none")
async def test_an_answer_that_headgate_did_not_write_is_told(moved: World, answer: str) -> None:
    await paused_for(moved, 3)
    await backfill(moved, 0, 3)
    key = moved.keys("idem_backfill", "a", "k")
    kept = json.loads(await moved.client.get(key)) | {"answer": answer}
    await moved.client.set(key, json.dumps(kept, separators=(",", ":")))
    if answer:
        with pytest.raises(StoreError, match="is not one that headgate wrote"):
            await backfill(moved, 0, 3)
    else:
        assert (await backfill(moved, 0, 3)).ticks == [], "nothing is kept"
