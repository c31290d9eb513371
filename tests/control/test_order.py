"""The list by next run: what is looked at next first, those without a next run last, each once while nothing fires."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import InvalidCursor, InvalidRequest
from headgate.store.paging import write_cursor
from tests.control.acts import MINUTE, on_duty
from tests.support.worlds import START_MS, World


async def listed(world: World, *, limit: int, **filters: Any) -> list[str]:
    ids: list[str] = []
    cursor = None
    while True:
        page = await world.store.schedules.list(limit=limit, cursor=cursor, order="next_run", **filters)
        assert len(page.schedules) <= limit
        ids += [schedule.id for schedule in page.schedules]
        if (cursor := page.next_cursor) is None:
            return ids


async def several(world: World) -> None:
    await world.put("hourly", spec="@every:3600000")
    await world.put("often", spec="@every:1000", labels={"team": "red"})
    for name in ("c", "a", "b"):
        await world.put(name, spec="@every:60000", labels={"team": "red"})
    await world.put("held", spec="@every:1000")
    await world.store.control.pause("held")
    await world.put("over", spec="@every:1000", ends_at_ms=START_MS)


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, ["often", "a", "b", "c", "hourly", "held", "over"]),
        ({"label": "team=red"}, ["often", "a", "b", "c"]),
        ({"paused": True}, ["held"]),
        ({"prefix": "o"}, ["often", "over"]),
        ({"prefix": "none"}, []),
    ],
)
async def test_the_next_run_comes_first(moved: World, filters: dict[str, Any], ids: list[str], limit: int) -> None:
    await several(moved)
    assert sorted(await listed(moved, limit=limit, **filters)) == sorted(ids)
    rest = {"held", "over"}
    firm = [name for name in await listed(moved, limit=limit, **filters) if name not in rest]
    assert firm == [name for name in ids if name not in rest]


async def test_a_page_goes_on_behind_one_that_has_gone_or_moved(moved: World) -> None:
    await several(moved)
    page = await moved.store.schedules.list(limit=2, order="next_run")
    assert [schedule.id for schedule in page.schedules] == ["often", "a"]
    await moved.store.schedules.delete("a")
    await moved.store.schedules.delete("often")
    page = await moved.store.schedules.list(limit=2, cursor=page.next_cursor, order="next_run")
    assert [schedule.id for schedule in page.schedules] == ["b", "c"]


async def test_many_at_one_instant_are_met_once_each(moved: World) -> None:
    names = [f"s{number:04}" for number in range(450)]
    for name in names:
        await moved.put(name, spec="@every:60000")
    assert await listed(moved, limit=37) == names


async def test_an_unknown_order_and_a_forged_cursor_are_refused(moved: World) -> None:
    with pytest.raises(InvalidRequest, match="order must be one of id, next_run") as caught:
        await moved.store.schedules.list(order="name")
    assert caught.value.field == "order"
    by_id = await _cursor(moved)
    for position in ("", "x", "1", "1 ", " a", "1 a b", "-1 a", "- a b", "1e3 a", "nan a", f"{'9' * 16} a", "1 -/"):
        with pytest.raises(InvalidCursor):
            await moved.store.schedules.list(order="next_run", cursor=write_cursor("schedules-next", position))
    with pytest.raises(InvalidCursor):
        await moved.store.schedules.list(order="next_run", cursor=by_id)


async def _cursor(world: World) -> str:
    await several(world)
    cursor = (await world.store.schedules.list(limit=1)).next_cursor
    assert cursor is not None
    return cursor


async def test_the_record_says_how_late_the_last_tick_was(moved: World) -> None:
    scheduler = await on_duty(moved)
    await moved.put("s", spec="@every:60000")
    schedule = await moved.store.schedules.get("s")
    assert (schedule.last_tick_ms, schedule.last_lateness_ms) == (None, None)
    assert (schedule.reading, schedule.zone) == ("Every minute, counted from 1970-01-01 00:00 UTC", "")
    await moved.advance(MINUTE + 250)
    await scheduler.sweep()
    schedule = await moved.store.schedules.get("s")
    assert (schedule.last_tick_ms, schedule.last_lateness_ms) == (START_MS + MINUTE, 250)
    await moved.advance(MINUTE)
    await moved.put("s", spec="CRON_TZ=Europe/Berlin 0 9 * * *")
    schedule = await moved.store.schedules.get("s")
    assert (schedule.last_tick_ms, schedule.last_lateness_ms) == (START_MS + 2 * MINUTE, 250)
    assert (schedule.reading, schedule.zone) == ("At 09:00 (Europe/Berlin)", "Europe/Berlin")
