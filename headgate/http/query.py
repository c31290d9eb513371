"""What a handler takes from a request besides its body: the store, ids, query parameters, headers."""

from __future__ import annotations

import re
from typing import Final

from aiohttp import web

from headgate.errors import InvalidRequest
from headgate.hooks import Hooks
from headgate.names import check_idempotency_key, check_schedule_id, shown
from headgate.settings import MAX_WHO
from headgate.store import Store

STORE: Final = web.AppKey("store", Store)
HOOKS: Final = web.AppKey("hooks", Hooks)

# Not the default pattern of a segment: an id may hold braces.
SCHEDULE_PATH: Final = "/api/v1/periodic/{id:[^/]+}"
WHO_HEADER: Final = "X-Headgate-By"

_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_FLAGS: Final = {"true": True, "false": False}


class Query:
    """The query parameters of a request; all that is not asked for is refused, so that no typing error goes unnoticed.

    Args:
        request: whose query.
        allowed: the parameters this route takes.

    Raises:
        InvalidRequest: a parameter is unknown, or given twice.
    """

    def __init__(self, request: web.Request, *allowed: str) -> None:
        self._values: dict[str, str] = {}
        for name, value in request.query.items():
            label = shown(name)[1:-1]
            if name not in allowed:
                takes = ", ".join(allowed) or "none"
                raise InvalidRequest(f"query parameter {label} is unknown; this route takes: {takes}", field=label)
            if name in self._values:
                raise InvalidRequest(f"query parameter {label} is given twice", field=label)
            self._values[name] = value

    def text(self, name: str) -> str | None:
        """As given; None when absent."""
        return self._values.get(name)

    def integer(self, name: str, default: int) -> int:
        """A whole number; its range is for the store to judge."""
        text = self._values.get(name)
        if text is None:
            return default
        if not _INTEGER.fullmatch(text):
            raise InvalidRequest(f"{name} {shown(text)} is not a whole number of at most 18 digits", field=name)
        return int(text)

    def instant(self, name: str) -> int:
        """A whole number that must be there."""
        if name not in self._values:
            raise InvalidRequest(f"{name} is required", field=name)
        return self.integer(name, 0)

    def flag(self, name: str) -> bool:
        """``true`` or ``false``, the latter when absent."""
        return self.choice(name) or False

    def choice(self, name: str) -> bool | None:
        """``true`` or ``false``; None when absent."""
        text = self._values.get(name)
        if text is None:
            return None
        if text not in _FLAGS:
            raise InvalidRequest(f"{name} {shown(text)} must be true or false", field=name)
        return _FLAGS[text]

    def cursor(self) -> str | None:
        """Where to go on; an empty one means the beginning, as an absent one does."""
        return self._values.get("cursor") or None


def schedule_id(request: web.Request) -> str:
    """The id in the path; raises `InvalidRequest` if it is none."""
    return check_schedule_id(request.match_info["id"])


def header(request: web.Request, name: str) -> str | None:
    """A header that says one thing; None when absent, and `InvalidRequest` when there are several."""
    values = request.headers.getall(name, [])
    if len(values) > 1:
        raise InvalidRequest(f"{name} is given twice", field=name)
    return values[0] if values else None


def idempotency_key(request: web.Request) -> str:
    """The request's key.

    Raises:
        IdempotencyKeyMissing: there is none, or an empty one.
        InvalidRequest: it breaks its rule, or there are several.
    """
    return check_idempotency_key(header(request, "Idempotency-Key"))


def who(request: web.Request, by: str | None = None) -> str:
    """Who asks, for the logs of a schedule: the body's `by`, else the header; '' for nobody.

    Raises:
        InvalidRequest: it is too long, or has a character that cannot be printed.
    """
    text, field = (header(request, WHO_HEADER) or "", WHO_HEADER) if by is None else (by, "by")
    if len(text) > MAX_WHO or not text.isprintable():
        raise InvalidRequest(f"{field} must be at most {MAX_WHO} printable characters", field=field)
    return text
