"""What is told to the clients of the stream: one subscription and one look at the duties for all of them.

Both go on only while a client listens. Of the store being away a client hears nothing, and a ``reset`` when it is back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import anyio

from headgate.errors import TooManyStreams
from headgate.http.listener import Limits, Listener, encode, event
from headgate.log import code_of, log_event
from headgate.models import DutyState, Overview
from headgate.store.hints import RESET, Heed, Hint

Follow: TypeAlias = Callable[[Heed], Coroutine[Any, Any, None]]
"""As `Hints.follow`: hands on what has changed, until cancelled."""

_DEFAULTS: Final = Limits()


class Hub:
    """The clients of one process, and what they are told.

    Args:
        follow: what tells of schedules and jobs.
        overview: who holds the duties now; raises what the store raises.
        limits: what it may cost.
    """

    def __init__(self, follow: Follow, overview: Callable[[], Awaitable[Overview]], limits: Limits = _DEFAULTS) -> None:
        self._follow = follow
        self._overview = overview
        self._limits = limits
        self._listeners: set[Listener] = set()
        self._closed = False
        self._scope: anyio.CancelScope | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._store_time_ms: int | None = None
        self._blind = False

    @contextmanager
    def joined(self, transport: asyncio.Transport, still: Callable[[], bool]) -> Iterator[Listener]:
        """A client on this connection, for as long as the context is open.

        Args:
            transport: of the connection.
            still: whether the client may go on listening; asked before each write.

        Raises:
            TooManyStreams: there are `Limits.listeners` whose connections are not known to be closed.
        """
        if len(self._listeners) >= self._limits.listeners:
            self._dismiss([listener for listener in self._listeners if listener.gone])
        if len(self._listeners) >= self._limits.listeners:
            raise TooManyStreams(f"{self._limits.listeners} clients listen to this process already; try again later")
        listener = Listener(transport, self._limits, self._ping, still)
        self._listeners.add(listener)
        if self._closed:
            listener.end()
        elif self._scope is None:
            self._begin()
        try:
            yield listener
        finally:
            self._dismiss([listener])

    def publish(self, hints: Iterable[Hint]) -> None:
        """Tell every client; each event is made once."""
        if events := encode(hints):
            for listener in self._listeners:
                listener.heed(events)

    async def close(self) -> None:
        """End every stream, now and from now on; no client is waited for."""
        self._closed = True
        self._dismiss(list(self._listeners))
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _dismiss(self, listeners: list[Listener]) -> None:
        for listener in listeners:
            listener.end()
            self._listeners.discard(listener)
        if not self._listeners and self._scope is not None:
            self._scope.cancel()
            self._scope = None

    def _begin(self) -> None:
        # A scope, since the one cancellation of a task may be lost in a call that ends just then; a scope repeats it.
        self._scope = scope = anyio.CancelScope()
        task = asyncio.create_task(self._tell(scope))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._watch_duties)
                    await self._follow(self.publish)
                    tasks.cancel_scope.cancel()
            except Exception as error:  # noqa: BLE001 - said, and heard by every client
                log_event(logging.ERROR, "stream.failed", code=code_of(error))
        if scope is self._scope:  # Nothing would be told any more, and no client would know: each is to come again.
            self._scope = None
            self._dismiss(list(self._listeners))

    async def _watch_duties(self) -> None:
        """A lease that ends announces nothing: who holds a duty is looked at."""
        seen: dict[str, tuple[str | None, int]] = {}
        while True:
            if overview := await self._look():
                self.publish(_hint(duty) for duty in overview.duties if seen.get(duty.name) != _who(duty))
                seen = {duty.name: _who(duty) for duty in overview.duties}
            await asyncio.sleep(self._limits.look_s)

    async def _look(self) -> Overview | None:
        try:
            overview = await self._overview()
        except Exception as error:  # noqa: BLE001 - whatever stands in the store's place, the stream goes on
            if not self._blind:
                log_event(logging.WARNING, "stream.duties_unknown", code=code_of(error))
            self._blind, self._store_time_ms = True, None
            return None
        self._store_time_ms = overview.store_time_ms
        if self._blind:
            self._blind = False
            self.publish([RESET])
        return overview

    def _ping(self) -> bytes:
        return event("ping", {"store_time_ms": self._store_time_ms})


def _who(duty: DutyState) -> tuple[str | None, int]:
    return duty.holder, duty.epoch


def _hint(duty: DutyState) -> Hint:
    return Hint("duty", duty.name, duty.epoch)
