"""What a handler takes from a request besides its body: ids, query parameters, headers."""

from __future__ import annotations

import re
from typing import Final

from aiohttp import web

from headgate.errors import InvalidRequest
from headgate.http.context import caller_of
from headgate.http.route import IDEMPOTENCY_KEY, WHO, Parameter, route_of
from headgate.names import check_idempotency_key, check_schedule_id, shown
from headgate.settings import MAX_WHO

SCHEDULE_PATH: Final = "/api/v1/periodic/{id}"

_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_FLAGS: Final = {"true": True, "false": False}


class Query:
    """The query parameters of a request; what its route does not take is refused: no typing error goes unnoticed.

    Raises:
        InvalidRequest: a parameter is unknown, or given twice.
    """

    def __init__(self, request: web.Request) -> None:
        self._known: dict[str, Parameter] = {parameter.name: parameter for parameter in route_of(request).query}
        self._values: dict[str, str] = {}
        for name, value in request.query.items():
            label = shown(name)[1:-1]
            if name not in self._known:
                takes = ", ".join(self._known) or "none"
                raise InvalidRequest(f"query parameter {label} is unknown; this route takes: {takes}", field=label)
            if name in self._values:
                raise InvalidRequest(f"query parameter {label} is given twice", field=label)
            self._values[name] = value

    def text(self, name: str) -> str | None:
        """As given; None when absent, and `InvalidRequest` where it must not be."""
        if self._known[name].required and name not in self._values:
            raise InvalidRequest(f"{name} is required", field=name)
        return self._values.get(name)

    def integer(self, name: str) -> int:
        """A whole number, or its default; its range is for the store to judge."""
        text = self.text(name)
        if text is None:
            default = self._known[name].default
            assert isinstance(default, int)
            return default
        if not _INTEGER.fullmatch(text):
            raise InvalidRequest(f"{name} {shown(text)} is not a whole number of at most 18 digits", field=name)
        return int(text)

    def flag(self, name: str) -> bool | None:
        """``true`` or ``false``; None when absent."""
        text = self.text(name)
        if text is None:
            return None
        if text not in _FLAGS:
            raise InvalidRequest(f"{name} {shown(text)} must be true or false", field=name)
        return _FLAGS[text]

    def cursor(self) -> str | None:
        """Where to go on; an empty one means the beginning, as an absent one does."""
        return self.text("cursor") or None


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
    return check_idempotency_key(header(request, IDEMPOTENCY_KEY))


def who(request: web.Request, by: str | None = None) -> str:
    """Who asks, for the logs of a schedule: the body's `by`, else the header; '' for nobody.

    Where tokens say who calls, it is the token's name, and what the request says stands in brackets after it: it proves
    nothing, but several people may share a token.

    Raises:
        InvalidRequest: it is too long, or has a character that cannot be printed.
    """
    text, field = (header(request, WHO.name) or "", WHO.name) if by is None else (by, "by")
    if len(text) > MAX_WHO or not text.isprintable():
        raise InvalidRequest(f"{field} must be at most {MAX_WHO} printable characters", field=field)
    name = caller_of(request).name
    if not name:
        return text
    full = f"{name} ({text})" if text and text != name else name
    return full if len(full) <= MAX_WHO else f"{full[: MAX_WHO - 2]}…)"
