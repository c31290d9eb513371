"""What people do to one schedule: pause it, resume it, make up for what it missed, ask for an extra run."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import hdrs, web

from headgate.hooks import backfill, run_now
from headgate.http.body import answer, read_body, read_options
from headgate.http.conditions import answer_schedule, expected_revision
from headgate.http.jobs import job_path
from headgate.http.query import HOOKS, SCHEDULE_PATH, STORE, Query, idempotency_key, schedule_id, who
from headgate.models import MissedTicks


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
    schedule = await request.app[STORE].control.pause(
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
    schedule = await request.app[STORE].control.resume(
        name, missed=body.missed, by=who(request, body.by), expected_revision=expected
    )
    return answer_schedule(schedule)


async def backfill_schedule(request: web.Request) -> web.Response:
    """Make up for ticks that did not run. A repeat finds what the first one did: those ticks are in no gap any more.

    So the key is not kept. It is asked for as everywhere else where jobs are made, for clients that retry by it.
    """
    Query(request)
    name = schedule_id(request)
    body = await read_body(request, BackfillBody)
    if not body.dry_run:
        idempotency_key(request)
    done = await backfill(
        request.app[STORE],
        request.app[HOOKS],
        name,
        body.after_ms,
        body.until_ms,
        dry_run=body.dry_run,
        force=body.force,
        by=who(request, body.by),
    )
    return answer(done)


async def run_schedule(request: web.Request) -> web.Response:
    """Queue one extra job at once; a repeat under the same key gets the same answer, marked as replayed."""
    Query(request)
    name, key = schedule_id(request), idempotency_key(request)
    by = who(request, (await read_options(request, RunBody)).by)
    enqueued = await run_now(request.app[STORE], request.app[HOOKS], name, idempotency_key=key, by=by)
    return answer(enqueued, status=202, headers={hdrs.LOCATION: job_path(enqueued.job_id)})


ROUTES: Final = (
    web.post(f"{SCHEDULE_PATH}/pause", pause_schedule),
    web.post(f"{SCHEDULE_PATH}/resume", resume_schedule),
    web.post(f"{SCHEDULE_PATH}/backfill", backfill_schedule),
    web.post(f"{SCHEDULE_PATH}/run", run_schedule),
)
