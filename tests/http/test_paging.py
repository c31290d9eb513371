"""Every list of the API, page by page while others write: what stays in it is met once, in its order.

What comes or goes meanwhile may be met, but never twice.
"""

from __future__ import annotations

from typing import Any

import pytest

from headgate.http.route import CURSOR
from headgate.http.table import ROUTES
from tests.http.client import Client, pages
from tests.http.lists import LISTS, Edge, Listed, name_of
from tests.support.worlds import World

STIRRED = 20
"""How many pages are followed by writes: a list that grows as fast as it is read would have no end."""


def test_every_list_is_read_here() -> None:
    assert {route.path for route in ROUTES if CURSOR in route.query} == {listed.path for listed in LISTS}


async def read(edge: Edge, listed: Listed, limit: int, *, stirred: bool = False) -> list[Any]:
    """The names of all entries, in the order in which they are met."""
    seen: list[Any] = []
    turn = 0
    url = listed.path.replace("{id}", "s")
    async for page in pages(edge.api, url, listed.field, limit=str(limit), **listed.params):
        names = [entry[listed.name] for entry in page]
        assert len(names) <= limit
        seen += names
        turn += 1
        assert turn < 200, "a list that never ends"
        if stirred and names and turn <= STIRRED:
            await listed.stir(edge, turn, names[-1])
    return seen


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("listed", LISTS, ids=name_of)
async def test_what_stays_in_a_list_is_met_once_and_in_its_order(
    moved_api: Client, moved: World, listed: Listed, limit: int
) -> None:
    edge = Edge(moved_api, moved)
    await listed.fill(edge)
    there = await read(edge, listed, 50)
    assert len(there) == 10
    seen = await read(edge, listed, limit, stirred=True)
    assert [name for name in seen if name in there] == there
    assert len(set(seen)) == len(seen), "something was met twice"
