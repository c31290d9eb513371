"""The plan: what is created, changed field by field, left alone, deleted and refused. Making one writes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import Conflict, InvalidRequest
from headgate.models import MissedPolicy, Overlap, ScheduleDefinition
from headgate.reconcile import FieldChange, Plan, make_plan
from tests.support.worlds import World

FULL: dict[str, Any] = {
    "kind": "digest",
    "spec": "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI",
    "payload": {"team": "eu", "n": [1, 2.5, None]},
    "queue": "mail",
    "priority": 3,
    "max_attempts": 7,
    "timeout_ms": 1_000,
    "retention_ms": 2_000,
    "on_missed": MissedPolicy.BACKFILL,
    "backfill_limit": 9,
    "description": "Für alle",
    "labels": {"team": "eu"},
    "max_lateness_ms": 60_000,
    "starts_at_ms": 1,
    "ends_at_ms": 253_402_300_799_999,
    "jitter_ms": 500,
    "unique_key": "digest",
    "headers": {"trace": "1"},
    "deadline_ms": 10_000,
}
OTHERS: dict[str, Any] = FULL | {
    "kind": "report",
    "spec": "@every:60000",
    "payload": {"team": "us"},
    "queue": "slow",
    "priority": -3,
    "max_attempts": 8,
    "timeout_ms": 1_001,
    "retention_ms": 0,
    "on_missed": "run_once",
    "backfill_limit": 10,
    "description": "",
    "labels": {},
    "overlap": Overlap.SKIP,
    "max_lateness_ms": None,
    "starts_at_ms": None,
    "ends_at_ms": None,
    "jitter_ms": 0,
    "unique_key": None,
    "headers": {},
    "deadline_ms": None,
}


def definition(**fields: Any) -> ScheduleDefinition:
    return ScheduleDefinition(**{"kind": "test", "spec": "@every:60000"} | fields)


def lists(plan: Plan) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
    """Ids: to create, to change, unchanged, to delete, of others."""
    changes = [edit.schedule_id for edit in plan.changes]
    return [*plan.creates], changes, [*plan.unchanged], [*plan.deletes], [*plan.foreign]


async def test_each_schedule_is_in_one_of_the_lists(world: World) -> None:
    await world.put("same", owner="me")
    await world.put("other-queue", owner="me", queue="q")
    await world.put("gone", owner="me")
    await world.put("of-nobody")
    await world.put("theirs", owner="they")
    await world.put("theirs-too", owner="they")
    wanted = {name: definition() for name in ("theirs", "same", "new", "other-queue", "of-nobody")}
    before = await world.client.keys(world.keys.root + "*")
    plan = await make_plan(world.store, "me", wanted)
    assert lists(plan) == (["new"], ["other-queue", "of-nobody"], ["same"], ["gone"], ["theirs"])
    assert plan.foreign == {"theirs": "they"}
    by_id = {edit.schedule_id: [*edit.fields] for edit in plan.changes}
    assert by_id["other-queue"] == [FieldChange(name="queue", before="q", after="default")]
    assert by_id["of-nobody"] == [FieldChange(name="owner", before="", after="me")]
    assert await world.client.keys(world.keys.root + "*") == before


async def test_what_nobody_asks_for_is_not_read(world: World) -> None:
    """An application that starts and does not prune looks at its own schedules alone."""
    await world.put("a", owner="me")
    await world.put("a-longer", owner="me")
    await world.put("gone", owner="me")
    plan = await make_plan(world.store, "me", {"a": definition(), "a-l": definition()}, leftovers=False)
    assert lists(plan) == (["a-l"], [], ["a"], [], [])


async def test_leftovers_are_found_over_many_pages(world: World) -> None:
    for number in range(450):
        await world.put(f"s{number}", owner="me" if number % 2 else "they")
    plan = await make_plan(world.store, "me", {"s1": definition()})
    assert len(plan.deletes) == 224
    assert plan.unchanged == ["s1"]


@pytest.mark.parametrize("full", [FULL, OTHERS])
async def test_what_was_put_is_unchanged_in_every_field(world: World, full: dict[str, Any]) -> None:
    await world.put("a", **full, owner="me")
    assert lists(await make_plan(world.store, "me", {"a": definition(**full)})) == ([], [], ["a"], [], [])


@pytest.mark.parametrize("field", FULL.keys() | OTHERS.keys())
async def test_each_field_is_told_from_what_to_what(world: World, field: str) -> None:
    before = FULL | {"on_missed": "skip", "overlap": "allow", "jitter_ms": 0}  # which go with anything
    after = before | {field: 500 if field == "jitter_ms" else OTHERS[field]}
    await world.put("a", **before, owner="me")
    [edit] = (await make_plan(world.store, "me", {"a": definition(**after)})).changes
    if field in ("payload", "headers"):
        assert edit.fields == [FieldChange(name=field)], "never what it is, only that it changes"
    else:
        assert edit.fields == [FieldChange(name=field, before=before[field], after=after[field])]


async def test_a_payload_is_compared_by_its_content(world: World) -> None:
    await world.put("a", payload={"a": 1, "b": {"x": 1, "y": 2}}, owner="me")
    same = definition(payload={"b": {"y": 2, "x": 1}, "a": 1})
    assert (await make_plan(world.store, "me", {"a": same})).unchanged == ["a"]
    both = definition(kind="other", payload={"a": 2})
    [edit] = (await make_plan(world.store, "me", {"a": both})).changes
    assert [field.name for field in edit.fields] == ["kind", "payload"]


async def test_others_are_refused_by_name_unless_adopted(world: World) -> None:
    for name in "abcdefg":
        await world.put(name, owner="they")
    wanted = {name: definition() for name in "abcdefg"}
    plan = await make_plan(world.store, "me", wanted)
    with pytest.raises(Conflict, match=r"schedule a belongs to 'they', b .* and 2 more to others, not to 'me'"):
        plan.check()
    plan = await make_plan(world.store, "me", wanted, adopt=True)
    plan.check()
    assert [edit.fields for edit in plan.changes] == [[FieldChange(name="owner", before="they", after="me")]] * 7


@pytest.mark.parametrize("owner", ["", "x" * 201, "a\nb", "\ud800", None, 3])
async def test_an_owner_has_a_name(world: World, owner: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await make_plan(world.store, owner, {})
    assert caught.value.field == "owner"


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"spec": "61 * * * *"}, "spec"),
        ({"jitter_ms": 60_000}, "jitter_ms"),
        ({"payload": object()}, "payload"),
        ({"starts_at_ms": 2, "ends_at_ms": 1}, "ends_at_ms"),
        ({"queue": "a b"}, "queue"),
    ],
)
async def test_one_bad_declaration_refuses_them_all(world: World, bad: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await make_plan(world.store, "me", {"good": definition(), "bad": definition(**bad)})
    assert caught.value.field == field
