"""Time you can move: an application on a private store whose clock only the test moves. Public API.

::

    async with moved_world(app, start=datetime(2027, 3, 28, tzinfo=UTC)) as world:
        await world.advance(days=3, run=True)
        assert [event.tick_ms for event in await world.events("digest")] == [...]

The scripts are the ones that run in production, composed with another clock piece: store time is what a key says. The
planner, the scheduler's sweep and the worker's attempts are those of production too; what is left out is waiting.

A tick at the very instant a schedule is written is not due, as in production: it counts from that instant on.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgspec
from redis import Redis as BlockingRedis
from redis.asyncio import Redis

from headgate.app import Headgate
from headgate.connect import connect, connect_pubsub, translated
from headgate.embedded import EmbeddedStore
from headgate.errors import InvalidRequest
from headgate.heart import Heart
from headgate.models import Event
from headgate.reclaimer import Reclaimer
from headgate.scheduler import Scheduler
from headgate.settings import MAX_EVENTS_PAGE, MAX_INSTANT_MS
from headgate.store import Store
from headgate.store.wakeups import Wakeups
from headgate.worker import Worker

__all__ = ["START", "MovedWorld", "moved_world", "world_fixture"]

START: Final = datetime(2027, 1, 1, tzinfo=UTC)
"""Where a clock stands at first unless told otherwise; always the same, so that a test never depends on its day."""

_CLOCK: Final = "moved-clock"
_GOAL: Final = "moved-clock-goal"
_STANDING: Final = f"""
local now = tonumber(redis.call('GET', KEYS[1] .. '{_CLOCK}'))
local now_text = string.format('%.0f', now)
"""
"""Takes the place of lua/lib/clock.lua in the application's scripts: store time is what a key says."""

_WALKING: Final = f"""
local now = tonumber(redis.call('GET', KEYS[1] .. '{_CLOCK}'))
do
  local goal = tonumber(redis.call('GET', KEYS[1] .. '{_GOAL}'))
  if goal > now then
    local stop = redis.call('ZRANGE', key_due(), 0, 0, 'WITHSCORES')[2]
    stop = math.min(goal, tonumber(stop or goal))
    for _, queue in ipairs({{QUEUES}}) do
      local after = '(' .. string.format('%.0f', now)
      for _, state in ipairs({{'retryable', 'scheduled'}}) do
        local waiting = key_state(queue, state)
        local first = redis.call('ZRANGEBYSCORE', waiting, after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
        stop = math.min(stop, tonumber(first or stop))
      end
    end
    if stop > now then
      now = stop
      redis.call('SET', KEYS[1] .. '{_CLOCK}', string.format('%.0f', now))
    end
  end
end
local now_text = string.format('%.0f', now)
"""
"""The same for the scheduler's scripts, except that a script finds the clock at what is due next, or at the goal. It
stays there during a sweep, whose schedules are due until they have fired."""

_Services: TypeAlias = tuple[Heart, Scheduler, Reclaimer]

_LEASE_MS: Final = 3_600_000
"""The duty's lease is on the server's own time: long enough for somebody at a breakpoint."""


class _Blocking:
    """The calls that scripts need, without the event loop: nobody else waits here, and a year has many of them."""

    def __init__(self, client: BlockingRedis) -> None:
        self._client = client

    async def evalsha(self, *args: Any) -> Any:
        return self._client.evalsha(*args)

    async def eval(self, *args: Any) -> Any:
        return self._client.eval(*args)


