"""A namespace on a private server, seen from every side: the store, raw keys, schedulers, and a clock to move."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
from redis.asyncio import Redis

from headgate.connect import connect, connect_pubsub
from headgate.heart import Heart
from headgate.models import ScheduleDefinition
from headgate.process import running_process
from headgate.scheduler import Scheduler
from headgate.settings import Settings
from headgate.store import Store
from headgate.store.wakeups import Wakeups

MOVED_CLOCK = """
local now = tonumber(redis.call('GET', KEYS[1] .. 'test-clock'))
local now_text = string.format('%.0f', now)
"""
"""Takes the place of lua/lib/clock.lua: store time is what a key says."""

START_MS = 1_800_000_000_000
"""Where moved clocks begin: 2027-01-15T08:00:00Z, a whole minute."""


class World:
    """One namespace. With `moved`, store time stands still until the test moves it."""

    def __init__(self, url: str, namespace: str, *, settings: Settings | None = None, moved: bool = False) -> None:
        self.url = url
        self.namespace = namespace
        self.settings = settings or Settings()
        self.moved = moved
        self.client: Any = connect(url, self.settings)  # replies of raw commands are untyped
        self.store = self.store_on(self.client)
        self.keys = self.store.keys
        self._pubsub: Redis = connect_pubsub(url, self.settings)

    def store_on(self, client: Redis) -> Store:
        pieces = {"clock": MOVED_CLOCK} if self.moved else None
        return Store(client, self.namespace, settings=self.settings, pieces=pieces)

    def scheduler(self, store: Store | None = None, *, heart: Heart | None = None) -> Scheduler:
        return Scheduler(store or self.store, Wakeups(self._pubsub, self.namespace), heart or self.heart(store))

    def heart(self, store: Store | None = None, *, duties: Sequence[str] = ("scheduler",)) -> Heart:
        return Heart((store or self.store).leases, self.settings, duties=duties)

    async def close(self) -> None:
        await self.client.aclose()
        await self._pubsub.aclose()

    # the clock

    async def set_clock(self, now_ms: int) -> None:
        await self.client.set(self.keys.root + "test-clock", now_ms)

    async def advance(self, ms: int) -> int:
        return int(await self.client.incrby(self.keys.root + "test-clock", ms))

    # looking

    async def record(self, schedule_id: str) -> dict[str, str]:
        found: dict[str, str] = await self.client.hgetall(self.keys("schedule", schedule_id))
        return found

    async def events(self, schedule_id: str) -> list[dict[str, Any]]:
        """Newest first, as stored."""
        return [json.loads(text) for text in await self.client.lrange(self.keys("events", schedule_id), 0, -1)]

    async def gaps(self, schedule_id: str) -> list[dict[str, Any]]:
        return [json.loads(text) for text in await self.client.zrange(self.keys("gaps", schedule_id), 0, -1)]

    async def queued(self, queue: str = "default") -> list[str]:
        found: list[str] = await self.client.zrange(self.keys("state", queue, "available"), 0, -1)
        return found

    # doing

    async def put(self, schedule_id: str, spec: str = "@every:60000", **options: Any) -> None:
        options.setdefault("kind", "test")
        await self.store.schedules.put(schedule_id, ScheduleDefinition(spec=spec, **options))

    async def own_the_duty(self, scheduler: Scheduler) -> None:
        """One heartbeat that must win the lease: for tests that sweep by hand."""
        assert (await scheduler.heart.beat()).duties["scheduler"].held


@asynccontextmanager
async def running(*schedulers: Scheduler) -> AsyncIterator[None]:
    """Schedulers under their hearts, ended (and so resigned) with the context."""
    async with AsyncExitStack() as stack:
        for scheduler in schedulers:
            await stack.enter_async_context(running_process(scheduler.heart, [scheduler.run]))
        yield


async def wait_until(condition: Callable[[], Awaitable[bool]], *, seconds: float = 10.0) -> None:
    """Return as soon as the condition holds; fail when it does not within the time."""
    deadline = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < deadline, "the awaited condition did not come to hold"
        await anyio.sleep(0.005)
