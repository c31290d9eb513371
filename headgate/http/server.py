"""Listening: connections are bounded in number, and none is held for ever by a client that is slow or gone.

Who sends the head of a request byte by byte is cut off by the keep-alive time-out, who sends the body so by another.
What is left is a client that does not read: its answer stays in this process's memory while the connection lives, also
when the connection is to be closed as soon as that is read.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from operator import itemgetter
from typing import Any, Final
from weakref import WeakSet

import anyio
import msgspec
from aiohttp import web

from headgate.errors import InvalidRequest
from headgate.http.app import SERVER_OPTIONS
from headgate.http.malformed import Requests

_SEND_BUFFER_BYTES: Final = 65_536
_SHUTDOWN_SECONDS: Final = 1.0


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one server spends on its clients. Durations are in seconds.

    Attributes:
        connections: most at once; one more is closed as soon as it is made. A process may often have no more than 1,024
            open files, and the store's connections are among them.
        idle_s: how long a connection may be without a whole head of a request.
        linger_s: how long what is left of a body that nobody wants is still read, so that its sender gets its answer.
        unread_s: how long an answer may wait to be read.
        unread_bytes: of all answers that wait to be read; beyond it those that wait longest are given up.
        look_s: between two looks at what waits.
    """

    connections: int = 600
    idle_s: float = 15.0
    linger_s: float = 5.0
    unread_s: float = 60.0
    unread_bytes: int = 64 * 1024 * 1024
    look_s: float = 1.0


_DEFAULTS: Final = Limits()


@asynccontextmanager
async def listening(app: web.Application, host: str, port: int, limits: Limits = _DEFAULTS) -> AsyncIterator[str]:
    """Serve an application while the context is open; yields its base URL.

    At the end requests under way get a second, and what is not read by then is given up.

    Args:
        app: as made by `headgate.http.create_app`, or one that it is mounted in.
        host: the address to listen at.
        port: 0 takes a free one.
        limits: what its clients may cost.

    Raises:
        InvalidRequest: the address cannot be had.
    """
    options = {**SERVER_OPTIONS, "keepalive_timeout": limits.idle_s, "lingering_time": limits.linger_s}
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=_SHUTDOWN_SECONDS, **options)
    await runner.setup()
    assert runner.server is not None
    connections = _Connections(runner.server, options, limits)
    listener: asyncio.Server | None = None
    looking = asyncio.create_task(connections.look())
    try:
        listener = await _listen(connections.door, host, port)
        bound_host, bound_port = listener.sockets[0].getsockname()[:2]
        yield f"http://{f'[{bound_host}]' if ':' in bound_host else bound_host}:{bound_port}"
    finally:
        looking.cancel()
        if listener is not None:
            listener.close()
        with anyio.CancelScope(shield=True):
            await runner.cleanup()
            await connections.end()


async def _listen(door: Callable[[], asyncio.Protocol], host: str, port: int) -> asyncio.Server:
    try:
        return await asyncio.get_running_loop().create_server(door, host, port)
    except socket.gaierror:
        raise InvalidRequest(f"host {host!r} has no address", field="host") from None
    except OSError as error:
        raise InvalidRequest(
            f"port {port} of {host} cannot be had: {os.strerror(error.errno or 0)}; "
            "choose another with --port, 0 takes a free one",
            field="port",
        ) from None


class _Door(asyncio.Protocol):
    """Stands before a connection until it is made: only then is it known how many others there are."""

    def __init__(self, enter: Callable[[asyncio.Transport], None]) -> None:
        self._enter = enter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._enter(transport)


class _Connections:
    """Those of one server. The server itself forgets the transport of a connection that it has begun to close."""

    def __init__(self, server: web.Server, options: Mapping[str, Any], limits: Limits) -> None:
        self._server = server
        self._options = options
        self._limits = limits
        self._transports: WeakSet[asyncio.Transport] = WeakSet()
        self._since: dict[asyncio.Transport, float] = {}

    def door(self) -> asyncio.Protocol:
        """What stands before the next connection."""
        return _Door(self._enter)

    async def look(self) -> None:
        """Give up unread answers, until cancelled."""
        while True:
            self._drop_unread(asyncio.get_running_loop().time())
            await asyncio.sleep(self._limits.look_s)

    async def end(self) -> None:
        """Cut all off that are left."""
        for transport in self._transports:
            transport.abort()
        await asyncio.sleep(0)  # they are closed in the loop's next turn

    def _enter(self, transport: asyncio.Transport) -> None:
        if len(self._server.connections) >= self._limits.connections:
            transport.abort()
            return
        # The kernel's own buffer would grow to megabytes for a client that does not read.
        with suppress(OSError):  # the client may be gone already
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        self._transports.add(transport)
        connection = Requests(self._server, loop=asyncio.get_running_loop(), **self._options)
        transport.set_protocol(connection)
        connection.connection_made(transport)

    def _drop_unread(self, now: float) -> None:
        """Cut off those that had something to read at every look for too long; if it is too much, others before."""
        unread = {transport: size for transport in self._transports if (size := transport.get_write_buffer_size())}
        self._since = {transport: self._since.get(transport, now) for transport in unread}
        excess = sum(unread.values()) - self._limits.unread_bytes
        for transport, began in sorted(self._since.items(), key=itemgetter(1)):
            if excess <= 0 and now - began < self._limits.unread_s:
                break
            transport.abort()
            excess -= unread[transport]
