"""Schedules and their histories: ``/api/v1/periodic``."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import hdrs, web

from headgate.errors import InvalidRequest, ScheduleNotFound
from headgate.hooks import run_now
from headgate.http.body import answer, read_body, read_nothing
from headgate.http.jobs import job_path
from headgate.http.query import HOOKS, STORE, Query, idempotency_key
from headgate.models import ScheduleDefinition
from headgate.names import check_schedule_id
from headgate.store import Store


class SchedulePut(ScheduleDefinition, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a PUT.

    Attributes:
        paused: whether a new schedule starts paused. For one that exists it may only repeat what is so.
    """

    paused: bool | msgspec.UnsetType = msgspec.UNSET


async def list_schedules(request: web.Request) -> web.Response:
    """A page of schedules by id; without payloads, which are in the answer for a single one."""
    query = Query(request, "limit", "cursor")
    page = await request.app[STORE].schedules.list(limit=query.integer("limit", 50), cursor=query.cursor())
    return answer(page)


async def get_schedule(request: web.Request) -> web.Response:
    """One schedule with its payload."""
    Query(request)
    return answer(await request.app[STORE].schedules.get(_schedule_id(request)))


async def put_schedule(request: web.Request) -> web.Response:
    """Create a schedule (201) or replace its definition (200): absent fields get their defaults."""
    Query(request)
    schedule_id, store = _schedule_id(request), request.app[STORE]
    body = await read_body(request, SchedulePut)
    if body.paused is not msgspec.UNSET:
        await _check_paused(store, schedule_id, paused=body.paused)
    result = await store.schedules.put(schedule_id, body, paused=body.paused is True)
    return answer(result.schedule, status=201 if result.change == "created" else 200)


async def delete_schedule(request: web.Request) -> web.Response:
    """Remove a schedule; its history stays readable."""
    Query(request)
    await request.app[STORE].schedules.delete(_schedule_id(request))
    return web.Response(status=204)


async def run_schedule(request: web.Request) -> web.Response:
    """Queue one extra job at once; a repeat under the same key gets the same answer, marked as replayed."""
    Query(request)
    schedule_id, key = _schedule_id(request), idempotency_key(request)
    await read_nothing(request)
    enqueued = await run_now(request.app[STORE], request.app[HOOKS], schedule_id, idempotency_key=key)
    return answer(enqueued, status=202, headers={hdrs.LOCATION: job_path(enqueued.job_id)})


async def list_events(request: web.Request) -> web.Response:
    """A page of what became of a schedule's ticks, newest first."""
    query = Query(request, "limit", "cursor")
    page = await request.app[STORE].events.list(
        _schedule_id(request), limit=query.integer("limit", 30), cursor=query.cursor()
    )
    return answer(page)


def _schedule_id(request: web.Request) -> str:
    return check_schedule_id(request.match_info["id"])


async def _check_paused(store: Store, schedule_id: str, *, paused: bool) -> None:
    """Refuse to seem to pause or resume: a write of the definition does not touch the pause state.

    A schedule that somebody creates between this look and the write keeps its own state, and the answer shows it.
    """
    try:
        schedule = await store.schedules.get(schedule_id)
    except ScheduleNotFound:
        return
    if schedule.paused is not paused:
        state = "paused" if schedule.paused else "not paused"
        raise InvalidRequest(f"paused is taken at creation only; schedule {schedule_id} is {state}", field="paused")


# Not the default pattern of a segment: an id may hold braces.
_ITEM: Final = "/api/v1/periodic/{id:[^/]+}"

ROUTES: Final = (
    web.get("/api/v1/periodic", list_schedules),
    web.get(_ITEM, get_schedule),
    web.put(_ITEM, put_schedule),
    web.delete(_ITEM, delete_schedule),
    web.post(f"{_ITEM}/run", run_schedule),
    web.get(f"{_ITEM}/enqueue-events", list_events),
)
