"""The store full, read-only, stopped, killed, or foreign: named within the time of one call, and over by itself."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from headgate.health import check_health
from headgate.models import Health
from headgate.process import contending, running_process
from headgate.settings import Settings
from headgate.store.wakeups import Wakeups
from tests.http.client import body_of, serving
from tests.support.servers import PrivateServer
from tests.support.worlds import World, wait_until

QUICK = Settings(lease_ttl_ms=1500, lease_margin_ms=150, call_timeout_ms=500, backoff_max_ms=200)


@asynccontextmanager
async def at_work(server: PrivateServer) -> AsyncIterator[World]:
    """A namespace with a scheduler at work on a schedule that fires five times a second."""
    world = World(server.url, "lone", settings=QUICK)
    try:
        await world.put("busy", "@every:200")
        heart, services = contending(world.store, Wakeups(world._pubsub, world.namespace))
        async with running_process(heart, services):
            await becomes(world, "ok")
            yield world
    finally:
        await world.close()


async def becomes(world: World, status: str) -> Health:
    """Wait until it stands so, and see how."""
    found: list[Health] = []

    async def it_is() -> bool:
        started = time.monotonic()
        found.append(await check_health(world.store))
        assert time.monotonic() - started < world.settings.call_timeout_ms / 1000 + 0.1, "longer than one call"
        return found[-1].status == status

    await wait_until(it_is)
    return found[-1]


async def test_a_full_store_is_named_and_passes_by_itself(own_server: PrivateServer) -> None:
    """Also over HTTP, where the duties can be read all the while."""
    async with at_work(own_server) as lone, serving(lone.store) as api:
        await lone.client.config_set("maxmemory", "1")
        health = await check_health(lone.store)
        assert (health.status, health.store, health.problems[0].code) == ("down", "store_full", "store_full")
        assert health.overview is not None
        full = {"ready": False, "checks": {"store": "store_full", "scheduler": "held"}}
        assert await body_of(await api.get("/readyz"), 503) == full
        duties = await body_of(await api.get("/api/v1/duties"))
        assert (duties["status"], duties["store"], duties["schedules"]) == ("down", "store_full", 1)
        assert (await api.get("/healthz")).status == 200
        await lone.client.config_set("maxmemory", "0")
        await becomes(lone, "ok")
        assert (await body_of(await api.get("/readyz")))["ready"]


async def test_while_it_is_full_the_scheduler_stays_on_duty_and_says_what_is_overdue(own_server: PrivateServer) -> None:
    async with at_work(own_server) as lone:
        settings = Settings(lease_ttl_ms=1500, lease_margin_ms=150, call_timeout_ms=500, overdue_after_ms=300)
        impatient = World(lone.url, lone.namespace, settings=settings)
        await lone.client.config_set("maxmemory", "1")

        async def is_overdue() -> bool:
            health = await check_health(impatient.store)
            assert health.overview is not None
            assert health.overview.duties[0].holder is not None
            return [problem.code for problem in health.problems] == ["store_full", "overdue"]

        await wait_until(is_overdue)
        await lone.client.config_set("maxmemory", "0")
        await becomes(impatient, "ok")
        await impatient.close()


@pytest.mark.parametrize(
    ("refuse", "allow"),
    [
        ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
    ],
)
async def test_a_store_that_takes_no_writes_for_another_reason_is_down(
    own_server: PrivateServer, refuse: str, allow: str
) -> None:
    async with at_work(own_server) as lone:
        await lone.client.execute_command(*refuse.split())
        health = await check_health(lone.store)
        assert (health.status, health.store) == ("down", "store_unavailable")
        assert health.overview is not None, "it can be read"
        assert health.problems[0].message.startswith("It can be read and takes no writes: ")
        await lone.client.execute_command(*allow.split())
        await becomes(lone, "ok")


async def test_a_stopped_store_is_unavailable_within_one_call(own_server: PrivateServer) -> None:
    async with at_work(own_server) as lone:
        own_server.signal(signal.SIGSTOP)
        try:
            health = await becomes(lone, "down")
        finally:
            own_server.signal(signal.SIGCONT)
        assert (health.store, health.overview) == ("store_unavailable", None)
        await becomes(lone, "ok")


async def test_a_killed_store_is_unavailable_and_comes_back(own_server: PrivateServer) -> None:
    async with at_work(own_server) as lone:
        own_server.kill()
        health = await becomes(lone, "down")
        assert (health.store, health.overview) == ("store_unavailable", None)
        own_server.start()
        await becomes(lone, "ok")


@pytest.mark.damages_store("a foreign type")
async def test_a_foreign_type_in_an_index_is_named_and_not_raised(moved: World) -> None:
    await moved.client.set(moved.keys("due"), "foreign")
    health = await check_health(moved.store)
    assert (health.status, health.store) == ("down", "store_error")
