"""Whether a request may come in: `headgate.http.access`, asked about a request of aiohttp."""

from __future__ import annotations

from typing import Final

from aiohttp import hdrs, web

from headgate.errors import InvalidRequest
from headgate.http.access import Caller, Role
from headgate.http.context import CONTEXT
from headgate.http.query import header
from headgate.http.route import IF_MATCH, IF_NONE_MATCH, Route

_SAFE: Final = frozenset({hdrs.METH_GET, hdrs.METH_HEAD})
_ONCE: Final = ("Authorization", "Origin", "Sec-Fetch-Site")
_NOBODY: Final = Caller("", Role.VIEWER)


def admit(request: web.Request, route: Route) -> Caller:
    """Who calls, if that may be.

    Raises:
        HostNotAllowed: the request was meant for another server.
        CrossSite: another site's page made a browser send it.
        Unauthorized: nobody known calls.
        Forbidden: the caller may not do that.
        ReadOnly: nobody may write here.
        InvalidRequest: a header that says one thing is there twice, or a condition that the route does not heed.
    """
    access = request.app[CONTEXT].access
    _check_headers(request, route)
    sends = request.method not in _SAFE
    if route.role is None and not sends:  # a probe, or the contract: there is nothing to protect
        return _NOBODY
    access.check_browser(request.headers, writes=sends)
    caller = None if route.role is None else access.identify(request.headers, request.cookies)
    access.check(caller, role=route.role, writes=route.writes)
    return caller or _NOBODY


def _check_headers(request: web.Request, route: Route) -> None:
    for name in _ONCE:
        header(request, name)
    if route.writes and IF_MATCH not in route.headers:
        for name in (IF_MATCH.name, IF_NONE_MATCH.name):
            if name in request.headers:  # whoever insists on a revision must not be passed over
                raise InvalidRequest(f"{name} is not heeded by this route", field=name)
