"""Carrying a plan out: what is as declared is not touched, a race is planned again, only the own is pruned."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import Conflict, ScheduleNotFound
from headgate.models import ScheduleDefinition
from headgate.reconcile import Applied, apply, make_plan
from tests.support.worlds import START_MS, World

STANDING = ("revision", "anchor_ms", "next_run_ms", "last_tick_ms", "event_seq", "updated_at_ms")


def definition(**fields: Any) -> ScheduleDefinition:
    return ScheduleDefinition(**{"kind": "test", "spec": "@every:60000"} | fields)


async def reconcile(world: World, owner: str, wanted: dict[str, ScheduleDefinition], **options: bool) -> Applied:
    prune = options.pop("prune", False)
    return await apply(world.store, await make_plan(world.store, owner, wanted, **options), prune=prune)


async def standing(world: World, schedule_id: str) -> dict[str, str]:
    record = await world.record(schedule_id)
    return {field: record[field] for field in STANDING}


async def test_what_is_as_declared_is_not_touched(moved: World) -> None:
    """Neither revision nor phase, however often and however late it is declared again."""
    wanted = {"a": definition(payload={"n": 1}), "b": definition(spec="CRON_TZ=Europe/Berlin 0 9 * * *")}
    assert await reconcile(moved, "me", wanted) == Applied(created=2)
    before = [await moved.record(name) for name in wanted]
    for _ in range(3):
        await moved.advance(12_345_678)
        assert await reconcile(moved, "me", wanted) == Applied(unchanged=2)
    assert [await moved.record(name) for name in wanted] == before
    assert len((await moved.store.changes.list("a")).changes) == 1


async def test_a_changed_field_keeps_the_phase(moved: World) -> None:
    await reconcile(moved, "me", {"a": definition()})
    before = await standing(moved, "a")
    await moved.advance(30_000)
    assert await reconcile(moved, "me", {"a": definition(queue="q", payload=1)}) == Applied(updated=1)
    after = await standing(moved, "a")
    assert {name for name in STANDING if before[name] != after[name]} == {"revision", "updated_at_ms"}
    change = (await moved.store.changes.list("a")).changes[0]
    assert (change.what, change.by, {*change.fields}) == ("updated", "me", {"queue", "payload"})


async def test_a_changed_spec_counts_from_now_as_a_put_does(moved: World) -> None:
    await reconcile(moved, "me", {"a": definition()})
    await moved.advance(30_000)
    await reconcile(moved, "me", {"a": definition(spec="@every:10000")})
    after = await standing(moved, "a")
    assert (after["anchor_ms"], after["next_run_ms"]) == (str(START_MS + 30_000), str(START_MS + 40_000))


async def test_a_pause_survives(moved: World) -> None:
    await reconcile(moved, "me", {"a": definition()})
    await moved.store.control.pause("a", reason="broken", by="ada")
    assert await reconcile(moved, "me", {"a": definition()}) == Applied(unchanged=1)
    assert await reconcile(moved, "me", {"a": definition(queue="q")}) == Applied(updated=1)
    schedule = await moved.store.schedules.get("a")
    assert (schedule.paused, schedule.queue, schedule.next_run_ms) == (True, "q", None)


async def test_a_prune_removes_what_the_same_owner_declared_and_nothing_else(world: World) -> None:
    await reconcile(world, "me", {"a": definition(), "b": definition()})
    await reconcile(world, "they", {"c": definition()})
    await world.put("of-nobody")
    assert await reconcile(world, "me", {"a": definition()}) == Applied(unchanged=1)
    await world.store.schedules.get("b")
    assert await reconcile(world, "me", {"a": definition()}, prune=True) == Applied(unchanged=1, deleted=1)
    assert [each.id for each in (await world.store.schedules.list()).schedules] == ["a", "c", "of-nobody"]
    change = (await world.store.changes.list("b")).changes[0]
    assert (change.what, change.by) == ("deleted", "me")
    assert await reconcile(world, "me", {}, prune=True) == Applied(deleted=1)


async def test_what_was_adopted_is_no_longer_theirs_to_prune(world: World) -> None:
    await reconcile(world, "they", {"a": definition()})
    with pytest.raises(Conflict, match="schedule a belongs to 'they', not to 'me'"):
        await reconcile(world, "me", {"a": definition(), "b": definition()})
    with pytest.raises(ScheduleNotFound):
        await world.store.schedules.get("b")
    assert await reconcile(world, "me", {"a": definition()}, adopt=True) == Applied(updated=1)
    assert await reconcile(world, "they", {}, prune=True) == Applied()
    assert (await world.store.schedules.get("a")).owner == "me"


# races: somebody writes between the plan and its writes


async def test_created_meanwhile_as_declared(world: World) -> None:
    plan = await make_plan(world.store, "me", {"a": definition()})
    await reconcile(world, "me", {"a": definition()})
    before = await world.record("a")
    assert await apply(world.store, plan) == Applied(unchanged=1)
    assert await world.record("a") == before


async def test_changed_meanwhile_to_something_else(world: World) -> None:
    await world.put("a", owner="me")
    plan = await make_plan(world.store, "me", {"a": definition(queue="q")})
    await world.put("a", owner="me", queue="r", priority=3)
    assert await apply(world.store, plan) == Applied(updated=1)
    schedule = await world.store.schedules.get("a")
    assert (schedule.queue, schedule.priority) == ("q", 0)
    logged = (await world.store.changes.list("a")).changes[0]
    assert {*logged.fields} == {"queue", "priority"}


async def test_deleted_meanwhile(world: World) -> None:
    await world.put("a", owner="me")
    await world.put("gone", owner="me")
    plan = await make_plan(world.store, "me", {"a": definition(queue="q")})
    await world.store.schedules.delete("a")
    await world.store.schedules.delete("gone")
    assert await apply(world.store, plan, prune=True) == Applied(created=1)


@pytest.mark.parametrize("owner", ["me", "they"])
async def test_declared_anew_meanwhile_is_not_pruned(world: World, owner: str) -> None:
    await world.put("a", owner="me")
    await world.put("made-again", owner="me")
    plan = await make_plan(world.store, "me", {})
    await world.put("a", owner=owner, queue="q")
    await world.store.schedules.delete("made-again")
    await world.put("made-again", owner=owner)
    assert await apply(world.store, plan, prune=True) == Applied(kept=2)
    assert {(await world.store.schedules.get(name)).owner for name in ("a", "made-again")} == {owner}


async def test_taken_by_another_owner_meanwhile(world: World) -> None:
    plan = await make_plan(world.store, "me", {"a": definition()})
    await world.put("a", owner="they")
    with pytest.raises(Conflict, match="belongs to 'they'"):
        await apply(world.store, plan)
    adopting = await make_plan(world.store, "me", {"a": definition()}, adopt=True)
    await world.put("a", owner="third")
    assert await apply(world.store, adopting) == Applied(updated=1)
