"""Gaps a page at a time: oldest first, each met once whatever becomes of them meanwhile."""

from __future__ import annotations

import pytest

from headgate.errors import InvalidCursor, InvalidRequest
from headgate.models import Gap, GapPage
from headgate.settings import MAX_GAPS
from headgate.store.paging import write_cursor
from tests.control.acts import MINUTE, at, pause, resume, sweep
from tests.support.worlds import World


async def with_gaps(world: World, count: int, *, minutes: int = 1) -> None:
    """Each of so many minutes, and a minute that ran after each."""
    await world.put("a")
    for _ in range(count):
        await one_more(world, minutes)


async def one_more(world: World, minutes: int = 1) -> None:
    await pause(world)
    await world.advance(minutes * MINUTE)
    await resume(world)
    await world.advance(MINUTE)
    await sweep(world)


def told(page: GapPage) -> list[tuple[int, int]]:
    return [((gap.from_ms - at(0)) // MINUTE, (gap.until_ms - at(0)) // MINUTE) for gap in page.gaps]


async def test_pages_follow_each_other_oldest_first_until_there_is_no_more(moved: World) -> None:
    await with_gaps(moved, 33)
    first = await moved.store.backfills.gaps("a")
    assert told(first) == [(minute, minute) for minute in range(1, 61, 2)], "thirty unless told"
    assert first.next_cursor is not None
    rest = await moved.store.backfills.gaps("a", limit=3, cursor=first.next_cursor)
    assert (told(rest), rest.next_cursor) == ([(61, 61), (63, 63), (65, 65)], None)
    assert all(gap.count == 1 for gap in (*first.gaps, *rest.gaps))
    whole = await moved.store.backfills.gaps("a", limit=MAX_GAPS)
    assert (whole.gaps, whole.next_cursor) == ([*first.gaps, *rest.gaps], None)


async def test_of_an_id_that_never_existed_there_are_none(moved: World) -> None:
    assert await moved.store.backfills.gaps("nobody") == GapPage(gaps=[], next_cursor=None)


@pytest.mark.parametrize("limit", [0, -1, MAX_GAPS + 1, True, "3"])
async def test_a_limit_is_1_to_100(moved: World, limit: int) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await moved.store.backfills.gaps("a", limit=limit)
    assert refused.value.field == "limit"


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "?", "Z2Fwcy9h", write_cursor("events/a", "60000"), write_cursor("gaps/b", "60000")),
        *(write_cursor("gaps/a", position) for position in ("x", "-1", "1.5", "1e3", "9" * 16)),
    ],
)
async def test_a_cursor_of_another_list_or_none_is_refused(moved: World, cursor: str) -> None:
    await with_gaps(moved, 1)
    with pytest.raises(InvalidCursor):
        await moved.store.backfills.gaps("a", cursor=cursor)


async def first_two(world: World) -> tuple[list[Gap], str]:
    """Of gaps of minutes 1-5, 7-11, 13-17 and 19-23 the first two were met."""
    await with_gaps(world, 4, minutes=5)
    page = await world.store.backfills.gaps("a", limit=2)
    assert told(page) == [(1, 5), (7, 11)]
    assert page.next_cursor is not None
    return page.gaps, page.next_cursor


@pytest.mark.parametrize(
    "made_up",
    [(6, 7), (8, 9), (10, 11), (6, 11), (0, 11), (0, 8)],
    ids=["its head", "its middle", "its tail", "the last met", "all that were met", "up to its middle"],
)
async def test_one_that_was_met_is_not_met_again_whatever_is_left_of_it(moved: World, made_up: tuple[int, int]) -> None:
    _, cursor = await first_two(moved)
    assert (await moved.store.backfills.run("a", at(made_up[0]), at(made_up[1]))).ticks
    rest = await moved.store.backfills.gaps("a", cursor=cursor)
    assert (told(rest), rest.next_cursor) == ([(13, 17), (19, 23)], None)


async def test_one_that_was_not_met_is_met_as_it_is_by_then(moved: World) -> None:
    """Shrunk and in two, or not at all where nothing is left; and what came meanwhile."""
    _, cursor = await first_two(moved)
    await moved.store.backfills.run("a", at(12), at(13))
    await moved.store.backfills.run("a", at(14), at(15))
    await moved.store.backfills.run("a", at(18), at(23))
    await one_more(moved, 5)
    rest = await moved.store.backfills.gaps("a", cursor=cursor)
    assert told(rest) == [(14, 14), (16, 17), (25, 29)]


async def test_the_newest_that_grows_meanwhile_is_met_once(moved: World) -> None:
    await with_gaps(moved, 2)
    await pause(moved)
    await moved.advance(MINUTE)
    await resume(moved)
    page = await moved.store.backfills.gaps("a", limit=1)
    second = await moved.store.backfills.gaps("a", limit=1, cursor=page.next_cursor)
    assert (told(page), told(second)) == ([(1, 1)], [(3, 3)])
    for _ in range(2):
        await pause(moved)
        await moved.advance(MINUTE)
        await resume(moved)
    rest = await moved.store.backfills.gaps("a", limit=1, cursor=second.next_cursor)
    assert (told(rest), rest.gaps[0].count, rest.next_cursor) == ([(5, 7)], 3, None)


async def test_the_oldest_that_are_forgotten_meanwhile_hide_none(moved: World) -> None:
    await with_gaps(moved, MAX_GAPS)
    page = await moved.store.backfills.gaps("a", limit=10)
    for _ in range(12):
        await one_more(moved)
    rest = await moved.store.backfills.gaps("a", limit=MAX_GAPS, cursor=page.next_cursor)
    assert told(rest)[0] == (25, 25), "the first twelve are forgotten, ten of which were met"
    assert len(rest.gaps) == MAX_GAPS
