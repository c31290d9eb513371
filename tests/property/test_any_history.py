"""Any history: schedules written, edited, deleted and made again, run by hand, missed, crashed over; workers that die.

After every step the invariants of the design hold, seen from raw keys and from a small model that knows only when each
schedule began to count.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.connect import connect
from headgate.errors import ScheduleNotFound
from headgate.scheduler import Scheduler
from headgate.settings import MAX_INSTANT_MS
from headgate.store.attempts import Report
from tests.fault.test_crash_points import Died, MortalClient
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

IDS = ("a", "b")
INTERVALS = (60_000, 90_000)
LEASE_MS = 30_000

ids = st.sampled_from(IDS)
steps = st.one_of(
    st.tuples(st.just("put"), ids, st.sampled_from(INTERVALS), st.sampled_from(["skip", "run_once", "backfill"])),
    st.tuples(st.just("edit"), ids, st.integers(0, 3)),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("run"), ids, st.integers(0, 2)),
    st.tuples(st.just("advance"), st.integers(1, 600_000)),
    st.tuples(st.just("sweep")),
    st.tuples(st.just("crash"), st.integers(1, 4), st.booleans()),
    st.tuples(st.just("work"), st.booleans()),
    st.tuples(st.just("reclaim")),
)


class History:
    """The system under test, and what the model knows."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.since: dict[str, int] = {}
        self.interval: dict[str, int] = {}
        self.completed: Counter[str] = Counter()
        self.manual: dict[tuple[str, int], str] = {}

    async def step(self, name: str, *args: Any) -> None:
        await getattr(self, name)(*args)

    async def now(self) -> int:
        return int(await self.world.client.get(self.world.keys.root + "test-clock"))

    async def put(self, schedule_id: str, interval: int, policy: str) -> None:
        if self.interval.get(schedule_id) != interval:
            self.since[schedule_id], self.interval[schedule_id] = await self.now(), interval
        await self.world.put(schedule_id, f"@every:{interval}", on_missed=policy, backfill_limit=3)

    async def edit(self, schedule_id: str, payload: int) -> None:
        if schedule_id in self.interval:
            await self.world.put(schedule_id, f"@every:{self.interval[schedule_id]}", payload=payload)

    async def delete(self, schedule_id: str) -> None:
        if self.interval.pop(schedule_id, None) is not None:
            await self.world.store.schedules.delete(schedule_id)

    async def run(self, schedule_id: str, key: int) -> None:
        with contextlib.suppress(ScheduleNotFound):
            before = await self.world.record(schedule_id)
            done = await self.world.store.producer.run_now(schedule_id, idempotency_key=str(key))
            assert self.manual.setdefault((schedule_id, key), done.job_id) == done.job_id
            assert await self.world.record(schedule_id) == before, "a run by hand moved the schedule"

    async def advance(self, ms: int) -> None:
        await self.world.advance(ms)

    async def sweep(self) -> None:
        await sweep_with(self.world, self.world.scheduler())

    async def crash(self, at: int, after_sending: bool) -> None:
        client = connect(self.world.url, self.world.settings)
        mortal: Any = MortalClient(client, at, after_sending=after_sending)
        try:
            await sweep_with(self.world, self.world.scheduler(self.world.store_on(mortal)))
        except* Died:
            pass
        finally:
            await client.aclose()

    async def work(self, dies: bool) -> None:
        attempts = self.world.store.attempts
        for claim in (await attempts.admit("w", ["default"], 50, LEASE_MS)).claims:
            if not dies and await attempts.finish([Report(claim, "completed")]) == ["completed"]:
                self.completed[claim.id] += 1

    async def reclaim(self) -> None:
        """Bring jobs back whose worker died, as a reclaimer that has always been there."""
        await self.world.client.set(self.world.keys("duty", "reclaimer"), "tok")
        await self.world.store.reclaims.some("tok", "", lease_ms=MAX_INSTANT_MS)

    async def check(self) -> None:
        world = self.world
        assert max(self.completed.values(), default=1) == 1, "a job was completed twice"
        sets = [
            *await world.queued(),
            *await world.client.zrange(world.keys("state", "default", "running"), 0, -1),
            *await world.client.zrange(world.keys("state", "default", "retryable"), 0, -1),
        ]
        assert len(set(sets)) == len(sets), "a job is in two sets"
        assert not set(sets) & set(self.completed), "a completed job is still in a set"
        indexed = await world.client.zcard(world.keys("due")) + await world.client.zcard(world.keys("paused"))
        assert indexed == await world.client.zcard(world.keys("schedules")) == len(self.interval)
        for schedule_id in self.interval:
            await self.check_schedule(schedule_id)

    async def check_schedule(self, schedule_id: str) -> None:
        world, interval = self.world, self.interval[schedule_id]
        record, events = await world.record(schedule_id), await world.events(schedule_id)
        numbers = [event["event_id"] for event in events]
        assert numbers == list(range(int(record["event_seq"]), int(record["event_seq"]) - len(numbers), -1))
        ran = [event["tick_ms"] for event in events if event["outcome"] == "enqueued"]
        assert len(set(ran)) == len(ran), "a tick ran twice by the trail"
        gaps = [json.loads(text) for text in await world.client.zrange(world.keys("gaps", schedule_id), 0, -1)]
        first = self.since[schedule_id] // interval * interval + interval
        for tick in range(first, int(record["anchor_ms"]) + 1, interval):
            in_gap = any(gap["from_ms"] <= tick <= gap["until_ms"] for gap in gaps)
            assert (tick in ran) != in_gap, f"tick {tick} ran: {tick in ran}, in a gap: {in_gap}"


async def sweep_with(world: World, scheduler: Scheduler) -> None:
    await world.client.delete(world.keys("duty", "scheduler"))  # whoever had it is gone
    await scheduler.heart.beat()
    await scheduler.sweep()


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(history=st.lists(steps, min_size=5, max_size=25))
async def test_the_invariants_hold_after_every_step(server: PrivateServer, history: list[tuple[Any, ...]]) -> None:
    world = World(server.url, f"h-{uuid.uuid4().hex[:12]}", moved=True)
    try:
        await world.set_clock(START_MS)
        system = History(world)
        for name, *args in [("put", "a", INTERVALS[0], "backfill"), *history]:
            await system.step(name, *args)
            await system.check()
        await check_store(world)
    finally:
        await world.close()
