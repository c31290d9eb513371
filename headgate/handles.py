"""What an application offers of its schedules: the store's, with the actors' word on payloads and past the hooks."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Literal, Unpack

from headgate.hooks import Hooks, backfill, run_now
from headgate.models import (
    Backfilled,
    ChangePage,
    Enqueued,
    Explanation,
    GapPage,
    ManualRunPage,
    MissedTicks,
    Schedule,
    ScheduleDefinition,
)
from headgate.options import ScheduleOptions
from headgate.store import Store
from headgate.store.events import EventPage
from headgate.store.listing import SchedulePage
from headgate.store.schedules import PutResult
from headgate.store.upcoming import NextTicks, Preview


class Schedules:
    """The schedules of an application's namespace. Every method raises what its namesake in the store raises."""

    def __init__(
        self,
        store: Store,
        hooks: Hooks,
        define: Callable[[str, str, dict[str, Any]], ScheduleDefinition],
        check_payload: Callable[[ScheduleDefinition], None],
    ) -> None:
        self._store = store
        self._hooks = hooks
        self._define = define
        self._check_payload = check_payload

    async def put(
        self,
        schedule_id: str,
        spec: str,
        *,
        kind: str,
        paused: bool = False,
        by: str = "",
        expected_revision: int | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> PutResult:
        """Create a schedule or replace its definition; `options` are the other fields of `ScheduleDefinition`."""
        definition = self._define(spec, kind, dict(options))
        self._check_payload(definition)
        return await self._store.schedules.put(
            schedule_id, definition, paused=paused, by=by, expected_revision=expected_revision
        )

    async def get(self, schedule_id: str) -> Schedule:
        """One schedule, with its payload."""
        return await self._store.schedules.get(schedule_id)

    async def list(
        self,
        *,
        limit: int = 50,
        cursor: str | None = None,
        prefix: str = "",
        label: str = "",
        paused: bool | None = None,
        failing: bool | None = None,
        order: Literal["id", "next_run"] = "id",
    ) -> SchedulePage:
        """A page of schedules by id, or the next to run first, without payloads; perhaps only some of them."""
        return await self._store.schedules.list(
            limit=limit, cursor=cursor, prefix=prefix, label=label, paused=paused, failing=failing, order=order
        )

    async def delete(self, schedule_id: str, *, by: str = "", expected_revision: int | None = None) -> None:
        """Remove a schedule; its history stays for a while."""
        await self._store.schedules.delete(schedule_id, by=by, expected_revision=expected_revision)

    async def pause(
        self,
        schedule_id: str,
        *,
        reason: str = "",
        by: str = "",
        until_ms: int | None = None,
        expected_revision: int | None = None,
    ) -> Schedule:
        """Let a schedule fire no more, until somebody resumes it or `until_ms` comes."""
        return await self._store.control.pause(
            schedule_id, reason=reason, by=by, until_ms=until_ms, expected_revision=expected_revision
        )

    async def resume(
        self,
        schedule_id: str,
        *,
        missed: MissedTicks | Literal["none", "run_once", "backfill"] = MissedTicks.NONE,
        by: str = "",
        expected_revision: int | None = None,
    ) -> Schedule:
        """Let a paused schedule go on from now; `missed` says what becomes of the ticks of the pause."""
        return await self._store.control.resume(schedule_id, missed=missed, by=by, expected_revision=expected_revision)

    async def run_now(self, schedule_id: str, *, idempotency_key: str | None = None, by: str = "") -> Enqueued:
        """One extra job at once; with a key, a repeat within 24 h gets the same one.

        Raises:
            SkipTick: a before-hook skipped it.
            HookFailed: a before-hook raised, or took too long.
        """
        key = idempotency_key or uuid.uuid4().hex
        return await run_now(self._store, self._hooks, schedule_id, idempotency_key=key, by=by)

    async def backfill(
        self,
        schedule_id: str,
        after_ms: int,
        until_ms: int,
        *,
        dry_run: bool = False,
        force: bool = False,
        by: str = "",
        idempotency_key: str | None = None,
    ) -> Backfilled:
        """Make up for the ticks of ``after_ms < tick <= until_ms`` that did not run, at most 1,000.

        With a key, the same request within 24 h gets the same answer, or goes on with one that was cut off.
        """
        return await backfill(
            *(self._store, self._hooks, schedule_id, after_ms, until_ms),
            dry_run=dry_run,
            force=force,
            by=by,
            idempotency_key=idempotency_key,
        )

    async def events(self, schedule_id: str, *, limit: int = 30, cursor: str | None = None) -> EventPage:
        """A page of what became of a schedule's ticks, newest first."""
        return await self._store.events.list(schedule_id, limit=limit, cursor=cursor)

    async def explain(self, schedule_id: str, tick_ms: int) -> Explanation:
        """Did it run, and why not: what became of a tick, in a code, in a sentence and in facts."""
        return await self._store.explains.explain(schedule_id, tick_ms)

    async def gaps(self, schedule_id: str, *, limit: int = 30, cursor: str | None = None) -> GapPage:
        """A page of the ranges of ticks that did not run, oldest first."""
        return await self._store.backfills.gaps(schedule_id, limit=limit, cursor=cursor)

    async def manual_runs(self, schedule_id: str, *, limit: int = 30, cursor: str | None = None) -> ManualRunPage:
        """A page of what was asked for by hand, newest first."""
        return await self._store.runs.list(schedule_id, limit=limit, cursor=cursor)

    async def changes(self, schedule_id: str, *, limit: int = 30, cursor: str | None = None) -> ChangePage:
        """A page of who changed what, newest first."""
        return await self._store.changes.list(schedule_id, limit=limit, cursor=cursor)

    async def upcoming(self, schedule_id: str, n: int = 10) -> NextTicks:
        """The next ticks of a schedule, 1 to 1,000, those after a pause that ends by itself; if none, why."""
        return await self._store.upcoming.of(schedule_id, n)

    async def preview(
        self,
        spec: str,
        n: int = 10,
        *,
        starts_at_ms: int | None = None,
        ends_at_ms: int | None = None,
        jitter_ms: int = 0,
        after_ms: int | None = None,
    ) -> Preview:
        """What a spec means, what may surprise about it, and its next ticks, 1 to 1,000; nothing is stored."""
        return await self._store.upcoming.preview(
            spec, n, starts_at_ms=starts_at_ms, ends_at_ms=ends_at_ms, jitter_ms=jitter_ms, after_ms=after_ms
        )
