"""What a handler takes from a request besides its body: the store, query parameters, the idempotency key."""

from __future__ import annotations

import re
from typing import Final

from aiohttp import web

from headgate.errors import InvalidRequest
from headgate.hooks import Hooks
from headgate.names import check_idempotency_key, shown
from headgate.store import Store

STORE: Final = web.AppKey("store", Store)
HOOKS: Final = web.AppKey("hooks", Hooks)

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

    def flag(self, name: str) -> bool:
        """``true`` or ``false``, the latter when absent."""
        text = self._values.get(name, "false")
        if text not in _FLAGS:
            raise InvalidRequest(f"{name} {shown(text)} must be true or false", field=name)
        return _FLAGS[text]

    def cursor(self) -> str | None:
        """Where to go on; an empty one means the beginning, as an absent one does."""
        return self._values.get("cursor") or None


def idempotency_key(request: web.Request) -> str:
    """The request's key.

    Raises:
        IdempotencyKeyMissing: there is none, or an empty one.
        InvalidRequest: it breaks its rule, or there are several.
    """
    keys = request.headers.getall("Idempotency-Key", [])
    if len(keys) > 1:
        raise InvalidRequest("Idempotency-Key is given twice", field="Idempotency-Key")
    return check_idempotency_key(keys[0] if keys else None)
