"""The application: its routes, what every request passes on its way to one, and the headers that every answer carries.

It keeps nothing of the store: everything is read from and written to it, under its deadlines, so any number of
processes may serve the same namespace.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from headgate.app import Headgate
from headgate.errors import Code, InvalidRequest, StoreUnavailable, TooLarge
from headgate.health import check_health
from headgate.hooks import Hooks
from headgate.http import assets
from headgate.http.access import Access
from headgate.http.body import check_length, preload
from headgate.http.context import CALLER, CONTEXT, Context
from headgate.http.contract import DOCUMENTS
from headgate.http.documents import Documents
from headgate.http.guard import admit
from headgate.http.hub import Follow
from headgate.http.metrics import measured
from headgate.http.problems import REQUEST_ID_HEADER, STATUS, problems, refuse, request_id
from headgate.http.route import ROUTE, Route
from headgate.http.shared import Shared
from headgate.http.storetime import HEADER, StoreTime
from headgate.http.stream import add_hub
from headgate.http.table import ROUTES
from headgate.http.turns import Overloaded, Turns
from headgate.metrics import observe_request
from headgate.models import Health
from headgate.names import shown
from headgate.settings import MAX_BODY_BYTES
from headgate.store import Store

SERVER_NAME: Final = "headgate"
SECURITY_HEADERS: Final = {hdrs.CACHE_CONTROL: "no-store", "X-Content-Type-Options": "nosniff"}
_CONTINUE: Final = "100-continue"
_MAX_STRANGERS_BYTES: Final = 4_096
"""Of a body that anybody may send: a token has at most 1,024 characters."""
_ROOT_PATH: Final = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~-]+)*")
_STORE_TIME: Final = web.AppKey("store_time", StoreTime)
_TURNS: Final = web.AppKey("turns", Turns)
_BY_HANDLER: Final[Mapping[Handler, Route]] = {route.handler: route for route in ROUTES}


class _ClassOnly(logging.Filter):
    """Of an exception its class: the traceback of a malformed request quotes it, perhaps words of a body among it."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[0]:
            record.msg = f"{record.msg}: {record.exc_info[0].__name__}"
        record.exc_info = record.exc_text = None
        return True


_LOGGER: Final = logging.getLogger("headgate.http")
_LOGGER.addFilter(_ClassOnly())

SERVER_OPTIONS: Final[Mapping[str, Any]] = {"access_log": None, "logger": _LOGGER, "keepalive_timeout": 15.0}
"""What to start the server with, as in ``AppRunner(create_app(app), **SERVER_OPTIONS)``.

An access log would hold query strings, and aiohttp's own logger the text of malformed requests. A connection is closed
after so many seconds without a whole request: one that sends its head byte by byte included.
"""


def create_app(
    app: Headgate, *, access: Access | None = None, environment: str = "", root_path: str = ""
) -> web.Application:
    """The API of an application's namespace, to be served or mounted below another aiohttp application.

    Args:
        app: whose namespace; to be opened and closed by the caller. While it is not open, the API answers 503.
        access: who may do what; whoever reaches it may do everything unless given.
        environment: a name for people, as ``production``.
        root_path: what a proxy in front cuts off the paths it passes on, as ``/headgate``.

    Raises:
        InvalidRequest: `root_path` is no path.
    """

    def open_store() -> Store:
        try:
            return app.store
        except InvalidRequest:
            raise StoreUnavailable("the application that this API belongs to is not open") from None

    return make_api(
        open_store, app.follow_hints, app.hooks, access=access, environment=environment, root_path=root_path
    )


