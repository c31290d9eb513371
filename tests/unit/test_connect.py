"""Connections without a server: URLs, deadlines, no silent repeats, and the translation of errors."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from redis import exceptions as failures

from headgate import connect as hc
from headgate.errors import (
    InvalidRequest,
    LeaseLost,
    StoreError,
    StoreFull,
    StoreUnavailable,
    StoreUnsupported,
)
from headgate.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from redis.asyncio import Redis

SECRET = "s3cr3t-w0rd"
FAST = Settings(call_timeout_ms=50)


class FakePeer:
    """Accepts connections and gives one answer to whatever arrives, or none."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.received: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(4096):
                self.received.append(data)
                if self.answer is not None:
                    writer.write(self.answer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def on_tcp(self) -> AsyncIterator[str]:
        async with await asyncio.start_server(self.serve, "127.0.0.1", 0) as server:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


class StubClient:
    """Answers INFO, the only question `check_server` asks."""

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self._answer = answer

    async def info(self) -> dict[str, Any]:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


async def checked(answer: dict[str, Any] | Exception) -> hc.ServerInfo:
    return await hc.check_server(cast("Redis", StubClient(answer)))


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        (f"redis://user:{SECRET}@db.example:6380/2?ssl_password={SECRET}", "redis://db.example:6380/2"),
        (f"rediss://:{SECRET}@[::1]:6380/0", "rediss://[::1]:6380/0"),
        (f"unix://user:{SECRET}@/run/hg/valkey.sock?db=1&password={SECRET}", "unix:///run/hg/valkey.sock"),
        ("redis://localhost", "redis://localhost"),
        ("redis://a:12345/@b@c/0", "(unreadable URL)"),
        (f"redis://:12/{SECRET}@host/0", "(unreadable URL)"),
        (f"redis://:12?{SECRET}@host/0", "(unreadable URL)"),
        (f"redis://:12#{SECRET}@host/0", "(unreadable URL)"),
        (f"redis://:{SECRET}/x", "(unreadable URL)"),
        (f"{SECRET}@host", "(unreadable URL)"),
        (f"http://host/{SECRET}", "(unreadable URL)"),
        (f"redis://[{SECRET}", "(unreadable URL)"),
        ("", "(unreadable URL)"),
    ],
)
def test_safe_url_shows_where_and_never_who(url: str, safe: str) -> None:
    assert hc.safe_url(url) == safe


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        f"http://:{SECRET}@host/0",
        f"redis://:{SECRET}/x@host/0",
        f"redis://:{SECRET}?x@host/0",
        f"redis://:{SECRET}#x@host/0",
        f"redis://:{SECRET}@host:port/0",
        f"redis://:{SECRET}@host:99999/0",
        f"redis://:{SECRET}@host/zero",
        f"redis://:{SECRET}@host/0/1",
        f"redis://:{SECRET}@host/0?db=x",
        f"redis://:{SECRET}@host/0?socket_timeout=600",
        f"redis://:{SECRET}@host/0?max_connections=9999",
        f"redis://:{SECRET}@host/0?ssl_cert_reqs=none",
        f"rediss://:{SECRET}@host/0?ssl_cert_reqs={SECRET}",
        f"rediss://:{SECRET}@host/0?ssl_{SECRET}=1",
        f"unix://user:{SECRET}@/",
        "unix://relative/valkey.sock",
        "unix:///run/a.sock#x",
    ],
)
def test_an_unusable_url_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        hc.connect(url, Settings())
    assert refused.value.field == "redis_url"
    assert SECRET not in refused.value.message
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://host:6380/3", {"host": "host", "port": 6380, "db": 3}),
        ("rediss://user:a%40b@host/0?ssl_cert_reqs=none", {"username": "user", "password": "a@b"}),
        ("unix:///run/my%20dir/v.sock?db=2", {"path": "/run/my dir/v.sock", "db": 2}),
    ],
)
@pytest.mark.parametrize("make", [hc.connect, hc.connect_pubsub])
def test_every_connection_is_tried_once_and_has_deadlines(make: Any, url: str, expected: dict[str, Any]) -> None:
    client = make(url, Settings(call_timeout_ms=1_200))
    options = client.connection_pool.connection_kwargs
    assert options.items() >= expected.items()
    assert (options["socket_timeout"], options["socket_connect_timeout"]) == (1.2, 1.2)
    assert options["retry"].get_retries() == 0
    assert options["retry_on_error"] == []
    assert options["decode_responses"] is True
    assert options["client_name"].startswith("headgate")
    assert client.connection_pool.max_connections == hc.MAX_CONNECTIONS
    assert client.connection_pool.timeout == 1.2


@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPIDLE"), reason="Linux socket options")
async def test_a_pubsub_connection_notices_a_vanished_peer() -> None:
    peer = FakePeer(b"+OK\r\n")
    async with peer.on_tcp() as address:
        client = hc.connect_pubsub(f"redis://{address}", FAST)
        pool: Any = client.connection_pool
        connection = await pool.get_connection()
        try:
            sock = connection._writer.get_extra_info("socket")
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 2
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 3
        finally:
            await pool.release(connection)
            await client.aclose()


async def test_a_silent_peer_costs_one_deadline_and_one_attempt() -> None:
    peer = FakePeer(None)
    async with peer.on_tcp() as address:
        client = hc.connect(f"redis://{address}", FAST)
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable, match="did not answer in time"), hc.translated():
            await client.ping()
        await client.aclose()
        assert time.monotonic() - begun < 1
        assert len(peer.received) == 1


