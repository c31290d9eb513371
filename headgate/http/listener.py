"""One client of the stream: what waits for it, what it is sent, and what becomes of it if it does not read.

A client costs what is bounded here: the hints that wait, one write of them, and the buffers of its connection.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

import msgspec
from aiohttp import web

from headgate.log import log_event
from headgate.store.hints import RESET, Hint

Events: TypeAlias = Mapping[tuple[str, str], bytes]
"""Events as they are sent, by kind and id."""

_BUFFER_BYTES: Final = 65_536
_RETRY: Final = b"retry: 2000\n\n"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one process spends on streams. Durations are in seconds.

    Attributes:
        listeners: most clients at once.
        waiting: most events that wait for a client; one more, and a ``reset`` takes the place of all.
        ping_s: between two pings.
        pace_s: between two writes to a client at least; what changes again meanwhile is said once.
        write_s: how long a client may take to read what was written; then its connection is cut.
        look_s: between two looks at the duties.
    """

    listeners: int = 100
    waiting: int = 256
    ping_s: float = 15.0
    pace_s: float = 0.2
    write_s: float = 15.0
    look_s: float = 2.0


def encode(hints: Iterable[Hint]) -> Events:
    """Each hint as an event; of several of one thing the last."""
    return {(hint.kind, hint.id): _event(hint) for hint in hints}


def _event(hint: Hint) -> bytes:
    if hint == RESET:
        return event("reset", {})
    return event(f"{hint.kind}.changed", {"id": hint.id, "revision": hint.revision})


def event(name: str, data: object) -> bytes:
    """An event; JSON has no line breaks that could end its data."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), msgspec.json.encode(data))


_RESET_KEY: Final = (RESET.kind, RESET.id)
_RESET_EVENT: Final = _event(RESET)


class Listener:
    """One client. What it has read before may be out of date, so that its stream begins with a ``reset``.

    Args:
        transport: of its connection.
        limits: what it may cost.
        ping: the event that is due each `Limits.ping_s`.
        still: whether it may go on listening; asked before each write.
    """

    def __init__(
        self, transport: asyncio.Transport, limits: Limits, ping: Callable[[], bytes], still: Callable[[], bool]
    ) -> None:
        self._transport = transport
        self._limits = limits
        self._ping = ping
        self._still = still
        self._waiting: dict[tuple[str, str], bytes] = {_RESET_KEY: _RESET_EVENT}
        self._news = asyncio.Event()
        self._news.set()
        self._over = False
        self._writing = False
        self._now = asyncio.get_running_loop().time
        self._ping_at = self._now() + limits.ping_s
        transport.set_write_buffer_limits(high=_BUFFER_BYTES)
        # The kernel's own buffer would grow to megabytes for a client that does not read.
        if (connection := transport.get_extra_info("socket")) is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)

    @property
    def gone(self) -> bool:
        """Whether its connection is known to be closed."""
        return self._transport.is_closing()

    def heed(self, events: Events) -> None:
        """Have it sent these. A reset that waits stands for whatever happens until it is sent."""
        if _RESET_KEY in self._waiting:
            return
        self._waiting.update(events)
        if _RESET_KEY in self._waiting or len(self._waiting) > self._limits.waiting:
            self._waiting = {_RESET_KEY: _RESET_EVENT}
        self._news.set()

    def end(self) -> None:
        """End its stream now; the connection is cut if the client is not reading."""
        self._over = True
        self._news.set()
        if self._writing:
            self._transport.abort()

    async def serve(self, request: web.Request, response: web.StreamResponse) -> None:
        """Send what waits as it comes, until `end`.

        Raises:
            ConnectionError: the client is gone, or was cut off since it did not read.
        """
        await response.prepare(request)
        chunk = _RETRY + self._take()
        while not self._over and self._still():
            await self._send(request, response, chunk)
            await self._wait()
            chunk = self._take()

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._ping_at):
                await self._news.wait()

    def _take(self) -> bytes:
        chunk = b"".join(self._waiting.values())
        self._waiting = {}
        self._news.clear()
        if not chunk or self._now() >= self._ping_at:
            self._ping_at = self._now() + self._limits.ping_s
            chunk += self._ping()
        return chunk

    async def _send(self, request: web.Request, response: web.StreamResponse, chunk: bytes) -> None:
        self._writing = True
        try:
            async with asyncio.timeout(self._limits.write_s):
                await response.write(chunk)
                await request.writer.drain()  # `write` waits only once in 64 KiB
        except TimeoutError:
            log_event(logging.INFO, "stream.cut")
            self._transport.abort()
            raise ConnectionResetError from None
        finally:
            self._writing = False
        await asyncio.sleep(self._limits.pace_s)
