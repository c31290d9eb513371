"""Many processes that reconcile at once, or end in the middle: no schedule is lost, doubled or re-phased."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from redis import Redis

from headgate.connect import connect
from headgate.models import ScheduleDefinition
from headgate.reconcile import apply, make_plan
from headgate.store import Store
from tests.support.commands import Command, short_folder, wait_for
from tests.support.worlds import World

MANY = 20
STANDING = ("anchor_ms", "next_run_ms", "last_tick_ms", "event_seq", "created_at_ms")
Wanted = Mapping[str, ScheduleDefinition]


def declared(count: int = 15, **fields: Any) -> dict[str, ScheduleDefinition]:
    return {f"s{n}": ScheduleDefinition(**{"kind": "test", "spec": "@every:3600000"} | fields) for n in range(count)}


async def at_once(world: World, reconciling: Callable[[Store, int], Awaitable[None]]) -> None:
    """So many tasks, each with connections of its own."""
    async with anyio.create_task_group() as tasks:

        async def one(number: int) -> None:
            client = connect(world.url, world.settings)
            try:
                await reconciling(world.store_on(client), number)
            finally:
                await client.aclose()

        for number in range(MANY):
            tasks.start_soon(one, number)


async def reconcile(store: Store, owner: str, wanted: Wanted, *, prune: bool = True) -> None:
    await apply(store, await make_plan(store, owner, wanted), prune=prune)


async def ids(world: World) -> set[str]:
    page = await world.store.schedules.list(limit=200)
    assert page.next_cursor is None
    assert len({each.id for each in page.schedules}) == len(page.schedules)
    return {each.id for each in page.schedules}


async def log_of(world: World, schedule_id: str) -> list[tuple[str, Mapping[str, Sequence[str | None]]]]:
    """Its changes, oldest first, each of which moved the revision."""
    changes = [*(await world.store.changes.list(schedule_id, limit=50)).changes][::-1]
    assert len({change.revision for change in changes}) == len(changes)
    assert changes[-1].revision == (await world.store.schedules.get(schedule_id)).revision
    return [(change.what, change.fields) for change in changes]


async def test_the_same_from_nothing(world: World) -> None:
    wanted = declared()
    await at_once(world, lambda store, _: reconcile(store, "app", wanted))
    assert await ids(world) == wanted.keys()
    for name in wanted:
        assert [what for what, _ in await log_of(world, name)] == ["created"]


async def test_the_same_again_touches_nothing(world: World) -> None:
    wanted = declared(payload={"n": 1})
    await reconcile(world.store, "app", wanted)
    before = {name: await world.record(name) for name in wanted}
    await at_once(world, lambda store, _: reconcile(store, "app", wanted))
    assert {name: await world.record(name) for name in wanted} == before


@pytest.mark.parametrize("field", ["queue", "spec"])
async def test_the_same_change(world: World, field: str) -> None:
    """Each schedule changes once, and one that stays as it was is left alone."""
    await reconcile(world.store, "app", declared(15))
    before = {name: await world.record(name) for name in declared(15)}
    changed = {"queue": "q"} if field == "queue" else {"spec": "@every:7200000"}
    wanted = declared(15) | declared(10, **changed)
    await at_once(world, lambda store, _: reconcile(store, "app", wanted))
    for name in declared(15):
        record = await world.record(name)
        if name in declared(10):
            assert [what for what, _ in await log_of(world, name)] == ["created", "updated"]
            assert record[field] == changed[field]
            if field == "queue":
                assert [record[each] for each in STANDING] == [before[name][each] for each in STANDING]
        else:
            assert record == before[name]


async def test_different_ones_of_owners_of_their_own(world: World) -> None:
    """Each prunes, and none touches what the others declare."""

    async def one(store: Store, number: int) -> None:
        mine = {f"o{number}-{name}": each for name, each in declared(5).items()}
        gone = {f"o{number}-gone": ScheduleDefinition(kind="test", spec="@every:1000000")}
        await reconcile(store, f"owner-{number}", mine | gone)
        await reconcile(store, f"owner-{number}", mine)

    await at_once(world, one)
    assert await ids(world) == {f"o{number}-{name}" for number in range(MANY) for name in declared(5)}
    for name in await ids(world):
        assert [what for what, _ in await log_of(world, name)] == ["created"]


async def test_two_versions_of_one_owner(world: World) -> None:
    """As when an application is rolled out: each schedule ends as one of them, and each write was a real change."""
    await reconcile(world.store, "app", declared())
    versions = [declared(queue="one"), declared(queue="two")]
    await at_once(world, lambda store, number: reconcile(store, "app", versions[number % 2], prune=False))
    assert await ids(world) == declared().keys()
    for name in declared():
        (first, _), *later = await log_of(world, name)
        assert first == "created"
        assert all(what == "updated" for what, _ in later)
        queues = [fields["queue"] for _, fields in later]
        assert all(before != after for before, after in queues)
        assert [before for before, _ in queues] == ["default", *(after for _, after in queues[:-1])]
        assert (await world.record(name))["queue"] == queues[-1][1]


async def test_pruning_while_others_declare_more(world: World) -> None:
    """The old version prunes what only the new one declares at the most before it wrote it; then it is there again."""
    old, new = declared(5), declared(10)
    await at_once(
        world, lambda store, number: reconcile(store, "app", new if number % 2 else old, prune=not number % 2)
    )
    await reconcile(world.store, "app", new, prune=False)
    assert await ids(world) == new.keys()
    for name in old:
        assert [what for what, _ in await log_of(world, name)] == ["created"]


# real processes


def write_file(path: Path, count: int, **fields: str) -> None:
    lines = [f'owner = "{path.stem}"', "[defaults]", 'kind = "test"', 'spec = "@every:3600000"']
    lines += [f'{name} = "{text}"' for name, text in fields.items()]
    path.write_text("\n".join([*lines, *(f'[[schedule]]\nid = "{path.stem}-{n}"' for n in range(count))]))


def processes(world: World, folder: Path, *files: str) -> None:
    """`headgate apply` of each file at once."""
    with ExitStack() as stack:
        arguments = ("--prune", "--redis", world.url, "--namespace", world.namespace)
        commands = [stack.enter_context(Command("apply", file, *arguments, cwd=folder)) for file in files]
        for command in commands:
            assert command.wait() == 0, command.output


@contextmanager
def counting(world: World) -> Iterator[Callable[[], int]]:
    """How many schedules there are, asked without the event loop."""
    with Redis.from_url(world.url) as client:
        yield lambda: int(client.zcard(world.keys("schedules")))


async def test_four_processes(world: World) -> None:
    with short_folder() as folder:
        for name in ("a", "b"):
            write_file(folder / f"{name}.toml", 40)
        processes(world, folder, *("a.toml", "b.toml") * 2)
        before = {name: await world.record(name) for name in await ids(world)}
        assert len(before) == 80
        write_file(folder / "a.toml", 40, queue="q")
        processes(world, folder, *("a.toml", "b.toml") * 2)
    for name, record in before.items():
        changes = [what for what, _ in await log_of(world, name)]
        assert changes == (["created", "updated"] if name.startswith("a") else ["created"])
        after = await world.record(name)
        assert [after[each] for each in STANDING] == [record[each] for each in STANDING]


async def test_one_that_is_killed_in_the_middle_is_made_up_for(world: World) -> None:
    with short_folder() as folder, counting(world) as count:
        write_file(folder / "a.toml", 800)
        with Command("apply", "a.toml", "--redis", world.url, "--namespace", world.namespace, cwd=folder) as command:
            command.line("^= 0 unchanged")
            wait_for(lambda: count() >= 50)
            command.send(signal.SIGKILL)
            assert command.wait() == -signal.SIGKILL
        done = count()
        assert 50 <= done < 800
        before = [await world.record(f"a-{n}") for n in range(50)]
        processes(world, folder, *["a.toml"] * 3)
        assert count() == 800
    assert [await world.record(f"a-{n}") for n in range(50)] == before
