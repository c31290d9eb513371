"""Requests in turns: only a few are worked on at once, the others wait, and too many are sent away.

The API may share a process, and so one event loop, with a scheduler. Whatever is ready runs before the scheduler's next
step, and what the store was asked before is answered before: each step waits for as many requests as are under way, and
a herd of ticks takes a dozen steps. A page of 200 takes some 3 ms of both, so few are read at once. Writes take less,
but may wait for a hook. Neither keeps the other waiting. Streams are no part of it: they mostly sleep.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from headgate.errors import Code, HeadgateError

MAX_AT_ONCE: Final = 2
MAX_WRITES: Final = 4
MAX_PROBES: Final = 4
"""Probes have turns of their own, to answer whatever the others do; but not any number, since they ask for no token."""
MAX_WAITING: Final = 500
MAX_WAIT_SECONDS: Final = 10.0
SMALL_BODY_BYTES: Final = 65_536
MAX_LARGE_BODIES: Final = 16
"""A body over `SMALL_BODY_BYTES`, or of a size that is not announced: of these so many are held at once."""


class Overloaded(HeadgateError):
    """There are too many requests; this one was not looked at."""

    code = Code.OVERLOADED


class Turns:
    """Who may go on, of one application."""

    def __init__(self) -> None:
        self._reads = anyio.Semaphore(MAX_AT_ONCE, fast_acquire=True)
        self._writes = anyio.Semaphore(MAX_WRITES, fast_acquire=True)
        self._probes = anyio.Semaphore(MAX_PROBES, fast_acquire=True)
        self._large = anyio.Semaphore(MAX_LARGE_BODIES, fast_acquire=True)
        self._waiting = 0

    @asynccontextmanager
    async def turn(self, *, writes: bool = False) -> AsyncIterator[None]:
        """Wait for a turn, and have it while the context is open; raises `Overloaded`."""
        async with self._held(self._writes if writes else self._reads):
            yield

    @asynccontextmanager
    async def probe(self) -> AsyncIterator[None]:
        """The same of a probe, which waits for other probes only, and is never sent away."""
        async with self._probes:
            yield

    @asynccontextmanager
    async def body(self, length: int | None) -> AsyncIterator[None]:
        """Room for the body of a request, as long as the context is open; raises `Overloaded`."""
        if length is not None and length <= SMALL_BODY_BYTES:
            yield
            return
        async with self._held(self._large):
            yield

    @asynccontextmanager
    async def _held(self, places: anyio.Semaphore) -> AsyncIterator[None]:
        try:
            places.acquire_nowait()
        except anyio.WouldBlock:
            await self._wait(places)
        try:
            yield
        finally:
            places.release()

    async def _wait(self, places: anyio.Semaphore) -> None:
        if self._waiting >= MAX_WAITING:
            raise Overloaded(f"{MAX_WAITING} requests wait for their turn already")
        self._waiting += 1
        try:
            with anyio.fail_after(MAX_WAIT_SECONDS):
                await places.acquire()
        except TimeoutError:
            raise Overloaded(f"no turn came within {MAX_WAIT_SECONDS:g} s") from None
        finally:
            self._waiting -= 1
