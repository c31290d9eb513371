"""Slow and dead clients, on a real port: what they may hold, for how long, and that nobody else waits for them."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

import pytest
from aiohttp import ClientSession

from headgate.errors import InvalidRequest
from headgate.http import body, make_api, server, turns
from headgate.http.server import listening
from tests.http.client import JOB, key, quiet
from tests.http.served import JOBS, LIST, PATIENCE_S, Gate, ended, serving_on_a_port, until
from tests.support.worlds import World

GET = f"GET {LIST}?limit=200 HTTP/1.1\r\nHost: h\r\n\r\n".encode()


async def fill(world: World, count: int = 200) -> None:
    """Schedules whose list is a page of some 1.3 KB each."""
    for at in range(count):
        await world.put(f"s-{at:03}", description="x" * 1_000)


@pytest.fixture
def lists(world: World, monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate(world.store.schedules.list)
    monkeypatch.setattr(world.store.schedules, "list", gate)
    return gate


# slow


async def test_who_sends_a_head_byte_by_byte_is_cut_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after a first request in good order. Meanwhile others are answered."""
    async with serving_on_a_port(world, monkeypatch, idle_s=0.3) as served:
        slow = [await served.connect() for _ in range(20)]
        for reader, writer in slow[:10]:
            writer.write(GET)
            await reader.readuntil(b"]")
        for at in range(20):
            for _, writer in slow:
                writer.write(GET[at : at + 1])
                await writer.drain()
        await served.answers()
        began = time.monotonic()
        for reader, writer in slow:
            await ended(reader)
            writer.close()
        assert time.monotonic() - began < 3
        await until(lambda: served.open == 0)


async def test_who_sends_a_body_byte_by_byte_is_told_and_cut_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile it has no turn, though there are more of these than turns."""
    monkeypatch.setattr(body, "_READ_SECONDS", 0.5)
    head = f"POST {JOBS} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n"
    async with serving_on_a_port(world, monkeypatch, linger_s=0.05) as served:
        slow = [await served.connect() for _ in range(3 * turns.MAX_WRITES)]
        for letter in head + '{"kind"':
            for _, writer in slow:
                writer.write(letter.encode())
                await writer.drain()
        async with ClientSession() as session:
            assert (await session.post(served.address + JOBS, json=JOB, headers=key())).status == 201
        assert served.open >= len(slow)
        for reader, writer in slow:
            assert b'"code":"request_timeout"' in await ended(reader)
            writer.close()
        await until(lambda: served.open == 0)


# dead


async def test_a_hundred_dead_readers_cost_bounded_memory_and_are_dropped(
    world: World, monkeypatch: pytest.MonkeyPatch, measured: Callable[[str], None]
) -> None:
    """Each asks for much, again and again, and gets no further than one answer."""
    await fill(world)
    async with serving_on_a_port(world, monkeypatch, look_s=3_600) as served, AsyncExitStack() as stack:
        await served.answers()
        async with ClientSession() as session:
            page = len(await (await session.get(f"{served.address}{LIST}?limit=200")).read())
        tracemalloc.start()
        stack.callback(tracemalloc.stop)
        for _ in range(100):
            stack.enter_context(served.dead_reader(GET * 20))
        await until(lambda: len(served.unread) == 100)
        held, traced = sum(served.unread.values()), tracemalloc.get_traced_memory()[0]
        assert max(served.unread.values()) <= page + 65_536 + 1_024
        assert traced < 100 * (2 * page + 100_000)  # the answer itself, and what of it the kernel did not take
        measured(f"100 dead readers of {page:,} bytes hold {held:,} bytes, {traced:,} in all")
        await served.answers()
        served.look(0)
        served.look(59)
        assert served.open == 100
        served.look(61)
        await until(lambda: served.open == 0 and not served.connections._server.connections)
        await served.answers()


async def test_dead_readers_are_dropped_in_time_and_others_are_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(world)
    async with serving_on_a_port(world, monkeypatch, unread_s=0.1, look_s=0.01) as served:
        alive, writer = await served.connect()
        with served.dead_reader(GET):
            await until(lambda: len(served.unread) == 1)
            await until(lambda: not served.unread)
        writer.write(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert (await ended(alive)).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_all_that_is_unread_is_bounded_and_the_longest_is_given_up_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(world)
    async with (
        serving_on_a_port(world, monkeypatch, unread_bytes=1_000_000, look_s=3_600) as served,
        AsyncExitStack() as stack,
    ):
        clients = []
        for count in range(20):
            clients.append(stack.enter_context(served.dead_reader(GET)))
            await until(lambda: clients[-1].getsockname() in served.unread)
            served.look(count)
        assert 500_000 < sum(served.unread.values()) <= 1_000_000
        assert set(served.unread) == {client.getsockname() for client in clients[-len(served.unread) :]}


async def test_a_dead_reader_is_dropped_though_its_connection_is_being_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keep-alive time-out closes what is idle; with something left to read, that alone would take for ever."""
    monkeypatch.setattr(server, "_SEND_BUFFER_BYTES", 4_096)
    await fill(world, 40)
    async with serving_on_a_port(world, monkeypatch, idle_s=0.05, look_s=3_600) as served:
        with served.dead_reader(GET):
            await until(lambda: len(served.unread) == 1 and served.open == 0)
            assert len(served.connections._server.connections) == 1
            served.look(0)
            served.look(61)
            await until(lambda: not served.connections._server.connections)
            assert not served.unread


