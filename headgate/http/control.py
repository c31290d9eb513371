"""What people do to one schedule: pause it, resume it, make up for what it missed, ask for an extra run."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate.errors import Code
from headgate.hooks import backfill, run_now
from headgate.http.body import answer, read_body, read_options, replayed
from headgate.http.conditions import answer_schedule, expected_revision
from headgate.http.context import hooks_of, store_of
from headgate.http.jobs import where
from headgate.http.query import SCHEDULE_PATH, Query, idempotency_key, schedule_id, who
from headgate.http.route import IF_MATCH, KEY, REPLAYED, writing
from headgate.models import Backfilled, Enqueued, MissedTicks, Schedule


class PauseBody(msgspec.Struct, frozen=True):
    """The body of a pause.

    Attributes:
        reason: why.
        by: who.
        until_ms: when it resumes by itself; null for never.
    """

    reason: str | None = None
    by: str | None = None
    until_ms: int | None = None


class ResumeBody(msgspec.Struct, frozen=True):
    """The body of a resume.

    Attributes:
        missed: what becomes of the ticks of the pause.
        by: who.
    """

    missed: MissedTicks = MissedTicks.NONE
    by: str | None = None


class BackfillBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a backfill, of ``after_ms < tick <= until_ms``.

    Attributes:
        dry_run: only say what would be done.
        force: also enqueue ticks of which nobody knows any more whether they ran.
        by: who.
    """

    after_ms: int
    until_ms: int
    dry_run: bool = False
    force: bool = False
    by: str | None = None


class RunBody(msgspec.Struct, frozen=True):
    """The body of a run.

    Attributes:
        by: who.
    """

    by: str | None = None


async def pause_schedule(request: web.Request) -> web.Response:
    """Let a schedule fire no more, until somebody resumes it or `until_ms` comes."""
    Query(request)
    name, expected = schedule_id(request), expected_revision(request)
    body = await read_options(request, PauseBody)
    schedule = await store_of(request).control.pause(
        name,
        reason=body.reason or "",
        by=who(request, body.by),
        until_ms=body.until_ms,
        expected_revision=expected,
    )
    return answer_schedule(schedule)


async def resume_schedule(request: web.Request) -> web.Response:
    """Let a paused schedule go on from now."""
    Query(request)
    name, expected = schedule_id(request), expected_revision(request)
    body = await read_options(request, ResumeBody)
    schedule = await store_of(request).control.resume(
        name, missed=body.missed, by=who(request, body.by), expected_revision=expected
    )
    return answer_schedule(schedule)


async def backfill_schedule(request: web.Request) -> web.Response:
    """Make up for ticks that did not run; a repeat under the same key gets the same answer, marked as replayed.

    A dry run makes nothing and needs no key.
    """
    Query(request)
    name = schedule_id(request)
    body = await read_body(request, BackfillBody)
    key = None if body.dry_run else idempotency_key(request)
    done = await backfill(
        store_of(request),
        hooks_of(request),
        name,
        body.after_ms,
        body.until_ms,
        dry_run=body.dry_run,
        force=body.force,
        by=who(request, body.by),
        idempotency_key=key,
    )
    return answer(done, headers=replayed(done.replayed))


async def run_schedule(request: web.Request) -> web.Response:
    """Queue one extra job at once; a repeat under the same key gets the same answer, marked as replayed."""
    Query(request)
    name, key = schedule_id(request), idempotency_key(request)
    by = who(request, (await read_options(request, RunBody)).by)
    enqueued = await run_now(store_of(request), hooks_of(request), name, idempotency_key=key, by=by)
    return answer(enqueued, status=202, headers=where(request, enqueued))


_KEY: Final = msgspec.structs.replace(KEY, description=f"{KEY.description}; needless for a dry run", required=False)
_GONE: Final = (Code.SCHEDULE_NOT_FOUND,)
_RUN: Final = (*_GONE, Code.QUARANTINED, Code.BACKPRESSURE, Code.HOOK_SKIPPED, Code.HOOK_ERROR)

ROUTES: Final = (
    writing(
        "POST",
        f"{SCHEDULE_PATH}/pause",
        pause_schedule,
        {200: Schedule},
        body=PauseBody,
        headers=(IF_MATCH,),
        returns=("ETag",),
        errors=_GONE,
    ),
    writing(
        "POST",
        f"{SCHEDULE_PATH}/resume",
        resume_schedule,
        {200: Schedule},
        body=ResumeBody,
        headers=(IF_MATCH,),
        returns=("ETag",),
        errors=(*_GONE, Code.NOT_PAUSED),
    ),
    writing(
        "POST",
        f"{SCHEDULE_PATH}/backfill",
        backfill_schedule,
        {200: Backfilled},
        body=BackfillBody,
        body_required=True,
        headers=(_KEY,),
        returns=(REPLAYED,),
        errors=(*_GONE, Code.CONFLICT, Code.HOOK_ERROR),
    ),
    writing(
        "POST",
        f"{SCHEDULE_PATH}/run",
        run_schedule,
        {202: Enqueued},
        body=RunBody,
        headers=(KEY,),
        returns=("Location", REPLAYED),
        errors=_RUN,
    ),
)
