"""A schedule's past: what became of its ticks, and why; runs that were asked for, changes, and what did not run."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate.http.body import answer
from headgate.http.query import SCHEDULE_PATH, STORE, Query, schedule_id
from headgate.models import Gap


class Gaps(msgspec.Struct, frozen=True):
    """All that is kept of what did not run, oldest first."""

    gaps: list[Gap]


async def list_events(request: web.Request) -> web.Response:
    """A page of what became of a schedule's ticks, newest first."""
    query = Query(request, "limit", "cursor")
    events = request.app[STORE].events
    return answer(await events.list(schedule_id(request), limit=query.integer("limit", 30), cursor=query.cursor()))


async def list_manual_runs(request: web.Request) -> web.Response:
    """A page of the runs that were asked for by hand, newest first."""
    query = Query(request, "limit", "cursor")
    runs = request.app[STORE].runs
    return answer(await runs.list(schedule_id(request), limit=query.integer("limit", 30), cursor=query.cursor()))


async def list_changes(request: web.Request) -> web.Response:
    """A page of who changed what, newest first."""
    query = Query(request, "limit", "cursor")
    changes = request.app[STORE].changes
    return answer(await changes.list(schedule_id(request), limit=query.integer("limit", 30), cursor=query.cursor()))


async def list_gaps(request: web.Request) -> web.Response:
    """The ranges of ticks that did not run, oldest first."""
    Query(request)
    return answer(Gaps(await request.app[STORE].backfills.gaps(schedule_id(request))))


async def explain_tick(request: web.Request) -> web.Response:
    """Did it run, and why not: in a code, in a sentence and in facts."""
    query = Query(request, "tick_ms")
    return answer(await request.app[STORE].explains.explain(schedule_id(request), query.instant("tick_ms")))


ROUTES: Final = (
    web.get(f"{SCHEDULE_PATH}/explain", explain_tick),
    web.get(f"{SCHEDULE_PATH}/enqueue-events", list_events),
    web.get(f"{SCHEDULE_PATH}/manual-runs", list_manual_runs),
    web.get(f"{SCHEDULE_PATH}/changes", list_changes),
    web.get(f"{SCHEDULE_PATH}/gaps", list_gaps),
)