# gone


async def test_who_went_away_before_its_turn_is_not_worked_for(
    world: World, lists: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving_on_a_port(world, monkeypatch) as served:
        staying = [await served.connect() for _ in range(turns.MAX_AT_ONCE)]
        for _, writer in staying:
            writer.write(GET)
        await lists.holds(turns.MAX_AT_ONCE)
        for _ in range(10):
            _, writer = await served.connect()
            writer.write(GET)
            await writer.drain()
            writer.close()
        await until(lambda: served.open == len(staying))
        lists.open()
        for reader, writer in staying:
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
            writer.close()
        await until(lambda: not served.connections._server.connections)
        assert lists.calls == turns.MAX_AT_ONCE


async def test_who_goes_away_in_the_middle_of_a_large_body_leaves_its_place(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MAX_LARGE_BODIES", 1)
    head = f"POST {JOBS} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 999999\r\n\r\n{{"
    async with serving_on_a_port(world, monkeypatch) as served, ClientSession() as session:
        for _ in range(3):
            _, writer = await served.connect()
            writer.write(head.encode())
            await until(lambda: served.open == 1)
            writer.close()
            await until(lambda: served.open == 0)
        large = JOB | {"payload": "x" * 100_000}
        assert (await session.post(served.address + JOBS, json=large, headers=key())).status == 201


# many


async def test_a_rush_beyond_the_bound_is_closed_at_once_and_the_others_are_served(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving_on_a_port(world, monkeypatch, connections=5) as served:
        all_of_them = await asyncio.gather(*(served.connect() for _ in range(50)))
        for _, writer in all_of_them:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")

        async def answered(reader: asyncio.StreamReader) -> bool:
            with suppress(ConnectionError):
                return (await reader.read(12)) == b"HTTP/1.1 200"
            return False

        async with asyncio.timeout(PATIENCE_S):
            served_ones = await asyncio.gather(*(answered(reader) for reader, _ in all_of_them))
        assert sum(served_ones) == served.open == 5
        for _, writer in all_of_them:
            writer.close()
        await until(lambda: not served.connections._server.connections)
        await served.answers()


async def test_the_end_is_quick_whatever_clients_do(world: World, lists: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle, in the middle of a head or a body, dead, and with a request under way."""
    monkeypatch.setattr(server, "_SHUTDOWN_SECONDS", 0.1)
    await fill(world)
    post = f"POST {JOBS} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{{".encode()
    lists.open()
    async with AsyncExitStack() as stack:
        async with serving_on_a_port(world, monkeypatch) as served:
            stack.enter_context(served.dead_reader(GET))
            await until(lambda: len(served.unread) == 1)
            lists.close()
            for sent in (b"", GET[:20], post, GET):
                _, writer = await served.connect()
                stack.callback(writer.close)
                writer.write(sent)
            await lists.holds(1)
            began = time.monotonic()
        assert time.monotonic() - began < 2
        assert not served.unread
        await until(lambda: served.open == 0)
        with pytest.raises(ConnectionRefusedError):
            await served.connect()


async def test_an_error_inside_comes_out_as_it_is(world: World) -> None:
    with pytest.raises(InvalidRequest):
        async with listening(make_api(lambda: world.store, quiet), "127.0.0.1", 0):
            raise InvalidRequest("mine")
