"""The log of changes, revisions that writers insist on, and the list of runs by hand."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headgate.errors import InvalidCursor, InvalidRequest, RevisionMismatch
from headgate.models import Change, ManualRun, ScheduleDefinition
from headgate.store import Store
from tests.control.acts import DAY, MINUTE, at, dump, pause, resume
from tests.lua.test_leases import Lossy
from tests.support.worlds import START_MS, World


def definition(**options: Any) -> ScheduleDefinition:
    options.setdefault("spec", "@every:60000")
    return ScheduleDefinition(kind="test", **options)


async def put(world: World, *, by: str = "", expected: int | None = None, **options: Any) -> int:
    done = await world.store.schedules.put("a", definition(**options), by=by, expected_revision=expected)
    return done.schedule.revision


async def changes(world: World, **options: Any) -> list[Change]:
    return (await world.store.changes.list("a", **options)).changes


async def test_each_change_says_when_who_what_and_from_what_to_what(moved: World) -> None:
    created = await put(moved, by="ann")
    await moved.advance(MINUTE)
    updated = await put(moved, by="bob", priority=3, description="nightly", labels={"team": "x"})
    await moved.store.control.pause("a", reason="why", by="cem", until_ms=at(9))
    await moved.store.control.resume("a", missed="run_once", by="dan")
    found = [(change.what, change.by, change.at_ms) for change in await changes(moved)]
    assert found == [
        ("resumed", "dan", at(1)),
        ("paused", "cem", at(1)),
        ("updated", "bob", at(1)),
        ("created", "ann", START_MS),
    ]
    revisions = [change.revision for change in await changes(moved)]
    assert revisions == sorted(revisions, reverse=True)
    assert revisions[2:] == [updated, created]
    resumed, paused, update, creation = await changes(moved)
    assert update.fields == {
        "priority": ["0", "3"],
        "description": ["", "nightly"],
        "labels": ["{}", '{"team":"x"}'],
    }
    assert paused.fields == {"reason": [None, "why"], "until_ms": [None, str(at(9))]}
    assert resumed.fields == {"missed": [None, "run_once"]}
    assert creation.fields == {}


async def test_of_payload_and_headers_only_that_they_changed(moved: World) -> None:
    await put(moved, payload={"card": "4111-1111"}, headers={"token": "4111"})
    await put(moved, payload={"card": "5500-0000"}, headers={"token": "5500"})
    assert (await changes(moved))[0].fields == {"payload": [], "headers": []}
    stored = "".join(await moved.client.lrange(moved.keys("changes", "a"), 0, -1))
    assert "card" not in stored
    assert "4111" not in stored


async def test_a_changed_spec_says_from_when_on_it_counts(moved: World) -> None:
    await put(moved)
    await moved.advance(5)
    await put(moved, spec="@every:90000")
    [change, *_] = await changes(moved)
    assert (change.fields, change.anchor_ms) == ({"spec": ["@every:60000", "@every:90000"]}, START_MS + 5)


async def test_a_write_that_changes_nothing_is_no_change(moved: World) -> None:
    await put(moved)
    before = await dump(moved)
    await put(moved, by="ann")
    assert await dump(moved) == before


async def test_the_newest_fifty_are_kept_and_paged(moved: World) -> None:
    for number in range(53):
        await put(moved, payload=number, by=f"n{number}")
    seen: list[str | None] = []
    cursor = None
    while True:
        page = await moved.store.changes.list("a", limit=7, cursor=cursor)
        seen += [change.by for change in page.changes]
        if (cursor := page.next_cursor) is None:
            break
    assert seen == [f"n{number}" for number in range(52, 2, -1)]


@pytest.mark.parametrize("who", ['"', "\\", "Zoë", "a\nb", "\x00", "x" * 200, '","what":"created'])
async def test_whatever_its_writer_is_called_the_log_can_be_read(moved: World, who: str) -> None:
    await put(moved, by=who)
    await pause(moved, by=who, reason=who)
    await moved.store.producer.run_now("a", idempotency_key="k", by=who)
    assert [change.by for change in await changes(moved)] == [who, who]
    assert (await moved.store.runs.list("a")).runs[0].by == who
    assert (await moved.store.schedules.get("a")).pause is not None


async def test_the_log_outlives_its_schedule_for_a_year_and_goes_on_with_the_next(moved: World) -> None:
    await put(moved)
    await moved.store.schedules.delete("a", by="ann")
    assert [(change.what, change.by) for change in await changes(moved)] == [("deleted", "ann"), ("created", None)]
    life = await moved.client.pttl(moved.keys("changes", "a"))
    assert 364 * DAY < life <= 365 * DAY
    await put(moved)
    assert await moved.client.pttl(moved.keys("changes", "a")) == -1
    assert len(await changes(moved)) == 3


# revisions

Write = Callable[[World, int], Awaitable[Any]]
WRITES: dict[str, Write] = {
    "put": lambda world, expected: put(world, payload="x", expected=expected),
    "put the same": lambda world, expected: put(world, payload="now", expected=expected),
    "pause": lambda world, expected: world.store.control.pause("a", expected_revision=expected),
    "delete": lambda world, expected: world.store.schedules.delete("a", expected_revision=expected),
}


@pytest.mark.parametrize("write", WRITES)
async def test_a_stale_writer_is_told_what_is_there_and_changes_nothing(moved: World, write: str) -> None:
    stale = await put(moved)
    right = await put(moved, payload="now")
    before = await dump(moved)
    for expected in (stale, 0, right + 1):
        with pytest.raises(RevisionMismatch) as refused:
            await WRITES[write](moved, expected)
        assert refused.value.current == await moved.store.schedules.get("a")
    assert await dump(moved) == before
    await WRITES[write](moved, right)


@pytest.mark.parametrize("expected", ["right", True, False, -1, 1.5, 2**53, b"1", [1]])
@pytest.mark.parametrize("write", [*WRITES, "resume"])
async def test_a_revision_that_can_be_none_is_refused_and_nothing_is_written(
    moved: World, write: str, expected: Any
) -> None:
    """Also the right number as text: another language may print it otherwise."""
    right = await put(moved, payload="now")
    if write == "resume":
        await pause(moved)
        right = (await moved.store.schedules.get("a")).revision
    before = await dump(moved)
    wrong: Any = str(right) if expected == "right" else expected
    with pytest.raises(InvalidRequest) as refused:
        await (resume(moved, expected_revision=wrong) if write == "resume" else WRITES[write](moved, wrong))
    assert refused.value.field == "expected_revision"
    assert await dump(moved) == before


async def lossy_store(world: World, script: str) -> Store:
    """Of which the first answer to a script is lost after it was carried out."""
    lossy: Any = Lossy(world.client, 0)
    store = world.store_on(lossy)
    call, sent = store.control._scripts.call, 0

    async def losing(name: str, *args: str | int) -> Any:
        nonlocal sent
        if name == script:
            sent += 1
            lossy.losses = int(sent == 1)
        return await call(name, *args)

    store.control._scripts.call = losing  # type: ignore[method-assign]
    return store


async def test_a_write_whose_answer_was_lost_is_no_conflict(moved: World) -> None:
    """Though its repeat finds another revision than the one it insists on: its own."""
    revision = await put(moved)
    store = await lossy_store(moved, "put")
    done = await store.schedules.put("a", definition(payload=1), expected_revision=revision)
    assert done.schedule.payload == 1
    store = await lossy_store(moved, "pause")
    it = await store.control.pause("a", reason="x", expected_revision=done.schedule.revision)
    assert it.paused
    store = await lossy_store(moved, "resume")
    it = await store.control.resume("a", expected_revision=it.revision)
    assert not it.paused
    assert [change.what for change in await changes(moved)] == ["resumed", "paused", "updated", "created"]


async def test_neither_lists_nor_the_log_say_what_is_in_headers(moved: World) -> None:
    revision = await put(moved, headers={"token": "SECRET"}, payload="SECRET")
    assert (await moved.store.schedules.get("a")).headers == {"token": "SECRET"}
    assert "SECRET" not in str(await moved.store.schedules.list())
    assert "SECRET" not in str(await changes(moved))
    with pytest.raises(RevisionMismatch) as refused:
        await put(moved, expected=revision + 1)
    assert "SECRET" not in str(refused.value)


async def test_zero_expects_that_there_is_none(moved: World) -> None:
    await put(moved, expected=0)
    with pytest.raises(RevisionMismatch):
        await put(moved, payload=1, expected=0)


async def test_a_revision_of_a_schedule_that_is_gone_fits_none(moved: World) -> None:
    """Nor does one of a schedule that was made again under its id."""
    revision = await put(moved)
    await moved.store.schedules.delete("a")
    with pytest.raises(RevisionMismatch) as refused:
        await put(moved, expected=revision)
    assert refused.value.current is None
    await put(moved)
    with pytest.raises(RevisionMismatch):
        await moved.store.schedules.delete("a", expected_revision=revision)


async def test_firing_moves_no_revision_and_control_does(moved: World) -> None:
    revision = await put(moved)
    await pause(moved)
    await resume(moved)
    assert (await moved.store.schedules.get("a")).revision > revision


# runs by hand


async def test_runs_are_paged_newest_first_while_the_list_grows(moved: World) -> None:
    """Each that is kept is shown once; newer ones are left for another look."""
    await put(moved)
    for number in range(105):
        await moved.store.producer.run_now("a", idempotency_key=str(number), by=f"n{number}")
        await moved.advance(number % 2)
    seen: list[ManualRun] = []
    cursor, number = None, 200
    while True:
        page = await moved.store.runs.list("a", limit=10, cursor=cursor)
        seen += page.runs
        if (cursor := page.next_cursor) is None:
            break
        await moved.store.producer.run_now("a", idempotency_key=str(number))
        number += 1
    names = [run.by for run in seen]
    assert names == [f"n{kept}" for kept in range(104, 104 - len(names), -1)]
    assert 90 <= len(names) <= 100, "what the new ones pushed out is not shown"
    assert await moved.client.llen(moved.keys("manual", "a")) == 100


async def test_a_repeat_of_a_run_is_on_the_list_once(moved: World) -> None:
    await put(moved)
    for _ in range(3):
        await moved.store.producer.run_now("a", idempotency_key="k", by="ann")
    assert len((await moved.store.runs.list("a")).runs) == 1


async def test_lists_refuse_limits_and_cursors_of_others(moved: World) -> None:
    for number in range(3):
        await put(moved, payload=number)
        await moved.store.producer.run_now("a", idempotency_key=str(number))
    for one, other, most in (
        (moved.store.changes, moved.store.runs, 50),
        (moved.store.runs, moved.store.changes, 100),
    ):
        cursor = (await one.list("a", limit=1)).next_cursor
        for wrong in (cursor, "x", ""):
            with pytest.raises(InvalidCursor):
                await other.list("a", cursor=wrong)
        with pytest.raises(InvalidCursor):
            await one.list("b", cursor=cursor)
        for limit in (0, most + 1):
            with pytest.raises(InvalidRequest):
                await one.list("a", limit=limit)
    assert json.loads(await moved.client.lindex(moved.keys("manual", "a"), 0))["trigger"] == "manual"
