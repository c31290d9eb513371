"""Every failure as an RFC 9457 problem: type, title, status, detail, code, request_id, and for bad input the field.

The code is stable and what programs should look at. No problem and no log line made here quotes a payload, the message
of an unexpected exception, or the store's own words.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from headgate.errors import (
    Backpressure,
    Conflict,
    HeadgateError,
    IdempotencyKeyReused,
    InvalidRequest,
    InvalidShape,
    NotFound,
    Quarantined,
    RevisionMismatch,
    SkipTick,
    StoreFull,
    StoreUnavailable,
    TooLarge,
    UnsupportedMedia,
)
from headgate.http.conditions import etag
from headgate.log import log_event
from headgate.models import Schedule

REQUEST_ID_HEADER: Final = "X-Request-Id"
RETRY_AFTER: Final[Mapping[str, str]] = {"Retry-After": "1"}
"""Seconds; a store that is away may be back, and a queue have room again, at any time."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_STATUS: Final[Mapping[type[Exception], int]] = {
    InvalidRequest: 400,
    NotFound: 404,
    Conflict: 409,
    RevisionMismatch: 412,
    TooLarge: 413,
    UnsupportedMedia: 415,
    InvalidShape: 422,
    IdempotencyKeyReused: 422,
    Quarantined: 423,
    Backpressure: 429,
    SkipTick: 409,
    StoreUnavailable: 503,
    StoreFull: 503,
}
"""An error takes the status of its nearest ancestor here; without one it is 500, as foreign data in the store is."""
_PASSING: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""What may pass by itself."""
_HTTP_CODES: Final = {
    404: ("route_not_found", "no such route"),
    405: ("method_not_allowed", "this route does not take that method; the Allow header lists those it takes"),
    408: ("request_timeout", "the body did not arrive in time"),
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The body of an error answer.

    Attributes:
        type: always ``about:blank``, as the title is that of the status; `code` tells errors apart.
        detail: for people: field, value and rule; may change.
        field: the offending field, parameter or header; absent unless the input is to blame.
        current: of a stale write, the schedule as it stands without payload and headers, or null; else absent.
        request_id: as in the answer's header and in the log.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    field: str | msgspec.UnsetType = msgspec.UNSET
    current: Schedule | msgspec.UnsetType | None = msgspec.UNSET
    request_id: str


def status_of(error: HeadgateError) -> int:
    """The status an error of our tree is answered with."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)


def request_id(request: web.Request) -> str:
    """A name for this request in logs and answers: the client's own id if it is a plain word, else a new one."""
    given = request.headers.get(REQUEST_ID_HEADER, "")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def problem(
    request_id: str,
    status: int,
    code: str,
    detail: str,
    *,
    field: str | None = None,
    current: Schedule | msgspec.UnsetType | None = msgspec.UNSET,
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    """An error answer, with its request id."""
    body = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        field=msgspec.UNSET if field is None else field,
        current=current,
        request_id=request_id,
    )
    return web.Response(
        body=msgspec.json.encode(body) + b"\n",
        status=status,
        headers={**(headers or {}), REQUEST_ID_HEADER: request_id},
        content_type="application/problem+json",
    )


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn whatever a handler or aiohttp raises into a problem."""
    name = request_id(request)
    try:
        return await handler(request)
    except HeadgateError as error:
        return _ours(request, name, error)
    except web.HTTPException as error:
        return _aiohttps(name, error)
    except Exception as error:  # noqa: BLE001 - the last resort; anything may be in its message, hence only its class
        _log(request, request_id=name, code="internal_error", error=type(error).__name__)
        return problem(name, 500, "internal_error", "an unexpected error; the log has it under this request_id")


def _ours(request: web.Request, name: str, error: HeadgateError) -> web.Response:
    status = status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _log(request, request_id=name, code=error.code, detail=error.message)
    headers = RETRY_AFTER if status in _PASSING else None
    current = _current(error)
    if isinstance(current, Schedule):
        headers = etag(current.revision)
    return problem(name, status, error.code, error.message, field=error.field, current=current, headers=headers)


def _current(error: HeadgateError) -> Schedule | msgspec.UnsetType | None:
    if not isinstance(error, RevisionMismatch):
        return msgspec.UNSET
    found = error.current
    if not isinstance(found, Schedule):
        return None
    return msgspec.structs.replace(found, payload=msgspec.UNSET, headers=msgspec.UNSET)


def _aiohttps(name: str, error: web.HTTPException) -> web.Response:
    phrase = HTTPStatus(error.status).phrase
    code, detail = _HTTP_CODES.get(error.status, (re.sub(r"\W+", "_", phrase.lower()), phrase))
    allow = error.headers.get(hdrs.ALLOW)
    return problem(name, error.status, code, detail, headers={"Allow": allow} if allow else None)


def _log(request: web.Request, **fields: str) -> None:
    resource = request.match_info.route.resource
    route = resource.canonical if resource else "none"
    log_event(logging.ERROR, "http.failed", method=request.method, route=route, **fields)