def make_api(
    open_store: Callable[[], Store],
    follow: Follow,
    hooks: Hooks | None = None,
    *,
    access: Access | None = None,
    environment: str = "",
    root_path: str = "",
) -> web.Application:
    """The same of a store.

    Args:
        open_store: gives it, and raises `StoreUnavailable` while there is none.
        follow: what tells of changes, as `headgate.store.hints.Hints.follow`.
        hooks: what an application has to say of runs that are asked for.
        access: as for `create_app`.
        environment: as for `create_app`.
        root_path: as for `create_app`.
    """
    if not _ROOT_PATH.fullmatch(root_path):
        raise InvalidRequest(
            f"root_path {shown(root_path)} must be a path like /headgate, of A-Z a-z 0-9 . _ ~ -", field="root_path"
        )
    api = web.Application(middlewares=[_routed, measured, problems, _guarded, _timed], client_max_size=MAX_BODY_BYTES)

    async def look() -> Health:
        return await check_health(open_store())

    api[CONTEXT] = Context(open_store, hooks or Hooks(), access or Access.open(), environment, root_path, Shared(look))
    api[DOCUMENTS] = Documents(ROUTES)
    api[_TURNS] = Turns()
    api[_STORE_TIME] = StoreTime(lambda: open_store().time_ms())
    add_hub(api, follow, lambda: open_store().leases.overview())  # noqa: PLW0108 - there may be no store yet
    api.on_response_prepare.append(_headers_by(api[_STORE_TIME]))
    api.add_routes(
        web.RouteDef(route.method, _pattern(route.path), route.handler, {"expect_handler": _heed_expectation})
        for route in ROUTES
    )
    api.add_routes(
        web.RouteDef(route.method, route.path, route.handler, {**route.kwargs, "expect_handler": _heed_expectation})
        for route in assets.ROUTES
    )
    return api


def _pattern(path: str) -> str:
    """Not the default pattern of a segment: an id may hold braces, and one that breaks its rule is to be told so."""
    return path.replace("}", ":[^/]+}")


@web.middleware
async def _routed(request: web.Request, handler: Handler) -> web.StreamResponse:
    if route := _BY_HANDLER.get(request.match_info.handler):
        request[ROUTE] = route
    return await handler(request)


@web.middleware
async def _timed(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Have store time asked for beside what the handler asks. Only the first answers of all wait for it."""
    route, times = request.get(ROUTE), request.app[_STORE_TIME]
    asking = times.refresh() if route and route.store else None
    try:
        return await handler(request)
    finally:
        if asking is not None and times.now_ms is None:
            await asking


@web.middleware
async def _guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Who may, and then in turns. The body is read before: a slow sender has no turn to hold."""
    route = request.get(ROUTE)
    if route is None:
        return await handler(request)
    request[CALLER] = admit(request, route)
    turns = request.app[_TURNS]
    if route.urgent:
        if not route.store:
            return await handler(request)
        async with turns.probe():
            return await handler(request)
    if route.body is None or not request.body_exists:
        return await _in_turn(request, route, handler)
    if route.role is None and not 0 <= (request.content_length or MAX_BODY_BYTES) <= _MAX_STRANGERS_BYTES:
        raise TooLarge(f"body must say its length, of at most {_MAX_STRANGERS_BYTES} bytes", field="body")
    async with turns.body(request.content_length):
        await _invite(request)
        await preload(request)
        return await _in_turn(request, route, handler)


async def _in_turn(request: web.Request, route: Route, handler: Handler) -> web.StreamResponse:
    async with request.app[_TURNS].turn(writes=route.writes):
        if request.transport is None:
            raise Overloaded("its client went away before its turn came")
        return await handler(request)


def _headers_by(store_time: StoreTime) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    async def add(request: web.Request, response: web.StreamResponse) -> None:
        for name, value in SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers[REQUEST_ID_HEADER] = request_id(request)
        response.headers[hdrs.SERVER] = SERVER_NAME  # and not which library of which version
        if (now_ms := store_time.now_ms) is not None:
            response.headers[HEADER] = str(now_ms)

    return add


async def _heed_expectation(request: web.Request) -> web.Response | None:
    """Refuse an expectation that is not known, which aiohttp asks for before any middleware."""
    if request.headers[hdrs.EXPECT].lower() == _CONTINUE:
        return None
    observe_request(request.method, "", STATUS[Code.EXPECTATION_FAILED], 0)
    return refuse(request, Code.EXPECTATION_FAILED, "only 100-continue can be expected here")


async def _invite(request: web.Request) -> None:
    """Have a client that waits for it send its body: now that it may, and that there is room."""
    if request.headers.get(hdrs.EXPECT, "").lower() == _CONTINUE:
        check_length(request)
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun
