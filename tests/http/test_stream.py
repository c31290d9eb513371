"""The stream of hints: what is told, what follows a loss, and what a client may cost."""

from __future__ import annotations

import asyncio
import json
import socket
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.typedefs import Handler

from headgate.errors import StoreUnavailable
from headgate.hooks import Hooks
from headgate.http import SERVER_OPTIONS
from headgate.http.access import Access
from headgate.http.context import CONTEXT, Context
from headgate.http.hub import Follow, Hub
from headgate.http.listener import Limits
from headgate.http.problems import problems
from headgate.http.route import ROUTE
from headgate.http.shared import Shared
from headgate.http.stream import HUB, ROUTES, add_hub, stream
from headgate.models import Health, JobRequest, Overview
from headgate.store.attempts import Report
from headgate.store.hints import Hint, Hints
from tests.http.client import Client
from tests.support.worlds import World, running, wait_until

URL = "/api/v1/stream"
QUICK = Limits(ping_s=0.05, pace_s=0.0, write_s=0.3, look_s=0.02)
MARK = ("job.changed", {"id": "mark", "revision": None})
RESET: tuple[str, Any] = ("reset", {})


async def nobody_asks() -> Health:
    raise AssertionError("nobody asks here")


class ProductServer(TestServer):
    """One that, as the product's, does not end a handler whose client has gone."""

    async def _make_runner(self, **options: Any) -> web.BaseRunner:
        return await super()._make_runner(**options | {"handler_cancellation": False})


class Reader:
    """Reads a stream to its end, and keeps its events."""

    def __init__(self, response: ClientResponse) -> None:
        self.response = response
        self.events: list[tuple[str, Any]] = []
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while text := (await self.response.content.readuntil(b"\n\n")).decode():
            fields = dict(line.split(": ", 1) for line in text.strip().splitlines())
            if "event" in fields:
                self.events.append((fields["event"], json.loads(fields["data"])))

    def said(self, *names: str) -> list[tuple[str, Any]]:
        """The events of these names, or all but pings and what is told of duties; marks are nobody's."""
        wanted = names or ("reset", "schedule.changed", "job.changed")
        return [event for event in self.events if event[0] in wanted and event != MARK]

    async def until(self, *expected: tuple[str, Any]) -> None:
        """Wait for these to have been told, in whatever order."""

        async def told() -> bool:
            return all(event in self.events for event in expected)

        await wait_until(told)


def changed(what: str, name: str, revision: int | None = None) -> tuple[str, Any]:
    return f"{what}.changed", {"id": name, "revision": revision}


@web.middleware
async def routed(request: web.Request, handler: Handler) -> web.StreamResponse:
    request[ROUTE] = ROUTES[0]
    return await handler(request)


@asynccontextmanager
async def serving_streams(
    world: World,
    limits: Limits = QUICK,
    *,
    follow: Follow | None = None,
    overview: Callable[[], Awaitable[Overview]] | None = None,
) -> AsyncIterator[Client]:
    """An application that has this one route."""
    app = web.Application(middlewares=[routed, problems])
    app[CONTEXT] = Context(lambda: world.store, Hooks(), Access.open(), "", "", Shared(nobody_asks))
    hints = Hints(world._pubsub, world.namespace)
    add_hub(app, follow or hints.follow, overview or world.store.leases.overview, limits)
    app.router.add_get(URL, stream, allow_head=False)
    server = ProductServer(app)
    await server.start_server(**SERVER_OPTIONS)
    async with TestClient(server) as client:
        yield client


@asynccontextmanager
async def reading(client: Client) -> AsyncIterator[Reader]:
    response = await client.get(URL)
    assert response.status == 200
    reader = Reader(response)
    try:
        yield reader
    finally:
        response.close()
        reader.task.cancel()
        await asyncio.gather(reader.task, return_exceptions=True)


@asynccontextmanager
async def listening(world: World, client: Client) -> AsyncIterator[Reader]:
    """A reader that misses nothing any more."""
    async with reading(client) as reader:
        await mark(world, reader)
        reader.events.clear()
        yield reader


async def mark(world: World, reader: Reader) -> None:
    """Return once what is published is heard."""

    async def heard() -> bool:
        await world.client.publish(world.keys("hints"), '["job - mark"]')
        return MARK in reader.events

    await wait_until(heard)


def hub_of(client: Client) -> Hub:
    assert client.app is not None
    return client.app[HUB]


async def subscribers(world: World) -> int:
    [(_, count)] = await world.client.pubsub_numsub(world.keys("hints"))
    return int(count)


async def silence(_: object) -> None:
    """In place of the channel: nothing is heard."""
    await asyncio.sleep(3600)


async def nothing() -> Overview:
    """In place of the duties: nothing is seen."""
    raise StoreUnavailable("away")


# what is told


async def test_a_stream_begins_with_a_reset_and_goes_through_proxies(world: World) -> None:
    """Nothing of it may be kept or gathered on the way; its client comes again after two seconds."""
    async with serving_streams(world) as client:
        response = await client.get(URL)
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Accel-Buffering"] == "no"
        assert await response.content.readuntil(b"\n\n") == b"retry: 2000\n\n"
        assert await response.content.readuntil(b"\n\n") == b"event: reset\ndata: {}\n\n"
        response.close()


async def test_each_write_of_a_schedule_is_told_with_its_revision(world: World) -> None:
    async with serving_streams(world) as client, listening(world, client) as reader:
        await world.put("a")
        first = int((await world.record("a"))["revision"])
        await reader.until(changed("schedule", "a", first))
        await world.store.control.pause("a", reason="why")
        await reader.until(changed("schedule", "a", first + 1))
        await world.store.schedules.delete("a")
        await reader.until(changed("schedule", "a"))
        assert [event for event in reader.said() if event[0] != "schedule.changed"] == []


async def test_a_tick_tells_of_its_schedule_and_its_job(world: World) -> None:
    """By a scheduler of another process, as far as the stream can see."""
    async with serving_streams(world) as client, listening(world, client) as reader:
        await world.put("a", "@every:1000")
        revision = int((await world.record("a"))["revision"])
        async with running(world.scheduler()):

            async def fired() -> bool:
                return bool(reader.said("job.changed"))

            await wait_until(fired)
        assert changed("schedule", "a", revision) in reader.events
        assert reader.said("job.changed")[0][1]["id"].startswith("sched-a-")


async def test_each_step_of_a_job_is_told(world: World) -> None:
    async with serving_streams(world) as client, listening(world, client) as reader:
        job_id = (await world.store.producer.enqueue(JobRequest(kind="test"))).job_id
        await reader.until(changed("job", job_id))
        reader.events.clear()
        [claim] = (await world.store.attempts.admit("w", ["default"], 1, 60_000)).claims
        await reader.until(changed("job", job_id))
        reader.events.clear()
        await world.store.attempts.finish([Report(claim, "completed")])
        await reader.until(changed("job", job_id))


async def test_a_duty_that_is_taken_and_one_that_is_vacant_are_told(world: World) -> None:
    """A lease that ends announces nothing: it is looked for."""
    heart = world.heart()
    async with serving_streams(world) as client, listening(world, client) as reader:
        await heart.beat()
        await reader.until(changed("duty", "scheduler", 1))
        reader.events.clear()
        await world.client.delete(world.keys("duty", "scheduler"))  # as its end deletes it
        await reader.until(changed("duty", "scheduler", 1))
        await heart.beat()
        await reader.until(changed("duty", "scheduler", 2))
        assert changed("duty", "reclaimer", 0) not in reader.events


async def test_pings_come_regularly_with_store_time(world: World) -> None:
    async with serving_streams(world) as client, listening(world, client) as reader:

        async def pinged() -> bool:
            return len(reader.said("ping")) >= 3

        await wait_until(pinged)
        assert all(abs(data["store_time_ms"] - time.time() * 1000) < 60_000 for _, data in reader.said("ping"))


async def test_what_changes_again_before_it_is_told_is_told_once(world: World) -> None:
    """With its last revision."""
    async with serving_streams(world) as client, listening(world, client) as reader:
        hub = hub_of(client)
        for revision in range(1, 100):
            hub.publish([Hint("schedule", "a", revision), Hint("job", "j")])
        await reader.until(changed("job", "j"))
        assert sorted(reader.said()) == [changed("job", "j"), changed("schedule", "a", 99)]


# what is lost


async def test_a_broken_subscription_is_followed_by_a_reset_and_then_by_hints(world: World) -> None:
    """What was said in between is lost for ever."""
    async with serving_streams(world) as client, listening(world, client) as reader:
        await world.client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        await reader.until(RESET)
        reader.events.clear()
        await mark(world, reader)
        await world.put("a")
        await reader.until(changed("schedule", "a", 1))


@pytest.mark.parametrize("message", ["", "{}", "nonsense", "[1]", '["job"]', '["else - a"]', "subscribed", "\udcff"])
async def test_an_unreadable_message_is_a_loss(world: World, message: str) -> None:
    async with serving_streams(world) as client, listening(world, client) as reader:
        await world.client.publish(world.keys("hints"), message.encode("utf-8", "surrogateescape"))
        await reader.until(RESET)


async def test_a_foreign_revision_is_none_and_a_foreign_id_breaks_no_event(world: World) -> None:
    async with serving_streams(world) as client, listening(world, client) as reader:
        hints = ["schedule 1e5 a", f"schedule {'9' * 30} b", "job - c\ndata: d\n\nevent: e"]
        await world.client.publish(world.keys("hints"), json.dumps(hints))
        await reader.until(changed("schedule", "a"), changed("schedule", "b"))
        await reader.until(changed("job", "c\ndata: d\n\nevent: e"))


async def test_more_than_may_wait_is_one_reset(world: World) -> None:
    """None of what it stands for is told besides."""
    limits = Limits(waiting=5, pace_s=0.0)
    quiet = serving_streams(world, limits, follow=silence, overview=nothing)
    async with quiet as client, reading(client) as reader:
        await reader.until(RESET)
        reader.events.clear()
        hub, most = hub_of(client), [changed("job", f"most-{number}") for number in range(5)]
        hub.publish(Hint("job", f"most-{number}") for number in range(5))
        await reader.until(*most)
        hub.publish(Hint("job", f"more-{number}") for number in range(6))
        await reader.until(RESET)
        hub.publish([Hint("job", "last")])
        await reader.until(changed("job", "last"))
        assert reader.said() == [*most, RESET, changed("job", "last")]


async def test_a_store_that_does_not_answer_ends_no_stream(world: World) -> None:
    """Pings go on, without a time; when it is back, there is a reset."""
    away = False

    async def overview() -> Overview:
        if away:
            raise StoreUnavailable("away")
        return await world.store.leases.overview()

    async with serving_streams(world, overview=overview) as client, listening(world, client) as reader:
        away = True
        await reader.until(("ping", {"store_time_ms": None}))
        assert not reader.said("reset")
        away = False
        await reader.until(RESET)
        assert not reader.task.done()


async def test_without_anybody_to_tell_it_a_stream_ends_instead_of_being_silent(world: World) -> None:
    """Its client comes again, and then there may be."""

    async def follow(_: object) -> None:
        raise StoreUnavailable("not open")

    async with serving_streams(world, follow=follow) as client:
        for _ in range(2):
            response = await client.get(URL)
            assert (await response.read()).endswith(b"event: reset\ndata: {}\n\n")


# what it may cost


async def test_there_is_one_subscription_while_anybody_listens_and_none_after(world: World) -> None:
    async with serving_streams(world) as client, AsyncExitStack() as stack:
        assert await subscribers(world) == 0
        for _ in range(3):
            await stack.enter_async_context(listening(world, client))
        assert await subscribers(world) == 1
        await stack.aclose()

        async def none_left() -> bool:
            return await subscribers(world) == 0

        await wait_until(none_left)


