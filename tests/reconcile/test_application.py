"""What an application declares belongs to its owner; starting it deletes nothing unless told to."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from headgate import Headgate
from headgate.errors import Conflict, InvalidRequest
from tests.support.worlds import World


def application(world: World, *schedule_ids: str, **options: Any) -> Headgate:
    app = Headgate(world.url, namespace=world.namespace, **options)

    @app.actor("sync", queue="of-the-actor")
    async def sync(n: int = 1) -> None: ...

    for schedule_id in schedule_ids:
        app.periodic(schedule_id, "@every:3600000", kind="sync")
    return app


async def started(app: Headgate, *, prune: bool = False, adopt: bool = False) -> None:
    async with app.run(scheduler=False, worker=False, prune=prune, adopt=adopt):
        pass


async def ids(world: World) -> list[str]:
    return [each.id for each in (await world.store.schedules.list()).schedules]


@pytest.mark.parametrize("owner", [None, "billing"])
async def test_its_schedules_are_its_owners(world: World, owner: str | None) -> None:
    await started(application(world, "a", owner=owner))
    schedule = await world.store.schedules.get("a")
    assert (schedule.owner, schedule.queue) == (owner or "app", "of-the-actor")
    assert (await world.store.changes.list("a")).changes[0].by == schedule.owner


async def test_it_deletes_only_when_told_to_and_only_its_own(world: World) -> None:
    await world.put("of-nobody")
    await started(application(world, "theirs", owner="they"))
    await started(application(world, "a", "b", owner="me"))
    await started(application(world, "a", owner="me"))
    assert await ids(world) == ["a", "b", "of-nobody", "theirs"]
    await started(application(world, "a", owner="me"), prune=True)
    assert await ids(world) == ["a", "of-nobody", "theirs"]


async def test_without_a_name_of_its_own_it_does_not_prune(world: World) -> None:
    """Another application without one would lose its schedules."""
    await started(application(world, "a"))
    with pytest.raises(InvalidRequest, match=r"prune needs an owner .* Headgate\(owner=…\)"):
        await started(application(world, "b"), prune=True)
    assert await ids(world) == ["a"]


async def test_a_schedule_of_others_stops_it_before_it_writes(world: World) -> None:
    await started(application(world, "b", owner="they"))
    with pytest.raises(Conflict, match="schedule b belongs to 'they', not to 'me'"):
        await started(application(world, "a", "b", owner="me"))
    assert await ids(world) == ["b"]
    await started(application(world, "a", "b", owner="me"), adopt=True)
    assert {(await world.store.schedules.get(name)).owner for name in "ab"} == {"me"}


async def test_one_without_an_owner_is_taken_over_and_keeps_its_phase(world: World) -> None:
    await world.put("a", "@every:3600000", kind="sync", queue="of-the-actor")
    before = await world.record("a")
    await started(application(world, "a"))
    after = await world.record("a")
    assert {name for name, value in after.items() if before.get(name) != value} <= {
        "owner",
        "revision",
        "updated_at_ms",
    }
    await started(application(world, "a"))
    assert await world.record("a") == after


async def test_twenty_start_at_once(world: World) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(started, application(world, "a", "b", "c", owner="me"))
    assert await ids(world) == ["a", "b", "c"]
    for name in "abc":
        assert [change.what for change in (await world.store.changes.list(name)).changes] == ["created"]


def test_the_owner_is_said_once(world: World) -> None:
    app = application(world)
    with pytest.raises(InvalidRequest, match=r"owner is the application's"):
        app.periodic("a", "@every:1000", kind="sync", owner="me")
    for owner in ("", "x" * 201, "a\n"):
        with pytest.raises(InvalidRequest) as caught:
            Headgate(owner=owner)
        assert caught.value.field == "owner"


def test_a_definition_is_made_as_a_declared_one(world: World) -> None:
    app = application(world)
    made = app.definition("@every:1000", kind="sync", payload={"n": 2}, jitter_ms=3)
    assert (made.queue, made.jitter_ms) == ("of-the-actor", 3)
    with pytest.raises(InvalidRequest, match="payload does not fit actor sync"):
        app.definition("@every:1000", kind="sync", payload={"n": "x"})
    with pytest.raises(InvalidRequest) as caught:
        app.periodic("a", "@every:1000", kind="sync", jitter_ms=1000)
    assert caught.value.field == "jitter_ms"
