"""The contract as it is sent: written once for each path below which clients find the API, since that takes a while."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from headgate.http.openapi import describe
from headgate.http.page import render
from headgate.http.route import Route

_MAX_ROOTS: Final = 8
"""There is one, or two where an application mounts an API twice; beyond that nothing is kept."""


class Documents:
    """Those of one table.

    Args:
        routes: the table.
    """

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self._routes = routes
        self._written: dict[tuple[str, str], bytes] = {}

    def as_json(self, root: str) -> bytes:
        """For programs."""
        return self._kept("json", root, lambda document: msgspec.json.encode(document) + b"\n")

    def as_page(self, root: str) -> bytes:
        """For people."""
        return self._kept("page", root, lambda document: render(document).encode())

    def _kept(self, form: str, root: str, write: Callable[[Mapping[str, Any]], bytes]) -> bytes:
        if (form, root) not in self._written:
            if len(self._written) >= _MAX_ROOTS:
                self._written.clear()
            self._written[form, root] = write(describe(self._routes, root))
        return self._written[form, root]