@asynccontextmanager
async def dead_readers(client: Client, count: int) -> AsyncIterator[list[socket.socket]]:
    """Clients that ask and read no more than the head of the answer."""
    loop = asyncio.get_running_loop()
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.settimeout(0)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await loop.sock_connect(each, (client.host, client.port))
            await loop.sock_sendall(each, f"GET {URL} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert (await loop.sock_recv(each, 12)).startswith(b"HTTP/1.1 200")
        yield sockets
    finally:
        for each in sockets:
            each.close()


async def test_a_hundred_clients_that_do_not_read_are_cut_off_and_delay_nobody(world: World) -> None:
    """Until then they cost what waits for them and the buffers of their connections, and no more."""
    limits = Limits(listeners=101, pace_s=0.0, write_s=0.5)
    async with serving_streams(world, limits) as client, listening(world, client) as reader:
        hub = hub_of(client)
        async with dead_readers(client, 100):
            assert len(hub._listeners) == 101
            tracemalloc.start()
            await fill(hub, 100)

            async def cut_off() -> bool:
                return len(hub._listeners) == 1

            await wait_until(cut_off)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert most < 100 * 400_000
            hub.publish([Hint("schedule", "a", 1)])
            await reader.until(changed("schedule", "a", 1))


async def fill(hub: Hub, count: int) -> None:
    """Publish until so many clients are waited for to read."""
    batch = [Hint("job", f"{number:0255}") for number in range(Limits().waiting)]

    async def stuck() -> bool:
        waited_for = sum(listener._writing for listener in hub._listeners) >= count
        if not waited_for:
            hub.publish(batch)
        return waited_for

    await wait_until(stuck)


async def test_a_client_that_does_not_read_is_cut_off_however_little_it_is_to_be_sent(world: World) -> None:
    """Once the buffers are full, the next small event is waited for like a large one."""
    limits = Limits(pace_s=0.0, write_s=0.3)
    async with serving_streams(world, limits) as client, dead_readers(client, 1):
        hub = hub_of(client)
        [listener] = hub._listeners

        async def full() -> bool:
            hub.publish([Hint("job", f"{number:0255}") for number in range(10)])
            return listener._transport.get_write_buffer_size() > 65_536

        await wait_until(full)

        async def cut_off() -> bool:
            return listener.gone

        await wait_until(cut_off)


async def test_one_client_too_many_is_told_to_come_again(world: World) -> None:
    """One whose connection is closed counts no more, though nothing was written to it since."""
    quiet = serving_streams(world, Limits(), follow=silence, overview=nothing)
    async with quiet as client, dead_readers(client, 100) as sockets:
        response = await client.get(URL)
        assert response.status == 503
        assert response.headers["Retry-After"] == "1"
        assert (await response.json(content_type="application/problem+json"))["code"] == "too_many_streams"
        sockets[0].close()

        async def accepted() -> bool:
            response = await client.get(URL)
            response.close()
            return response.status == 200

        await wait_until(accepted)


async def test_a_server_that_shuts_down_waits_for_no_stream(world: World) -> None:
    """Neither for those that read, which end in order, nor for those that do not."""
    async with serving_streams(world, Limits(pace_s=0.0)) as client, listening(world, client) as reader:
        hub = hub_of(client)
        async with dead_readers(client, 3):
            await fill(hub, 3)
            hub.publish([Hint("schedule", "a", 1)])
            await reader.until(changed("schedule", "a", 1))
            began = time.monotonic()
            await client.server.close()
            assert time.monotonic() - began < 2
        await reader.task
        assert await subscribers(world) == 0


async def test_an_unknown_query_parameter_is_refused(world: World) -> None:
    async with serving_streams(world) as client:
        assert (await client.get(f"{URL}?since=1")).status == 400
