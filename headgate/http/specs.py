"""When specs fire: the next ticks of one that nobody has stored, of a schedule, and of all schedules together."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate.http.body import answer, read_body
from headgate.http.query import SCHEDULE_PATH, STORE, Query, schedule_id
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
    preview = await request.app[STORE].upcoming.preview(
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
    query = Query(request, "n")
    return answer(await request.app[STORE].upcoming.of(schedule_id(request), query.integer("n", _TICKS)))


async def list_all_upcoming(request: web.Request) -> web.Response:
    """What all schedules fire up to an instant, as far as is known for sure."""
    query = Query(request, "until_ms", "limit")
    limit = query.integer("limit", MAX_UPCOMING)
    return answer(await request.app[STORE].upcoming.all(query.instant("until_ms"), limit=limit))


ROUTES: Final = (
    web.post("/api/v1/specs/preview", preview_spec),
    web.get(f"{SCHEDULE_PATH}/upcoming", list_upcoming),
    web.get("/api/v1/upcoming", list_all_upcoming),
)
