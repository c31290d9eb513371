"""The same thing done to many schedules, each by itself: ``POST /api/v1/periodic/bulk``."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final

import msgspec
from aiohttp import web

from headgate.errors import Code, HeadgateError, InvalidRequest, StoreUnavailable, TooLarge
from headgate.hooks import run_now
from headgate.http.body import answer, read_body, replayed
from headgate.http.conditions import brief
from headgate.http.context import hooks_of, store_of
from headgate.http.problems import RETRY_AFTER, Problem, problem_of, request_id
from headgate.http.query import Query, idempotency_key, who
from headgate.http.route import KEY, REPLAYED, writing
from headgate.models import Enqueued, MissedTicks, Schedule
from headgate.names import check_schedule_id, shown
from headgate.settings import MAX_BATCH


class Action(StrEnum):
    """What is to be done to each."""

    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"
    RUN = "run"


class BulkBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a bulk operation.

    Attributes:
        action: what is to be done to each.
        ids: of 1 to 200 schedules, each once.
        reason: why, of a pause.
        until_ms: when they resume by themselves, of a pause; null for never.
        missed: what becomes of the ticks of the pause, of a resume; ``none`` unless given.
        by: who.
    """

    action: Action
    ids: list[str]
    reason: str | None = None
    until_ms: int | None = None
    missed: MissedTicks | None = None
    by: str | None = None


class BulkResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one schedule.

    Attributes:
        id: which.
        status: what the same request for it alone would be answered with.
        schedule: as it stands after a pause or a resume, without payload and headers.
        job: what a run made.
        problem: why nothing was done.
    """

    id: str
    status: int
    schedule: Schedule | msgspec.UnsetType = msgspec.UNSET
    job: Enqueued | msgspec.UnsetType = msgspec.UNSET
    problem: Problem | msgspec.UnsetType = msgspec.UNSET


class BulkResults(msgspec.Struct, frozen=True):
    """What became of each, in the order in which they were named."""

    results: list[BulkResult]


_TAKES: Final = {"reason": Action.PAUSE, "until_ms": Action.PAUSE, "missed": Action.RESUME}
_Act = Callable[[str], Awaitable[BulkResult]]


async def do_in_bulk(request: web.Request) -> web.Response:
    """Pause, resume, delete or run up to 200 schedules; each has a result of its own.

    A run needs an `Idempotency-Key`, of which that of each schedule is derived: a repeat makes no second job of any.
    """
    Query(request)
    body = await read_body(request, BulkBody)
    _check(body)
    act, name = _act(request, body), request_id(request)
    results: list[BulkResult] = []
    away: StoreUnavailable | None = None
    for each in body.ids:
        try:
            if away is not None:  # the others would wait for the same answer, one after the other
                raise away
            results.append(await act(check_schedule_id(each)))
        except HeadgateError as error:
            away = error if isinstance(error, StoreUnavailable) else away
            if away is not None and not results:  # nothing was done: the whole request may come again
                raise
            problem = problem_of(name, error)
            results.append(BulkResult(id=each, status=problem.status, problem=problem))
    again = all(result.job and result.job.replayed for result in results)
    return answer(BulkResults(results), headers={**replayed(again), **(RETRY_AFTER if away else {})})


def _check(body: BulkBody) -> None:
    if not body.ids:
        raise InvalidRequest("ids must name at least one schedule", field="ids")
    if len(body.ids) > MAX_BATCH:
        raise TooLarge(f"ids are {len(body.ids)}; the limit is {MAX_BATCH}", field="ids")
    seen: set[str] = set()
    for each in body.ids:
        if each in seen:
            raise InvalidRequest(f"ids has {shown(each)} twice", field="ids")
        seen.add(each)
    for field, action in _TAKES.items():
        if getattr(body, field) is not None and body.action is not action:
            raise InvalidRequest(f"{field} goes with {action} only", field=field)


def _act(request: web.Request, body: BulkBody) -> _Act:
    """What is done to one schedule."""
    store, by = store_of(request), who(request, body.by)

    async def pause(name: str) -> BulkResult:
        schedule = await store.control.pause(name, reason=body.reason or "", by=by, until_ms=body.until_ms)
        return BulkResult(id=name, status=200, schedule=brief(schedule))

    async def resume(name: str) -> BulkResult:
        schedule = await store.control.resume(name, missed=body.missed or MissedTicks.NONE, by=by)
        return BulkResult(id=name, status=200, schedule=brief(schedule))

    async def delete(name: str) -> BulkResult:
        await store.schedules.delete(name, by=by)
        return BulkResult(id=name, status=204)

    if body.action is not Action.RUN:
        return {Action.PAUSE: pause, Action.RESUME: resume, Action.DELETE: delete}[body.action]
    key = idempotency_key(request)

    async def run(name: str) -> BulkResult:
        job = await run_now(store, hooks_of(request), name, idempotency_key=_key_of(key, name), by=by)
        return BulkResult(id=name, status=202, job=job)

    return run


def _key_of(key: str, schedule_id: str) -> str:
    """The key of one schedule's run: as long as any, and never that of a run that somebody asked for alone."""
    return f"bulk-{hashlib.sha256(f'{key} {schedule_id}'.encode()).hexdigest()}"


_KEY: Final = msgspec.structs.replace(KEY, description=f"{KEY.description}; for a run only", required=False)

ROUTES: Final = (
    writing(
        "POST",
        "/api/v1/periodic/bulk",
        do_in_bulk,
        {200: BulkResults},
        body=BulkBody,
        body_required=True,
        headers=(_KEY,),
        returns=(REPLAYED, "Retry-After"),
        errors=(Code.SCHEDULE_NOT_FOUND, Code.NOT_PAUSED),
    ),
)
