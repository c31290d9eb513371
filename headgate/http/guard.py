"""Whether a request may come in: `headgate.http.access`, asked about a request of aiohttp."""

from __future__ import annotations

from typing import Final

from aiohttp import hdrs, web

from headgate.http.access import Caller, Role
from headgate.http.context import CONTEXT
from headgate.http.route import Route

_SAFE: Final = frozenset({hdrs.METH_GET, hdrs.METH_HEAD})
_NOBODY: Final = Caller("", Role.VIEWER)


def admit(request: web.Request, route: Route) -> Caller:
    """Who calls, if that may be.

    Raises:
        HostNotAllowed: the request was meant for another server.
        CrossSite: another site's page made a browser send it.
        Unauthorized: nobody known calls.
        Forbidden: the caller may not do that.
        ReadOnly: nobody may write here.
    """
    access = request.app[CONTEXT].access
    sends = request.method not in _SAFE
    if route.role is None and not sends:  # a probe, or the contract: there is nothing to protect
        return _NOBODY
    access.check_browser(request.headers, writes=sends)
    caller = None if route.role is None else access.identify(request.headers, request.cookies)
    access.check(caller, role=route.role, writes=route.writes)
    return caller or _NOBODY
