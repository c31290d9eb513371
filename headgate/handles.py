"""What an application offers of its schedules: the store's, with the actors' word on payloads and past the hooks."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Unpack

from headgate.hooks import Hooks, run_now
from headgate.models import Enqueued, Schedule, ScheduleDefinition
from headgate.options import ScheduleOptions
from headgate.store import Store
from headgate.store.events import EventPage
from headgate.store.schedules import PutResult, SchedulePage


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
        self, schedule_id: str, spec: str, *, kind: str, paused: bool = False, **options: Unpack[ScheduleOptions]
    ) -> PutResult:
        """Create a schedule or replace its definition; `options` are the other fields of `ScheduleDefinition`."""
        definition = self._define(spec, kind, dict(options))
        self._check_payload(definition)
        return await self._store.schedules.put(schedule_id, definition, paused=paused)

    async def get(self, schedule_id: str) -> Schedule:
        """One schedule, with its payload."""
        return await self._store.schedules.get(schedule_id)

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> SchedulePage:
        """A page of schedules by id, without payloads."""
        return await self._store.schedules.list(limit=limit, cursor=cursor)

    async def delete(self, schedule_id: str) -> None:
        """Remove a schedule; its history stays for a while."""
        await self._store.schedules.delete(schedule_id)

    async def run_now(self, schedule_id: str, *, idempotency_key: str | None = None) -> Enqueued:
        """One extra job at once; with a key, a repeat within 24 h gets the same one.

        Raises:
            SkipTick: a before-hook skipped it.
            HookFailed: a before-hook raised, or took too long.
        """
        return await run_now(self._store, self._hooks, schedule_id, idempotency_key=idempotency_key or uuid.uuid4().hex)

    async def events(self, schedule_id: str, *, limit: int = 30, cursor: str | None = None) -> EventPage:
        """A page of what became of a schedule's ticks, newest first."""
        return await self._store.events.list(schedule_id, limit=limit, cursor=cursor)
