"""A schedule's past: what became of its ticks, and why; runs that were asked for, changes, and what did not run."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from headgate.errors import Code
from headgate.http.body import answer
from headgate.http.context import store_of
from headgate.http.query import SCHEDULE_PATH, Query, schedule_id
from headgate.http.route import CURSOR, Parameter, limit_of, reading
from headgate.models import ChangePage, Explanation, GapPage, ManualRunPage
from headgate.settings import MAX_CHANGES, MAX_EVENTS_PAGE, MAX_INSTANT_MS
from headgate.store.events import EventPage


async def list_events(request: web.Request) -> web.Response:
    """A page of what became of a schedule's ticks, newest first."""
    query = Query(request)
    events = store_of(request).events
    return answer(await events.list(schedule_id(request), limit=query.integer("limit"), cursor=query.cursor()))


async def list_manual_runs(request: web.Request) -> web.Response:
    """A page of the runs that were asked for by hand, newest first."""
    query = Query(request)
    runs = store_of(request).runs
    return answer(await runs.list(schedule_id(request), limit=query.integer("limit"), cursor=query.cursor()))


async def list_changes(request: web.Request) -> web.Response:
    """A page of who changed what, newest first."""
    query = Query(request)
    changes = store_of(request).changes
    return answer(await changes.list(schedule_id(request), limit=query.integer("limit"), cursor=query.cursor()))


async def list_gaps(request: web.Request) -> web.Response:
    """A page of the ranges of ticks that did not run, oldest first."""
    query = Query(request)
    gaps = store_of(request).backfills
    return answer(await gaps.gaps(schedule_id(request), limit=query.integer("limit"), cursor=query.cursor()))


async def explain_tick(request: web.Request) -> web.Response:
    """Did it run, and why not: in a code, in a sentence and in facts."""
    query = Query(request)
    return answer(await store_of(request).explains.explain(schedule_id(request), query.integer("tick_ms")))


_PAGE: Final = (limit_of(30, MAX_EVENTS_PAGE), CURSOR)
_TICK: Final = Parameter(
    name="tick_ms", description="the instant to explain", kind="integer", least=0, most=MAX_INSTANT_MS, required=True
)

ROUTES: Final = (
    reading(f"{SCHEDULE_PATH}/explain", explain_tick, Explanation, query=(_TICK,), errors=(Code.SCHEDULE_NOT_FOUND,)),
    reading(f"{SCHEDULE_PATH}/enqueue-events", list_events, EventPage, query=_PAGE),
    reading(f"{SCHEDULE_PATH}/manual-runs", list_manual_runs, ManualRunPage, query=_PAGE),
    reading(f"{SCHEDULE_PATH}/changes", list_changes, ChangePage, query=(limit_of(30, MAX_CHANGES), CURSOR)),
    reading(f"{SCHEDULE_PATH}/gaps", list_gaps, GapPage, query=_PAGE),
)
