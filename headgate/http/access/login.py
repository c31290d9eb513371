"""Logging in and out of the console: what ``/api/v1/session`` does, without its requests and answers.

``POST`` is `log_in`, ``DELETE`` is `log_out`; both answer with the cookie they return. ``GET`` is `Access.identify`.
"""

from __future__ import annotations

import logging

from headgate.errors import InvalidRequest
from headgate.http.access.access import Access
from headgate.http.access.callers import Caller
from headgate.http.access.errors import Unauthorized
from headgate.http.access.sessions import Cookie
from headgate.log import log_event


def log_in(access: Access, token: str, *, remote: str, path: str, https: bool) -> tuple[Caller, Cookie]:
    """Whose token it is, and the cookie of a session that begins.

    Without an ``await``, so that of many attempts at once none is looked at beyond the limit.

    Args:
        access: the rules.
        token: as it was typed in.
        remote: the address that sent it.
        path: where the console and the API stand, as the browser sees it.
        https: the request came by HTTPS, as far as it says.

    Raises:
        TooManyAttempts: too many failed lately; this one was not looked at.
        Unauthorized: it is not in force.
        InvalidRequest: this server has no tokens.
    """
    if access.tokens is None:
        raise InvalidRequest("this server asks nobody for a token, so there is nothing to log in with", field="token")
    access.attempts.check(remote)
    found = access.tokens.find(token)
    if found is None:
        access.attempts.failed(remote)
        log_event(logging.WARNING, "session.refused", remote=remote)
        raise Unauthorized("this token is not in force; see whether all of it was copied", field="token")
    log_event(logging.INFO, "session.begun", name=found.caller.name, role=found.caller.role, remote=remote)
    return found.caller, access.sessions.cookie(access.sessions.begin(found), path=path, https=https)


def log_out(access: Access, *, path: str, https: bool) -> Cookie:
    """The cookie that makes a browser forget its session; arguments as for `log_in`."""
    return access.sessions.cookie("", path=path, https=https)