async def test_a_refused_connection_is_unavailable() -> None:
    async with FakePeer(None).on_tcp() as address:
        pass
    client = hc.connect(f"redis://{address}", FAST)
    with pytest.raises(StoreUnavailable) as away, hc.translated():
        await client.ping()
    await client.aclose()
    assert "127.0.0.1" not in away.value.message
    assert away.value.__suppress_context__


@pytest.mark.parametrize("answer", [b"-WRONGPASS no\r\n", b"-NOAUTH no\r\n"])
@pytest.mark.parametrize("unix", [False, True])
async def test_a_refused_login_says_so(tmp_path: Path, answer: bytes, *, unix: bool) -> None:
    peer = FakePeer(answer)
    path = tmp_path / "s"
    if unix:
        server = await asyncio.start_unix_server(peer.serve, path)
        url = f"unix://{path}?password={SECRET}"
    else:
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
        url = f"redis://:{SECRET}@127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    async with server:
        client = hc.connect(url, FAST)
        with pytest.raises(StoreUnavailable, match="refused authentication") as refused, hc.translated():
            await client.ping()
        await client.aclose()
    assert SECRET not in refused.value.message


async def test_a_call_beyond_the_connections_waits_and_then_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hc, "MAX_CONNECTIONS", 1)
    async with FakePeer(b"+OK\r\n").on_tcp() as address:
        client = hc.connect(f"redis://{address}", FAST)
        pool: Any = client.connection_pool
        busy = await pool.get_connection()
        with pytest.raises(StoreUnavailable), hc.translated():
            await client.ping()
        await pool.release(busy)
        await client.aclose()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (failures.ConnectionError(SECRET), StoreUnavailable),
        (failures.TimeoutError(SECRET), StoreUnavailable),
        (TimeoutError(SECRET), StoreUnavailable),
        (failures.BusyLoadingError(SECRET), StoreUnavailable),
        (failures.MaxConnectionsError(SECRET), StoreUnavailable),
        (OSError(2, SECRET), StoreUnavailable),
        (failures.ReadOnlyError(SECRET), StoreUnavailable),
        (failures.ClusterDownError(SECRET), StoreUnavailable),
        (failures.MasterDownError(SECRET), StoreUnavailable),
        (failures.TryAgainError(SECRET), StoreUnavailable),
        (failures.AuthenticationError(SECRET), StoreUnavailable),
        (failures.AuthorizationError(SECRET), StoreUnavailable),
        (failures.NoPermissionError(SECRET), StoreUnavailable),
        (failures.ResponseError(f"BUSY {SECRET}"), StoreUnavailable),
        (failures.ResponseError(f"MISCONF {SECRET}"), StoreUnavailable),
        (failures.OutOfMemoryError(SECRET), StoreFull),
        (failures.ResponseError(f"WRONGTYPE {SECRET}"), StoreError),
        (failures.NoScriptError(SECRET), StoreError),
        (failures.DataError(SECRET), StoreError),
        (failures.InvalidResponse(SECRET), StoreError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
def test_translation_keeps_the_meaning_and_drops_the_words(error: Exception, expected: type[StoreError]) -> None:
    translated = hc.translate(error)
    assert type(translated) is expected
    assert SECRET not in str(translated)


def test_our_own_errors_pass_unchanged() -> None:
    lost = LeaseLost("gone")
    assert hc.translate(lost) is lost
    with pytest.raises(ValueError, match="a bug"), hc.translated():
        raise ValueError("a bug")


GOOD = {"maxmemory_policy": "noeviction", "aof_enabled": 1}


@pytest.mark.parametrize(
    ("answer", "kind", "version"),
    [
        ({"redis_version": "7.0.0", **GOOD}, "redis", "7.0.0"),
        ({"redis_version": "8.4.1", **GOOD}, "redis", "8.4.1"),
        ({"redis_version": 10.0, **GOOD}, "redis", "10.0"),
        ({"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.0"}, "valkey", "8.1.0"),
        ({"redis_version": "7.2.4", "server_name": "valkey"}, "valkey", "7.2.4"),
    ],
)
async def test_a_recent_server_is_accepted(answer: dict[str, Any], kind: str, version: str) -> None:
    assert await checked(answer) == hc.ServerInfo(kind=cast("Any", kind), version=version)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({"redis_version": "6.2.14"}, "Redis 6.2.14"),
        ({"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "7.1.9"}, "Valkey 7.1.9"),
        ({}, "Redis unknown"),
    ],
)
async def test_an_old_server_is_refused_with_what_is_needed(answer: dict[str, Any], found: str) -> None:
    with pytest.raises(StoreUnsupported, match=r"Redis >= 7\.0 or Valkey >= 7\.2") as refused:
        await checked(answer)
    assert found in refused.value.message


async def test_a_set_up_that_loses_data_is_a_warning() -> None:
    info = await checked({"redis_version": "7.4.0", "maxmemory_policy": "allkeys-lru", "aof_enabled": 0})
    assert [warning.partition(" ")[0] for warning in info.warnings] == ["maxmemory-policy", "appendonly"]
    assert "allkeys-lru" in info.warnings[0]


async def test_a_server_that_refuses_to_answer_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable, match="access rules"):
        await checked(failures.NoPermissionError(SECRET))
