"""The application: routes, error handling, and the headers that every answer carries.

It keeps no state of its own: everything is read from and written to the store, under the store's deadlines, so any
number of processes may serve the same namespace. It authenticates nobody; whoever may reach it may do everything.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import hdrs, web

from headgate.hooks import Hooks
from headgate.http import control, history, jobs, periodic, quarantine, queues, specs, system, workers
from headgate.http.problems import REQUEST_ID_HEADER, problem, problems, request_id
from headgate.http.query import HOOKS, STORE
from headgate.settings import MAX_BODY_BYTES
from headgate.store import Store

_SECURITY_HEADERS: Final = {
    hdrs.CACHE_CONTROL: "no-store",
    "X-Content-Type-Options": "nosniff",
    hdrs.SERVER: "headgate",
}


class _ClassOnly(logging.Filter):
    """Of an exception its class: the traceback of a malformed request quotes it, perhaps words of a body among it."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[0]:
            record.msg = f"{record.msg}: {record.exc_info[0].__name__}"
        record.exc_info = record.exc_text = None
        return True


_LOGGER: Final = logging.getLogger("headgate.http")
_LOGGER.addFilter(_ClassOnly())

SERVER_OPTIONS: Final[Mapping[str, Any]] = {"access_log": None, "logger": _LOGGER}
"""What to start the server with, as in ``AppRunner(create_app(store), **SERVER_OPTIONS)``.

An access log would hold query strings, and aiohttp's own logger the text of malformed requests.
"""


def create_app(store: Store, hooks: Hooks | None = None) -> web.Application:
    """The API of one namespace.

    Args:
        store: the namespace. The application owns no connection: the caller opens and closes the client.
        hooks: what an application has to say of runs that are asked for.
    """
    app = web.Application(middlewares=[problems], client_max_size=MAX_BODY_BYTES)
    app[STORE] = store
    app[HOOKS] = hooks or Hooks()
    app.on_response_prepare.append(_add_headers)
    resources = (periodic, control, history, specs, jobs, queues, quarantine, workers, system)
    app.add_routes(_heedful(route) for resource in resources for route in resource.ROUTES)
    return app


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_SECURITY_HEADERS)
    response.headers.setdefault(REQUEST_ID_HEADER, request_id(request))


def _heedful(route: web.RouteDef) -> web.RouteDef:
    return web.RouteDef(route.method, route.path, route.handler, {**route.kwargs, "expect_handler": _heed_expectation})


async def _heed_expectation(request: web.Request) -> web.Response | None:
    """As aiohttp does it, but with a problem for an expectation that is not known."""
    if request.headers[hdrs.EXPECT].lower() != "100-continue":
        return problem(request_id(request), 417, "expectation_failed", "only 100-continue can be expected here")
    await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.writer.output_size = 0  # the answer itself has not begun
    return None
