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

from headgate.errors import Code, HeadgateError, RevisionMismatch
from headgate.http.conditions import brief, etag
from headgate.log import log_event
from headgate.models import Schedule

PROBLEM_JSON: Final = "application/problem+json"
REQUEST_ID_HEADER: Final = "X-Request-Id"
RETRY_AFTER: Final[Mapping[str, str]] = {hdrs.RETRY_AFTER: "1"}
"""Seconds; a store that is away may be back, and a queue have room again, at any time."""

STATUS: Final[Mapping[Code, int]] = {
    Code.INVALID_REQUEST: 400,
    Code.INVALID_SPEC: 400,
    Code.INVALID_SYNTAX: 400,
    Code.INVALID_CURSOR: 400,
    Code.IDEMPOTENCY_KEY_MISSING: 400,
    Code.UNAUTHORIZED: 401,
    Code.FORBIDDEN: 403,
    Code.READ_ONLY: 403,
    Code.CROSS_SITE: 403,
    Code.SCHEDULE_NOT_FOUND: 404,
    Code.JOB_NOT_FOUND: 404,
    Code.QUEUE_NOT_FOUND: 404,
    Code.QUARANTINE_NOT_FOUND: 404,
    Code.ROUTE_NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.REQUEST_TIMEOUT: 408,
    Code.CONFLICT: 409,
    Code.ID_CONFLICT: 409,
    Code.NOT_PAUSED: 409,
    Code.UNIQUE_KEY_HELD: 409,
    Code.JOB_STATE: 409,
    Code.HOOK_SKIPPED: 409,
    Code.REVISION_MISMATCH: 412,
    Code.TOO_LARGE: 413,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.EXPECTATION_FAILED: 417,
    Code.HOST_NOT_ALLOWED: 421,
    Code.INVALID_SHAPE: 422,
    Code.IDEMPOTENCY_KEY_REUSED: 422,
    Code.QUARANTINED: 423,
    Code.BACKPRESSURE: 429,
    Code.TOO_MANY_ATTEMPTS: 429,
    Code.STORE_ERROR: 500,
    Code.HOOK_ERROR: 500,
    Code.INTERNAL_ERROR: 500,
    Code.STORE_UNAVAILABLE: 503,
    Code.STORE_FULL: 503,
    Code.OVERLOADED: 503,
    Code.TOO_MANY_STREAMS: 503,
}
"""The codes of the API. Any other that comes up is one of Headgate's own faults: 500."""

_NAME: Final = web.RequestKey("request_id", str)
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PASSING: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""What may pass by itself."""
_AIOHTTP: Final[Mapping[int, tuple[Code, str]]] = {
    404: (Code.ROUTE_NOT_FOUND, "no such route"),
    405: (Code.METHOD_NOT_ALLOWED, "this route does not take that method; the Allow header lists those it takes"),
    408: (Code.REQUEST_TIMEOUT, "the body did not arrive in time"),
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
    code: Code
    field: str | msgspec.UnsetType = msgspec.UNSET
    current: Schedule | msgspec.UnsetType | None = msgspec.UNSET
    request_id: str


def request_id(request: web.BaseRequest) -> str:
    """A name for this request in logs and answers: the client's own id if it is a plain word, else a new one."""
    if _NAME not in request:
        given = request.headers.get(REQUEST_ID_HEADER, "")
        request[_NAME] = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
    return request[_NAME]


def problem_of(name: str, error: HeadgateError) -> Problem:
    """An error of our tree, as the body of an answer to the request of that name."""
    status = STATUS.get(error.code, 500)
    return Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=error.message,
        code=error.code,
        field=msgspec.UNSET if error.field is None else error.field,
        current=_current(error),
        request_id=name,
    )


def answer_problem(problem: Problem, headers: Mapping[str, str] | None = None) -> web.Response:
    """An error answer, with its request id."""
    return web.Response(
        body=msgspec.json.encode(problem) + b"\n",
        status=problem.status,
        headers={**(headers or {}), REQUEST_ID_HEADER: problem.request_id},
        content_type=PROBLEM_JSON,
    )


def refuse(request: web.BaseRequest, code: Code, detail: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """A problem that comes of no error of our tree."""
    status = STATUS[code]
    problem = Problem(
        title=HTTPStatus(status).phrase, status=status, detail=detail, code=code, request_id=request_id(request)
    )
    return answer_problem(problem, headers)


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn whatever a handler or aiohttp raises into a problem."""
    try:
        return await handler(request)
    except HeadgateError as error:
        return _ours(request, error)
    except Exception as error:  # noqa: BLE001 - the last resort; anything may be in its message, hence only its class
        if isinstance(error, web.HTTPException) and error.status in _AIOHTTP:
            allow = error.headers.get(hdrs.ALLOW)
            return refuse(request, *_AIOHTTP[error.status], headers={hdrs.ALLOW: allow} if allow else None)
        _log(request, code=Code.INTERNAL_ERROR, error=type(error).__name__)
        return refuse(request, Code.INTERNAL_ERROR, "an unexpected error; the log has it under this request_id")


def _ours(request: web.Request, error: HeadgateError) -> web.Response:
    problem = problem_of(request_id(request), error)
    if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _log(request, code=error.code, detail=error.message)
    headers = dict(RETRY_AFTER) if problem.status in _PASSING else {}
    if isinstance(problem.current, Schedule):
        headers.update(etag(problem.current.revision))
    return answer_problem(problem, headers | getattr(error, "headers", {}))


def _current(error: HeadgateError) -> Schedule | msgspec.UnsetType | None:
    if not isinstance(error, RevisionMismatch):
        return msgspec.UNSET
    found = error.current
    if not isinstance(found, Schedule):
        return None
    return brief(found)


def _log(request: web.Request, **fields: str) -> None:
    resource = request.match_info.route.resource
    route = resource.canonical if resource else "none"
    log_event(
        logging.ERROR, "http.failed", method=request.method, route=route, request_id=request_id(request), **fields
    )
