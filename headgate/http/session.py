"""The console's log-in: ``/api/v1/session``. A token is shown once; a cookie that no script can read stands for it."""

from __future__ import annotations

from typing import Final, TypedDict

import msgspec
from aiohttp import web

from headgate.errors import Code
from headgate.http.access import Caller, Role, log_in, log_out
from headgate.http.body import NoFields, answer, read_body, read_nothing
from headgate.http.context import CONTEXT, caller_of, link
from headgate.http.query import Query
from headgate.http.route import Route, reading


class LogIn(msgspec.Struct, frozen=True):
    """The body of a log-in.

    Attributes:
        token: as it was given out.
    """

    token: str


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls, and what that caller may do here.

    Attributes:
        name: the token's; '' where nobody is asked.
        role: the token's; where nobody is asked, ``operator``.
        asked: whether callers have to show a token.
    """

    name: str
    role: Role
    asked: bool


async def get_session(request: web.Request) -> web.Response:
    """Who calls."""
    Query(request)
    return answer(_session(request, caller_of(request)))


async def begin_session(request: web.Request) -> web.Response:
    """Show a token, and get a session in a cookie."""
    Query(request)
    body = await read_body(request, LogIn)
    access = request.app[CONTEXT].access
    caller, cookie = log_in(access, body.token, remote=request.remote or "", **_seen(request))
    response = answer(_session(request, caller))
    response.set_cookie(**cookie)
    return response


async def end_session(request: web.Request) -> web.Response:
    """Forget the session."""
    Query(request)
    await read_nothing(request)
    response = web.Response(status=204)
    response.set_cookie(**log_out(request.app[CONTEXT].access, **_seen(request)))
    return response


def _session(request: web.Request, caller: Caller) -> Session:
    return Session(name=caller.name, role=caller.role, asked=request.app[CONTEXT].access.tokens is not None)


class _Seen(TypedDict):
    path: str
    https: bool


def _seen(request: web.Request) -> _Seen:
    """How the browser sees this server, as far as its request says."""
    proxied = request.headers.get("X-Forwarded-Proto", "").partition(",")[0].strip().lower() == "https"
    return {"path": link(request, "") or "/", "https": request.secure or proxied}


_PATH: Final = "/api/v1/session"

ROUTES: Final = (
    reading(_PATH, get_session, Session, store=False),
    Route(
        method="POST",
        path=_PATH,
        handler=begin_session,
        answers={200: Session},
        body=LogIn,
        body_required=True,
        returns=("Set-Cookie",),
        errors=(Code.UNAUTHORIZED, Code.TOO_MANY_ATTEMPTS),
        role=None,
        store=False,
    ),
    Route(
        method="DELETE",
        path=_PATH,
        handler=end_session,
        answers={204: None},
        body=NoFields,
        returns=("Set-Cookie",),
        role=None,
        store=False,
    ),
)
