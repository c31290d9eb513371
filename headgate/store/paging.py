"""Cursors: opaque, bound to their list, and refused when forged."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from headgate.errors import InvalidCursor, InvalidRequest


def check_limit(limit: int, most: int) -> int:
    """`limit`, if it is 1 to `most`; raises `InvalidRequest` naming the rule."""
    if type(limit) is not int or not 1 <= limit <= most:
        raise InvalidRequest(f"limit {limit} is outside 1 to {most}", field="limit")
    return limit


def foreign_cursor() -> InvalidCursor:
    """What to raise for a cursor that a list never gave out."""
    return InvalidCursor("cursor is not one that this list gave out")


def write_cursor(scope: str, position: str) -> str:
    """A cursor that continues the list `scope` after `position`."""
    return base64.urlsafe_b64encode(f"{scope}\n{position}".encode()).decode().rstrip("=")


def read_cursor(scope: str, cursor: str) -> str:
    """The position a cursor of the list `scope` stands for.

    Raises:
        InvalidCursor: it is not a cursor, or one of another list.
    """
    if not isinstance(cursor, str):
        raise InvalidCursor("cursor must be text")
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found, separator, position = raw.decode("ascii").partition("\n")
    except (binascii.Error, ValueError):
        raise foreign_cursor() from None
    if found != scope or not separator or not position or write_cursor(found, position) != cursor:
        raise foreign_cursor()
    return position


_MAX_DIGITS: Final = 15
"""Digits of a whole number that a double, which is what Lua counts with, holds exactly."""


def is_whole(text: str) -> bool:
    """Whether a position is a whole number as lists give it out."""
    return text.isdecimal() and len(text) <= _MAX_DIGITS


def read_number(scope: str, cursor: str) -> int:
    """The whole number a cursor of the list `scope` stands for; raises `InvalidCursor`, as for `read_cursor`."""
    position = read_cursor(scope, cursor)
    if not is_whole(position):
        raise foreign_cursor()
    return int(position)


_Entry = TypeVar("_Entry")


def page_of(
    entries: Sequence[_Entry], scope: str, cursor: str | None, limit: int, *, name: Callable[[_Entry], str]
) -> tuple[list[_Entry], str | None]:
    """A page of a short list that grows at its head, and the cursor that continues it.

    Args:
        entries: all that is kept, newest first.
        scope: which list.
        cursor: where the page before ended; an entry that is not kept any more ends the list.
        limit: most entries of the page.
        name: what an entry is known by in a cursor, in ASCII.

    Raises:
        InvalidCursor: the cursor is not of this list.
    """
    names = [name(entry) for entry in entries]
    start = 0
    if cursor is not None:
        last = read_cursor(scope, cursor)
        start = names.index(last) + 1 if last in names else len(entries)
    page = list(entries[start : start + limit])
    more = start + limit < len(entries)
    return page, write_cursor(scope, names[start + limit - 1]) if more else None