class MovedWorld:
    """An application, its store, and the clock of both. Made by `moved_world`.

    Attributes:
        app: open, so that `app.enqueue`, `app.schedules` and `app.jobs` work; do not call `app.run` meanwhile.
        now_ms: store time.
    """

    def __init__(self, app: Headgate, client: Redis, services: _Services, worker: Worker, start_ms: int) -> None:
        self.app = app
        self.now_ms = start_ms
        self._client = client
        self._heart, self._scheduler, self._reclaimer = services
        self._worker = worker
        self._beat_at, self._goal_ms = 0.0, start_ms

    @property
    def now(self) -> datetime:
        """Store time, aware, in UTC."""
        return datetime.fromtimestamp(self.now_ms / 1000, UTC)

    async def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, run: bool = False
    ) -> int:
        """Let time pass with the scheduler on duty: the clock goes from one due instant to the next, and each fires.

        At the end jobs past their deadline are archived, and finished ones that were kept for long enough removed.

        Args:
            days: how long, the four added up; a day is 24 hours, whatever the clocks of a zone do.
            hours: see `days`.
            minutes: see `days`.
            seconds: see `days`; down to a millisecond.
            run: run the jobs of each instant before time goes on, retries when due, and limited queues at their pace.

        Returns:
            Attempts at jobs; 0 without `run`.

        Raises:
            InvalidRequest: time would go back, or past the year 9999.
            StoreError: the store failed.
        """
        until_ms = self._later(days, hours, minutes, seconds)
        attempts = 0
        while True:
            if run:
                attempts += await self.run_jobs()
            await self._head_for(until_ms, stop=run)
            if not await self._sweep() and self.now_ms >= until_ms:
                break
        await self._reclaimer.reclaim()
        return attempts

    async def outage(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Let time pass with nobody on duty; then the scheduler comes back, and missed-run policies show.

        Raises:
            InvalidRequest: time would go back, or past the year 9999.
            StoreError: the store failed.
        """
        later_ms = self._later(days, hours, minutes, seconds)
        await self._set(_CLOCK, later_ms)
        self.now_ms = later_ms
        await self.advance()

    async def run_jobs(self) -> int:
        """Run what is queued, one job after the other, and what these enqueue, until none is left.

        A failed job waits for its retry, which time must reach: `advance` with `run`. Each job's own time limit counts
        real time.

        Returns:
            Attempts.

        Raises:
            StoreError: the store failed.
        """
        return await self._worker.run_ready()

    async def events(self, schedule_id: str) -> list[Event]:
        """What became of a schedule's ticks: the newest 100, newest first.

        Raises:
            InvalidRequest: the id breaks its rule.
        """
        return (await self.app.schedules.events(schedule_id, limit=MAX_EVENTS_PAGE)).events

    def _later(self, days: float, hours: float, minutes: float, seconds: float) -> int:
        try:
            span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        except (OverflowError, ValueError):
            raise InvalidRequest("the span is no length of time", field="span") from None
        later_ms = self.now_ms + span // timedelta(milliseconds=1)
        if not self.now_ms <= later_ms <= MAX_INSTANT_MS:
            raise InvalidRequest("time moves on only, and not past the year 9999", field="span")
        return later_ms

    async def _set(self, key: str, instant_ms: int) -> None:
        with translated():
            await self._client.set(self.app.store.keys.root + key, instant_ms)

    async def _head_for(self, until_ms: int, *, stop: bool) -> None:
        """Let the clock walk up to there; with `stop` only to when the worker asks again, say for a queue's tokens."""
        again_ms = self._worker.look_again_ms if stop else None
        goal_ms = until_ms if again_ms is None else min(until_ms, self.now_ms + max(1, again_ms))
        if goal_ms != self._goal_ms:
            await self._set(_GOAL, goal_ms)
            self._goal_ms = goal_ms

    async def _sweep(self) -> bool:
        """Go to what is due next, or to the goal, and sweep there; whether anything was due."""
        if time.monotonic() >= self._beat_at:
            self._beat_at = time.monotonic() + _LEASE_MS / 3000
            await self._heart.beat()
        await self._scheduler.sweep()
        page = self._scheduler.page
        assert page is not None
        self.now_ms = page.now_ms
        return bool(page.rows or page.unreadable)


@asynccontextmanager
async def moved_world(app: Headgate, *, start: datetime | int | None = None) -> AsyncIterator[MovedWorld]:
    """The application on a private store that ends with the context, its schedules declared, its clock at `start`.

    The application's own URL is not used meanwhile, and its scheduler and worker act only when the world is told to.

    Args:
        app: with its actors and schedules declared; it must not be open.
        start: store time at first, an aware datetime or ms since the epoch; `START` unless given.

    Raises:
        InvalidRequest: `start` is naive or out of range, a payload does not fit its actor, or the application is open.
        EmbeddedError: the private store cannot be had.
        StoreError: the store failed.
    """
    start_ms = _start_ms(START if start is None else start)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hg-")), "store")
        url = (await stack.enter_async_context(EmbeddedStore(folder))).url
        settings = msgspec.structs.replace(app.settings, lease_ttl_ms=max(_LEASE_MS, app.settings.lease_ttl_ms))
        client, pubsub = connect(url, settings), connect_pubsub(url, settings)
        stack.push_async_callback(client.aclose)
        stack.push_async_callback(pubsub.aclose)
        queues = ", ".join(f"'{queue}'" for queue in app._registry.queues)  # noqa: SLF001 - the kit is the facade's own
        pieces = {"clock": _WALKING.replace("QUEUES", queues)}
        blocking = stack.enter_context(BlockingRedis.from_url(url, decode_responses=True, protocol=2))
        store = Store(cast("Redis", _Blocking(blocking)), app.namespace, settings=settings, pieces=pieces)
        with translated():
            await client.mset({store.keys.root + key: start_ms for key in (_CLOCK, _GOAL)})
        await stack.enter_async_context(_opened_on(url, app))
        heart = Heart(store.leases, settings, duties=("scheduler", "reclaimer"))
        scheduler = Scheduler(store, Wakeups(pubsub, app.namespace), heart, app._hooks)  # noqa: SLF001 - the facade's own kit
        worker = app._worker(app.store, Wakeups(pubsub, app.namespace, channel="ready"), None, 1)  # noqa: SLF001 - as above
        yield MovedWorld(app, client, (heart, scheduler, Reclaimer(store, heart)), worker, start_ms)


def world_fixture(app: Headgate, *, start: datetime | int | None = None) -> Callable[..., Any]:
    """A pytest fixture of a `moved_world`, new for each test; needs pytest-asyncio.

    ::

        world = world_fixture(app, start=datetime(2027, 3, 28, tzinfo=UTC))

        async def test_the_digest_is_sent(world: MovedWorld) -> None: ...

    Raises:
        ModuleNotFoundError: pytest-asyncio is not installed.
    """

    async def world() -> AsyncIterator[MovedWorld]:
        async with moved_world(app, start=start) as it:
            yield it

    fixture: Callable[..., Any] = import_module("pytest_asyncio").fixture(world)
    return fixture


@asynccontextmanager
async def _opened_on(url: str, app: Headgate) -> AsyncIterator[None]:
    """The application itself, not a copy: the code under test knows it by its name."""
    before = app._url, app._pieces  # noqa: SLF001 - the seam that the facade keeps for this
    app._url, app._pieces = url, {"clock": _STANDING}  # noqa: SLF001
    try:
        async with app:
            await app._write_declared()  # noqa: SLF001
            yield
    finally:
        app._url, app._pieces = before  # noqa: SLF001


def _start_ms(start: datetime | int) -> int:
    if isinstance(start, datetime):
        if start.tzinfo is None:
            raise InvalidRequest("start must be an aware datetime: give it a tzinfo", field="start")
        start = (start - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)
    if not 0 <= start <= MAX_INSTANT_MS:
        raise InvalidRequest(f"start {start} is outside 0 to {MAX_INSTANT_MS}", field="start")
    return start
