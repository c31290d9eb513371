"""Any history: schedules written, edited, paused, resumed, made up for, deleted; crashes; workers that die.

After every step the invariants of the design hold, seen from raw keys and from a small model that knows only when each
schedule began to count, by which spec and bounds, and which ticks were made up for.
"""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.connect import connect
from headgate.errors import NotPaused, ScheduleNotFound
from headgate.models import MissedPolicy, MissedTicks, Overlap
from headgate.scheduler import Scheduler
from headgate.settings import MAX_EVENTS, MAX_INSTANT_MS
from headgate.spec import Spec, bounded, parse_spec
from headgate.store.attempts import Report
from tests.fault.test_crash_points import Died, MortalClient
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

IDS = ("a", "a", "b")
INTERVALS = (60_000, 90_000)
LEASE_MS = 30_000

ids = st.sampled_from(IDS)
steps = st.one_of(
    st.tuples(st.just("put"), ids, st.sampled_from(INTERVALS), st.sampled_from(["skip", "run_once", "backfill"])),
    st.tuples(st.just("edit"), ids, st.integers(0, 3)),
    st.tuples(st.just("rules"), ids, st.booleans(), st.sampled_from([0, 20_000])),
    st.tuples(st.just("bounds"), ids, st.sampled_from([None, -1, 200_000]), st.sampled_from([None, 200_000, 900_000])),
    st.tuples(st.just("pause"), ids, st.sampled_from([None, 1, 150_000])),
    st.tuples(st.just("resume"), ids, st.sampled_from(MissedTicks)),
    st.tuples(st.just("away"), ids, st.integers(1, 900_000), st.sampled_from(MissedTicks)),
    st.tuples(st.just("backfill"), ids, st.integers(1, 900_000), st.integers(0, 600_000)),
    st.tuples(st.just("backfill"), st.just("a"), st.integers(1, 300_000), st.integers(0, 300_000)),
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
        self.options: dict[str, dict[str, Any]] = {}
        self.eras: dict[str, list[tuple[int, Spec]]] = {}
        """Since when each spec with its bounds counts, oldest first."""
        self.made_up: dict[str, set[int]] = {}
        self.completed: Counter[str] = Counter()
        self.manual: dict[tuple[str, int], str] = {}

    async def step(self, name: str, *args: Any) -> None:
        await getattr(self, name)(*args)

    async def now(self) -> int:
        return int(await self.world.client.get(self.world.keys.root + "test-clock"))

    async def write(self, schedule_id: str, **options: Any) -> None:
        """Change these options; a schedule that does not exist is created by an interval alone."""
        before = self.options.get(schedule_id, {})
        after = self.options[schedule_id] = before | options
        counts_by = ("interval", "starts_at_ms", "ends_at_ms")
        if not before or any(before.get(name) != after.get(name) for name in counts_by):
            spec = bounded(
                parse_spec(f"@every:{after['interval']}"), after.get("starts_at_ms"), after.get("ends_at_ms")
            )
            self.eras.setdefault(schedule_id, []).append((await self.now(), spec))
            self.made_up.setdefault(schedule_id, set())
        rest = {name: value for name, value in after.items() if name != "interval"}
        await self.world.put(schedule_id, f"@every:{after['interval']}", backfill_limit=3, **rest)

    async def put(self, schedule_id: str, interval: int, policy: str) -> None:
        overlap = {"overlap": Overlap.ALLOW} if policy == "backfill" else {}
        await self.write(schedule_id, interval=interval, on_missed=MissedPolicy(policy), **overlap)

    async def edit(self, schedule_id: str, payload: int) -> None:
        if schedule_id in self.options:
            await self.write(schedule_id, payload=payload)

    async def rules(self, schedule_id: str, overlap: bool, jitter_ms: int) -> None:
        if schedule_id in self.options:
            skips = {"overlap": Overlap.SKIP, "on_missed": MissedPolicy.SKIP} if overlap else {"overlap": Overlap.ALLOW}
            await self.write(schedule_id, jitter_ms=jitter_ms, **skips)

    async def bounds(self, schedule_id: str, starts_in: int | None, ends_in: int | None) -> None:
        if schedule_id in self.options:
            now = await self.now()
            ends = [now + ms if ms is not None else None for ms in (starts_in, ends_in)]
            await self.write(schedule_id, starts_at_ms=ends[0], ends_at_ms=ends[1])

    async def pause(self, schedule_id: str, ends_in: int | None) -> None:
        with contextlib.suppress(ScheduleNotFound):
            until_ms = None if ends_in is None else await self.now() + ends_in
            await self.world.store.control.pause(schedule_id, until_ms=until_ms)

    async def resume(self, schedule_id: str, missed: MissedTicks) -> None:
        with contextlib.suppress(ScheduleNotFound, NotPaused):
            await self.world.store.control.resume(schedule_id, missed=missed)

    async def away(self, schedule_id: str, ms: int, missed: MissedTicks) -> None:
        await self.pause(schedule_id, None)
        await self.advance(ms)
        await self.resume(schedule_id, missed)

    async def backfill(self, schedule_id: str, length: int, ago: int) -> None:
        """Whatever of the range lies in gaps, and nothing else; the schedule stays where it is."""
        if schedule_id not in self.options:
            return
        until = await self.now() - ago
        before, gaps = await self.world.record(schedule_id), await self.world.gaps(schedule_id)
        done = await self.world.store.backfills.run(schedule_id, until - length, until)
        assert done.stopped_by is None
        assert done.more_after_ms is None
        assert all(any(gap["from_ms"] <= tick <= gap["until_ms"] for gap in gaps) for tick in done.ticks)
        assert not self.made_up[schedule_id] & set(done.ticks), "made up for twice"
        self.made_up[schedule_id] |= set(done.ticks)
        assert await self.world.record(schedule_id) == before, "a backfill moved the schedule"

    async def delete(self, schedule_id: str) -> None:
        if self.options.pop(schedule_id, None) is not None:
            del self.eras[schedule_id], self.made_up[schedule_id]
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
            *await world.client.zrange(world.keys("state", "default", "scheduled"), 0, -1),
            *await world.client.zrange(world.keys("state", "default", "running"), 0, -1),
            *await world.client.zrange(world.keys("state", "default", "retryable"), 0, -1),
        ]
        assert len(set(sets)) == len(sets), "a job is in two sets"
        assert not set(sets) & set(self.completed), "a completed job is still in a set"
        indexed = await world.client.zcard(world.keys("due")) + await world.client.zcard(world.keys("paused"))
        assert indexed == await world.client.zcard(world.keys("schedules")) == len(self.options)
        for schedule_id in self.options:
            await self.check_schedule(schedule_id)

    async def check_schedule(self, schedule_id: str) -> None:
        world, made_up = self.world, self.made_up[schedule_id]
        record, events = await world.record(schedule_id), await world.events(schedule_id)
        numbers = [event["event_id"] for event in events]
        assert numbers == list(range(int(record["event_seq"]), int(record["event_seq"]) - len(numbers), -1))
        ran = [event["tick_ms"] for event in events if event["outcome"] in {"enqueued", "deduplicated"}]
        assert len(set(ran)) == len(ran), "a tick ran twice by the trail"
        gaps = await world.gaps(schedule_id)
        ends = [(gap["from_ms"], gap["until_ms"]) for gap in gaps]
        assert all(first[1] < second[0] for first, second in itertools.pairwise(ends)), "gaps overlap"
        for tick in self.expected(schedule_id, int(record["anchor_ms"])):
            places = (tick in ran) + sum(first <= tick <= last for first, last in ends) + (tick in made_up)
            assert places == 1, f"tick {tick} ran: {tick in ran}, is in gaps {ends}, was made up for: {tick in made_up}"
            decisions = sum(decides(event, tick) for event in events)
            assert decisions == 1 or len(events) == MAX_EVENTS, f"tick {tick} has {decisions} decisions"

    def expected(self, schedule_id: str, anchor_ms: int) -> list[int]:
        """Every tick since creation up to the anchor, each of the spec and bounds that counted then."""
        eras = self.eras[schedule_id]
        ends = [*(since for since, _ in eras[1:]), anchor_ms]
        return [
            tick for (since, spec), end in zip(eras, ends, strict=True) for tick in spec.latest_n(10_000, since, end)
        ]


def decides(event: dict[str, Any], tick: int) -> bool:
    """Whether the event is about the tick, or passes it over."""
    older = event.get("discarded")
    return bool(event["tick_ms"] == tick or (older and older["from_ms"] <= tick <= older["until_ms"]))


async def sweep_with(world: World, scheduler: Scheduler) -> None:
    await world.client.delete(world.keys("duty", "scheduler"))  # whoever had it is gone
    await scheduler.heart.beat()
    await scheduler.sweep()


@pytest.mark.timeout(240)  # long on a busy machine
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
