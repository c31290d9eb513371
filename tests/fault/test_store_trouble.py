"""The store killed, emptied of scripts, robbed of connections, or silent, under a scheduler that is working.

A consumer takes jobs away as they come, as workers would: a tick that was enqueued twice would be consumed twice.
"""

from __future__ import annotations

import logging
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from redis.exceptions import RedisError

from headgate.settings import Settings
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import World, running, wait_until

QUICK = Settings(lease_ttl_ms=1500, lease_margin_ms=150, call_timeout_ms=500, backoff_max_ms=200)
SCHEDULES = 30


TAKE = """
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, 99)) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('DEL', KEYS[2] .. id)
  redis.call('RPUSH', KEYS[3], id)
end
"""
"""Atomic, and counted in the store: a take whose answer is lost is counted all the same."""


class Consumer:
    """Takes every job off its queue, removes its record, and writes down that it did."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.list = world.keys.root + "test-taken"
        self._seen = 0

    async def run(self) -> None:
        world = self._world
        while True:
            with suppress(RedisError):
                available = world.keys("state", "default", "available")
                await world.client.eval(TAKE, 3, available, world.keys("job", ""), self.list)
                self._seen = await world.client.llen(self.list)
            await anyio.sleep(0.005)

    async def took(self, count: int) -> None:
        """Wait until so many more jobs were taken."""
        target = self._seen + count

        async def enough() -> bool:
            return self._seen >= target

        await wait_until(enough, seconds=20)

    async def taken(self, client: Any) -> Counter[str]:
        return Counter(await client.lrange(self.list, 0, -1))


@asynccontextmanager
async def busy_world(server: PrivateServer) -> AsyncIterator[Consumer]:
    """Thirty schedules every 200 ms that are to miss nothing, a scheduler, and a consumer."""
    async with aclosing_world(server) as world:
        for number in range(SCHEDULES):
            await world.put(f"s{number}", "@every:200", on_missed="backfill", backfill_limit=1000)
        consumer = Consumer(world)
        async with running(world.scheduler()), anyio.create_task_group() as tasks:
            tasks.start_soon(consumer.run)
            await consumer.took(SCHEDULES)
            yield consumer
            await consumer.took(SCHEDULES * 2)
            tasks.cancel_scope.cancel()


async def check_once_and_gapless(server: PrivateServer, consumer: Consumer) -> None:
    """Each tick of each schedule, from the first to the last decided, was taken once or is queued still."""
    async with aclosing_world(server) as world:
        taken = await consumer.taken(world.client)
        assert set(taken.values()) == {1}, [job for job, count in taken.items() if count > 1]
        rest = set(await world.queued())
        for number in range(SCHEDULES):
            record = await world.record(f"s{number}")
            first = int(record["created_at_ms"]) // 200 * 200 + 200
            expected = {f"sched-s{number}-{tick}" for tick in range(first, int(record["last_tick_ms"]) + 1, 200)}
            assert {job for job in [*taken, *rest] if job.startswith(f"sched-s{number}-")} == expected
            ids = [event["event_id"] for event in await world.events(f"s{number}")]
            assert ids == list(range(ids[0], ids[0] - len(ids), -1))
            assert set(record["outcomes"]) == {"e"}
        await world.client.delete(consumer.list)
        await check_store(world)


@asynccontextmanager
async def aclosing_world(server: PrivateServer) -> AsyncIterator[World]:
    world = World(server.url, "busy", settings=QUICK)
    try:
        yield world
    finally:
        await world.close()


def event_counts(server: PrivateServer) -> list[int]:
    with server.client() as raw:
        return [int(raw.hget(f"hg:{{busy}}:schedule:s{number}", "event_seq")) for number in range(SCHEDULES)]


async def test_a_killed_store_comes_back_with_its_data_and_nothing_is_doubled_or_lost(
    own_server: PrivateServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The server process alone dies. What it answered for is in the file, but for the two seconds of a slow disk."""
    two_seconds = 10
    with caplog.at_level(logging.INFO, "headgate"):
        async with busy_world(own_server) as consumer:
            for _ in range(2):
                seen = event_counts(own_server)
                own_server.kill()
                own_server.start()
                kept = event_counts(own_server)
                assert all(after >= before - two_seconds for before, after in zip(seen, kept, strict=True))
                await consumer.took(SCHEDULES * 3)
    await check_once_and_gapless(own_server, consumer)
    failures = [record for record in caplog.records if "failed" in record.getMessage()]
    assert len(failures) <= 12, "an outage is a line for each part that notices, not a flood"
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_store_that_vanishes_for_a_while_ends_nothing(own_server: PrivateServer) -> None:
    async with busy_world(own_server) as consumer:
        own_server.signal(signal.SIGSTOP)
        with anyio.move_on_after(QUICK.lease_ttl_ms / 1000 * 1.2):
            await anyio.Event().wait()  # longer than the lease: nothing can be awaited from a stopped store
        own_server.signal(signal.SIGCONT)
        await consumer.took(SCHEDULES * 3)
    await check_once_and_gapless(own_server, consumer)


async def test_flushed_scripts_and_killed_connections_go_unnoticed(own_server: PrivateServer) -> None:
    chance = random.Random(7)
    async with busy_world(own_server) as consumer:
        with own_server.client() as raw:
            for _ in range(25):
                if chance.random() < 0.5:
                    raw.script_flush()
                else:
                    raw.execute_command("CLIENT", "KILL", "TYPE", chance.choice(["normal", "pubsub"]), "SKIPME", "yes")
                await consumer.took(SCHEDULES // 3)
    await check_once_and_gapless(own_server, consumer)
