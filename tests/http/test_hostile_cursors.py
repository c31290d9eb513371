"""Cursors of every list, spoilt, forged and mistaken for those of another: a page or a 400, never a 500."""

from __future__ import annotations

import base64
import random
import string
from typing import Any

import pytest

from headgate.store.paging import write_cursor
from tests.http.client import Client, body_of, problem_of
from tests.http.lists import LISTS, Edge, Listed, name_of
from tests.support.worlds import World

LETTERS = string.ascii_letters + string.digits + "-_="
POSITIONS = [
    *(
        "",
        " ",
        "0",
        "-1",
        "1.5",
        "1e3",
        "9" * 15,
        "9" * 16,
        "9" * 400,
        "nan",
        "inf",
        "x",
        "\0",
        "\n",
        "a\nb",
        "*",
        "(",
        "[",
    ),
    *(
        "a" * 5_000,
        "1 x",
        "x 1",
        "-0",
        "+1",
        "0x10",
        " 1",
        "1 ",
        "\x7f",
        "]",
        "%",
        "{s}",
        "1,2",
        "[1]",
        '{"a": 1}',
        "-inf",
    ),
]


async def page(edge: Edge, listed: Listed, cursor: str) -> Any:
    params = {**listed.params, "limit": "1", "cursor": cursor}
    return await edge.api.get(listed.path.replace("{id}", "s"), params=params)


async def first_cursor(edge: Edge, listed: Listed) -> str:
    """That of the second page."""
    await listed.fill(edge)
    cursor: str | None = (await body_of(await page(edge, listed, "")))["next_cursor"]
    assert cursor
    return cursor


def parts(cursor: str) -> tuple[str, str]:
    """Scope and position; nobody outside may rely on it."""
    scope, _, position = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().partition("\n")
    return scope, position


def spoilt(cursor: str) -> list[str]:
    by = random.Random(cursor)
    found = [cursor[:place] for place in range(1, len(cursor))]
    for _ in range(100):
        place = by.randrange(len(cursor))
        found.append(cursor[:place] + by.choice(LETTERS) + cursor[place + 1 :])
    return [
        *found,
        cursor + "=",
        cursor + "A",
        cursor * 2,
        cursor.swapcase(),
        cursor[::-1],
        f" {cursor}",
        f"{cursor}\n",
    ]


@pytest.mark.parametrize("listed", LISTS, ids=name_of)
async def test_no_cursor_is_a_500(moved_api: Client, moved: World, listed: Listed) -> None:
    """One whose place was changed and that is whole otherwise may show a page; any other is refused."""
    edge = Edge(moved_api, moved)
    cursor = await first_cursor(edge, listed)
    scope, position = parts(cursor)
    around = [position[:-1], f"{position}0", f"{position} ", f" {position}", f"-{position}", position.swapcase()]
    forged = [
        write_cursor(scope, each) for each in (*POSITIONS, *around, *(f"{position} {each}" for each in POSITIONS))
    ]
    forged += [write_cursor(f"{scope}{end}", position) for end in ("x", "/", "\n")]
    for each in (*spoilt(cursor), *forged):
        response = await page(edge, listed, each)
        if response.status == 200:
            assert parts(each)[0] == scope
            await body_of(response)
        else:
            await problem_of(response, 400, "invalid_cursor", "cursor")


async def test_no_list_takes_the_cursor_of_another(moved_api: Client, moved: World) -> None:
    edge = Edge(moved_api, moved)
    cursors = [await first_cursor(edge, listed) for listed in LISTS]
    for listed, own in zip(LISTS, cursors, strict=True):
        assert (await page(edge, listed, own)).status == 200
        for other in cursors:
            if other != own:
                await problem_of(await page(edge, listed, other), 400, "invalid_cursor", "cursor")
