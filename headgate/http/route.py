"""What a route takes and answers: one table that serves requests, and from which the contract is written.

A resource's module lists its `Route` records. `headgate.http.app` serves them, `headgate.http.openapi` describes them,
and the readers of query and body look here for what they may take, so the three cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from headgate.errors import Code
from headgate.http.access import Role
from headgate.settings import MAX_PAGE

IDEMPOTENCY_KEY: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
JSON: Final = "application/json"


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A query parameter, a header, or a segment of the path.

    Attributes:
        name: as it is sent.
        description: for people.
        kind: what its text stands for.
        required: whether it must be there.
        least: smallest value of an integer.
        most: largest value of an integer.
        default: what its absence means.
        values: the only texts it may have; empty for any.
    """

    name: str
    description: str
    kind: Literal["string", "integer", "boolean"] = "string"
    required: bool = False
    least: int | None = None
    most: int | None = None
    default: int | str | bool | None = None
    values: tuple[str, ...] = ()


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One operation.

    Attributes:
        method: of HTTP.
        path: with segments as ``{id}``.
        handler: what serves it; its docstring is the description.
        answers: by status, the type of the body; None for an answer without one.
        body: what the body is read as; None where none is taken.
        body_required: whether there must be one.
        query: the parameters that are taken; all others are refused.
        headers: the headers that are heeded, besides those that every route heeds.
        returns: the headers of an answer, besides those that every answer has.
        errors: the codes of its own; `codes` has all.
        role: who may call it; None for everybody.
        writes: whether it changes anything in the store: then it is for operators, and refused while reading only.
        store: whether it needs the store.
        media: the content type of its answers.
        urgent: it neither waits its turn nor counts as one under way: probes, streams.
    """

    method: str
    path: str
    handler: Handler
    answers: Mapping[int, Any]
    body: type[msgspec.Struct] | None = None
    body_required: bool = False
    query: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    returns: tuple[str, ...] = ()
    errors: tuple[Code, ...] = ()
    role: Role | None = Role.VIEWER
    writes: bool = False
    store: bool = True
    media: str = JSON
    urgent: bool = False


ROUTE: Final = web.RequestKey("route", Route)
"""Of a request: what serves it; absent where nothing of the table does."""


def reading(path: str, handler: Handler, model: Any, **more: Any) -> Route:
    """A GET that answers 200 with `model`."""
    return Route(method=hdrs.METH_GET, path=path, handler=handler, answers={200: model}, **more)


def writing(method: str, path: str, handler: Handler, answers: Mapping[int, Any], **more: Any) -> Route:
    """An operation that changes something: for operators, in the name of whoever calls."""
    more["headers"] = (*more.get("headers", ()), WHO)
    return Route(method=method, path=path, handler=handler, answers=answers, role=Role.OPERATOR, writes=True, **more)


def route_of(request: web.Request) -> Route:
    """The route that serves a request."""
    return request[ROUTE]


def limit_of(default: int, most: int = MAX_PAGE) -> Parameter:
    """The parameter that says how long a page of a list is."""
    return Parameter(
        name="limit", description="most entries of the page", kind="integer", least=1, most=most, default=default
    )


CURSOR: Final = Parameter(name="cursor", description="`next_cursor` of the page before; absent for the first")
WHO: Final = Parameter(
    name="X-Headgate-By", description="who asks, where the body does not say: free text, shown beside the token's name"
)
KEY: Final = Parameter(
    name=IDEMPOTENCY_KEY,
    description="1 to 200 printable ASCII characters without spaces; a repeat within 24 hours gets the first answer",
    required=True,
)
IF_MATCH: Final = Parameter(name="If-Match", description='the revision it must have, as in `"7"`, or `*`')
IF_NONE_MATCH: Final = Parameter(name="If-None-Match", description="`*`: there must be no such schedule", values=("*",))

_BODY_CODES: Final = (
    *(Code.INVALID_SYNTAX, Code.INVALID_SHAPE, Code.INVALID_REQUEST, Code.TOO_LARGE),
    *(Code.UNSUPPORTED_MEDIA_TYPE, Code.REQUEST_TIMEOUT),
)


def codes(route: Route) -> Iterator[Code]:
    """Every code that a problem of this route may have; some more than once."""
    yield from (*route.errors, Code.INTERNAL_ERROR, Code.EXPECTATION_FAILED, Code.INVALID_REQUEST)
    yield Code.HOST_NOT_ALLOWED
    if not route.urgent:
        yield Code.OVERLOADED
    if route.role is not None:
        yield Code.UNAUTHORIZED
    if route.writes:
        yield from (Code.FORBIDDEN, Code.READ_ONLY, Code.STORE_FULL)
    if route.method != hdrs.METH_GET:
        yield Code.CROSS_SITE
    if route.store:
        yield from (Code.STORE_UNAVAILABLE, Code.STORE_ERROR)
    if route.body is not None:
        yield from _BODY_CODES
    if CURSOR in route.query:
        yield Code.INVALID_CURSOR
    if any(header.name == IDEMPOTENCY_KEY for header in route.headers):
        yield from (Code.IDEMPOTENCY_KEY_MISSING, Code.IDEMPOTENCY_KEY_REUSED)
    if IF_MATCH in route.headers:
        yield Code.REVISION_MISMATCH
