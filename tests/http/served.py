"""For tests of load: a server on a real port with what it holds in sight, and a gate before an operation."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession

from headgate.http import make_api, server
from headgate.http.server import Limits, listening
from tests.http.client import quiet
from tests.support.worlds import World, wait_until

PATIENCE_S = 10.0
LIST = "/api/v1/periodic"
JOBS = "/api/v1/jobs"


class Gate:
    """Stands before something: counts who is in, and lets them on once it is open."""

    def __init__(self, beyond: Callable[..., Awaitable[Any]]) -> None:
        self._beyond = beyond
        self._open = asyncio.Event()
        self.inside = self.most = self.calls = 0

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    async def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self._open.wait()
            return await self._beyond(*args, **options)
        finally:
            self.inside -= 1

    async def holds(self, count: int) -> None:
        """Wait until so many are in."""

        async def there() -> bool:
            return self.inside == count

        await wait_until(there)


class Served:
    """A server, and what it holds."""

    def __init__(self, address: str, connections: Any) -> None:
        self.address = address
        self.host, _, port = address.removeprefix("http://").rpartition(":")
        self.port = int(port)
        self.connections = connections

    @property
    def unread(self) -> dict[Any, int]:
        """What waits to be read, by the address of its client, in bytes."""
        return {
            transport.get_extra_info("peername"): size
            for transport in self.connections._transports
            if (size := transport.get_write_buffer_size())
        }

    @property
    def open(self) -> int:
        """Connections that it does not know to be closed."""
        return sum(not transport.is_closing() for transport in self.connections._transports)

    def look(self, seconds: float) -> None:
        """Have it look at what is unread as if so many seconds had passed."""
        self.connections._drop_unread(asyncio.get_running_loop().time() + seconds)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.host, self.port)

    def dead_reader(self, request: bytes) -> socket.socket:
        """A client that asks, and never reads."""
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((self.host, self.port))
        client.sendall(request)
        return client

    async def answers(self, path: str = LIST) -> None:
        """It answers somebody else, at once."""
        async with asyncio.timeout(PATIENCE_S), ClientSession() as session:
            assert (await session.get(self.address + path)).status == 200


@asynccontextmanager
async def serving_on_a_port(world: World, patch: pytest.MonkeyPatch, **limits: Any) -> AsyncIterator[Served]:
    seen: list[Any] = []

    class Seen(server._Connections):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            seen.append(self)

    patch.setattr(server, "_Connections", Seen)
    async with listening(make_api(lambda: world.store, quiet), "127.0.0.1", 0, Limits(**limits)) as address:
        yield Served(address, seen[0])


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What comes until the connection is closed, which must be soon."""
    async with asyncio.timeout(PATIENCE_S):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


async def until(condition: Callable[[], bool]) -> None:
    async def holds() -> bool:
        return condition()

    await wait_until(holds)
