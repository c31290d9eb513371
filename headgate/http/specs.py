"""When specs fire: the next ticks of one that nobody has stored, of a schedule, and of all schedules together."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate.errors import Code
from headgate.http.body import answer, read_body
from headgate.http.context import store_of
from headgate.http.query import SCHEDULE_PATH, Query, schedule_id
from headgate.http.route import Parameter, Route, limit_of, reading
from headgate.settings import MAX_INSTANT_MS
from headgate.store.upcoming import NextTicks, Preview, UpcomingTicks
from headgate.upcoming import MAX_UPCOMING

_TICKS: Final = 10


class PreviewBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a preview: what of a schedule decides about its ticks.

    Attributes:
        n: how many ticks.
        after_ms: they come after this instant; null for the store's now.
    """

    spec: str
    starts_at_ms: int | None = None
    ends_at_ms: int | None = None
    jitter_ms: int = 0
    n: int = _TICKS
    after_ms: int | None = None


async def preview_spec(request: web.Request) -> web.Response:
    """The next ticks of a spec, its reading in words, and what may surprise about it. Nothing is stored."""
    Query(request)
    body = await read_body(request, PreviewBody)
    preview = await store_of(request).upcoming.preview(
        body.spec,
        body.n,
        starts_at_ms=body.starts_at_ms,
        ends_at_ms=body.ends_at_ms,
        jitter_ms=body.jitter_ms,
        after_ms=body.after_ms,
    )
    return answer(preview)


async def list_upcoming(request: web.Request) -> web.Response:
    """The same of a schedule."""
    query = Query(request)
    return answer(await store_of(request).upcoming.of(schedule_id(request), query.integer("n")))


async def list_all_upcoming(request: web.Request) -> web.Response:
    """What all schedules fire up to an instant, as far as is known for sure."""
    query = Query(request)
    limit = query.integer("limit")
    return answer(await store_of(request).upcoming.all(query.integer("until_ms"), limit=limit))


_NUMBER: Final = Parameter(
    name="n", description="how many ticks", kind="integer", least=1, most=MAX_UPCOMING, default=_TICKS
)
_UNTIL: Final = Parameter(
    name="until_ms",
    description="the ticks up to this instant",
    kind="integer",
    least=0,
    most=MAX_INSTANT_MS,
    required=True,
)

ROUTES: Final = (
    Route(
        method="POST",
        path="/api/v1/specs/preview",
        handler=preview_spec,
        answers={200: Preview},
        body=PreviewBody,
        body_required=True,
        errors=(Code.INVALID_SPEC,),
    ),
    reading(f"{SCHEDULE_PATH}/upcoming", list_upcoming, NextTicks, query=(_NUMBER,), errors=(Code.SCHEDULE_NOT_FOUND,)),
    reading("/api/v1/upcoming", list_all_upcoming, UpcomingTicks, query=(_UNTIL, limit_of(MAX_UPCOMING, MAX_UPCOMING))),
)
