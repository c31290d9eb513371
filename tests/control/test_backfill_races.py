"""Backfills that are cut off, repeated or made at the same time: every tick once."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from headgate.connect import connect
from headgate.errors import StoreFull
from headgate.models import Backfilled, Gap
from headgate.settings import Settings
from tests.control.acts import DAY, MINUTE, at, gaps, pause, ran, resume, ticks_of
from tests.fault.test_crash_points import Died, MortalClient
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import World

WEEKS = 14 * 24 * 60


async def paused_for(world: World, minutes: int) -> None:
    await world.put("a")
    await pause(world)
    await world.advance(minutes * MINUTE)
    await resume(world)


@pytest.mark.timeout(240)  # long on a busy machine
async def test_two_weeks_in_ten_parts_with_a_crash_in_each_run_every_tick_once(moved: World) -> None:
    """Before a call is sent or after it is carried out, in turn; each part goes on until its range is done."""
    await paused_for(moved, WEEKS)
    parts = [(WEEKS * part // 10, WEEKS * (part + 1) // 10) for part in range(10)]
    deaths = 0
    for number, (after, until) in enumerate(parts):
        client = connect(moved.url, moved.settings)
        mortal: Any = MortalClient(client, 3 + number % 7, after_sending=number % 2 == 0)
        with pytest.raises(Died):
            await through(moved.store_on(mortal), after, until)
        deaths += 1
        await client.aclose()
        await through(moved.store, after, until)
    assert deaths == 10
    assert await ran(moved) == list(range(1, WEEKS + 1))
    assert await moved.gaps("a") == []


async def through(store: Any, after: int, until: int) -> list[Backfilled]:
    done, start = [], at(after)
    while True:
        done.append(await store.backfills.run("a", start, at(until)))
        if done[-1].more_after_ms is None:
            return done
        start = done[-1].more_after_ms


@pytest.mark.parametrize("dies_at", range(1, 10))
@pytest.mark.parametrize("after_sending", [False, True], ids=["before-sending", "after-sending"])
async def test_a_crash_at_any_call_leaves_just_what_did_not_run_in_the_gap(
    moved: World, dies_at: int, after_sending: bool
) -> None:
    await paused_for(moved, 500)
    client = connect(moved.url, moved.settings)
    mortal: Any = MortalClient(client, dies_at, after_sending=after_sending)
    try:
        await moved.store_on(mortal).backfills.run("a", at(0), at(500))
    except Died:
        pass
    else:
        assert dies_at > 8, "two reads, and for each two hundred a read and a call"
    await client.aclose()
    count = len(await ran(moved))
    assert await gaps(moved) == ([(count + 1, 500, "paused")] if count < 500 else [])
    rest = await moved.store.backfills.run("a", at(0), at(500))
    assert len(rest.ticks) == 500 - count
    assert await ran(moved) == list(range(1, 501))


async def test_three_at_the_same_time_run_every_tick_once_and_none_is_refused(moved: World) -> None:
    await paused_for(moved, 700)
    found: list[Backfilled] = []

    async def one(after: int, until: int) -> None:
        found.append(await moved.store.backfills.run("a", at(after), at(until)))

    async with anyio.create_task_group() as tasks:
        for after, until in ((0, 700), (0, 700), (300, 550)):
            tasks.start_soon(one, after, until)
    assert await ran(moved) == list(range(1, 701))
    told = [tick for done in found for tick in done.ticks]
    assert len(told) == len(set(told)) == 700, "each tick is told to one of them"
    assert await moved.gaps("a") == []


async def test_a_double_click_runs_each_tick_once(moved: World) -> None:
    await paused_for(moved, 5)
    found: list[Backfilled] = []

    async def click() -> None:
        found.append(await moved.store.backfills.run("a", at(0), at(5)))

    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(click)
    assert sorted(len(done.ticks) for done in found) == [0, 5]
    assert await ran(moved) == [1, 2, 3, 4, 5]


async def test_a_gap_that_shrank_since_it_was_read_gives_only_what_is_left(moved: World) -> None:
    """The second reads before, and writes after the first took the middle out."""
    await paused_for(moved, 10)
    backfills: Any = moved.store_on(moved.client).backfills
    read = backfills._gaps
    calls = 0

    async def late(schedule_id: str) -> list[tuple[Gap, str]]:
        nonlocal calls
        calls += 1
        answer: list[tuple[Gap, str]] = await read(schedule_id)
        if calls == 2:
            await moved.store.backfills.run("a", at(3), at(6))
        return answer

    backfills._gaps = late
    done = await backfills.run("a", at(0), at(10))
    assert [(tick - at(0)) // MINUTE for tick in done.ticks] == [1, 2, 3, 7, 8, 9, 10]
    assert await ran(moved) == list(range(1, 11))
    assert await moved.gaps("a") == []


async def test_a_full_store_refuses_it_whole_and_the_gap_says_what_is_left(own_server: PrivateServer) -> None:
    world = World(own_server.url, "full", moved=True, settings=Settings())
    try:
        await world.set_clock(at(0))
        await paused_for(world, 5)
        await world.client.config_set("maxmemory", "1")
        with pytest.raises(StoreFull):
            await world.store.backfills.run("a", at(0), at(5))
        with pytest.raises(StoreFull):
            await pause(world)
        await world.client.config_set("maxmemory", "0")
        assert ticks_of(await world.queued()) == []
        assert await gaps(world) == [(1, 5, "paused")]
        assert len((await world.store.backfills.run("a", at(0), at(5))).ticks) == 5
        await world.advance(DAY)
        await check_store(world)
    finally:
        await world.close()
