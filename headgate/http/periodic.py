"""Schedules: ``/api/v1/periodic``. What is done to one is in `headgate.http.control`, its past in `history`."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate.errors import Code, InvalidRequest, ScheduleNotFound
from headgate.http.body import answer, read_body
from headgate.http.conditions import answer_schedule, expected_by_put, expected_revision
from headgate.http.context import store_of
from headgate.http.query import SCHEDULE_PATH, Query, schedule_id, who
from headgate.http.route import CURSOR, IF_MATCH, IF_NONE_MATCH, Parameter, limit_of, reading, writing
from headgate.models import Schedule, ScheduleDefinition
from headgate.store import Store
from headgate.store.listing import Order, SchedulePage

_PARAMETERS: Final = {"id": "prefix", "labels": "label"}
"""What a list calls the fields that its filters are about."""


class SchedulePut(ScheduleDefinition, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a PUT.

    Attributes:
        paused: whether a new schedule starts paused. For one that exists it may only repeat what is so.
        by: who writes, for the log of changes.
    """

    paused: bool | msgspec.UnsetType = msgspec.UNSET
    by: str | None = None


async def list_schedules(request: web.Request) -> web.Response:
    """A page of schedules by id; without payloads, which are in the answer for a single one."""
    query = Query(request)
    try:
        page = await store_of(request).schedules.list(
            limit=query.integer("limit"),
            cursor=query.cursor(),
            prefix=query.text("prefix") or "",
            label=query.text("label") or "",
            paused=query.flag("paused"),
            failing=query.flag("failing"),
            order=query.text("order") or Order.ID,
        )
    except InvalidRequest as error:
        error.field = _PARAMETERS.get(error.field or "", error.field)
        raise
    return answer(page)


async def get_schedule(request: web.Request) -> web.Response:
    """One schedule with its payload."""
    Query(request)
    return answer_schedule(await store_of(request).schedules.get(schedule_id(request)))


async def put_schedule(request: web.Request) -> web.Response:
    """Create a schedule (201) or replace its definition (200): absent fields get their defaults."""
    Query(request)
    name, store = schedule_id(request), store_of(request)
    body = await read_body(request, SchedulePut)
    by = who(request, body.by)
    expected = await expected_by_put(request, store, name)
    if body.paused is not msgspec.UNSET and expected != 0:
        await _check_paused(store, name, paused=body.paused)
    result = await store.schedules.put(name, body, paused=body.paused is True, by=by, expected_revision=expected)
    return answer_schedule(result.schedule, status=201 if result.change == "created" else 200)


async def delete_schedule(request: web.Request) -> web.Response:
    """Remove a schedule; its history stays readable."""
    Query(request)
    await store_of(request).schedules.delete(
        schedule_id(request), by=who(request), expected_revision=expected_revision(request)
    )
    return web.Response(status=204)


async def _check_paused(store: Store, name: str, *, paused: bool) -> None:
    """Refuse to seem to pause or resume: a write of the definition does not touch the pause state.

    A schedule that somebody creates between this look and the write keeps its own state, and the answer shows it.
    """
    try:
        schedule = await store.schedules.get(name)
    except ScheduleNotFound:
        return
    if schedule.paused is not paused:
        state = "paused" if schedule.paused else "not paused"
        raise InvalidRequest(f"paused is taken at creation only; schedule {name} is {state}", field="paused")


_GONE: Final = (Code.SCHEDULE_NOT_FOUND,)
_QUERY: Final = (
    Parameter(name="prefix", description="ids that begin so"),
    Parameter(name="label", description="a label by its name, as `team`, or with its value, as `team=mail`"),
    Parameter(name="paused", description="only those that are paused, or that are not", kind="boolean"),
    Parameter(name="failing", description="only those that fail, or that do not", kind="boolean"),
    Parameter(name="order", description="what the list goes by", values=tuple(Order), default=Order.ID),
    limit_of(50),
    CURSOR,
)

ROUTES: Final = (
    reading("/api/v1/periodic", list_schedules, SchedulePage, query=_QUERY),
    reading(SCHEDULE_PATH, get_schedule, Schedule, returns=("ETag",), errors=_GONE),
    writing(
        "PUT",
        SCHEDULE_PATH,
        put_schedule,
        {201: Schedule, 200: Schedule},
        body=SchedulePut,
        body_required=True,
        headers=(IF_MATCH, IF_NONE_MATCH),
        returns=("ETag",),
        errors=(Code.INVALID_SPEC, Code.CONFLICT),
    ),
    writing("DELETE", SCHEDULE_PATH, delete_schedule, {204: None}, headers=(IF_MATCH,), errors=_GONE),
)
