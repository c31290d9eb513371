"""Cursors: opaque, bound to their list, and refused when forged."""

from __future__ import annotations

import base64
import binascii

from headgate.errors import InvalidCursor, InvalidRequest


def check_limit(limit: int, most: int) -> int:
    """`limit`, if it is 1 to `most`; raises `InvalidRequest` naming the rule."""
    if type(limit) is not int or not 1 <= limit <= most:
        raise InvalidRequest(f"limit {limit} is outside 1 to {most}", field="limit")
    return limit


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
        raise InvalidCursor("cursor is not one that this list gave out") from None
    if found != scope or not separator or not position or write_cursor(found, position) != cursor:
        raise InvalidCursor("cursor is not one that this list gave out")
    return position
