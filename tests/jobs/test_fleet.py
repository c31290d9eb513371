"""Many workers at one gate, in moved time: each asks when its last answer, or a job that ended, tells it to.

The fleet is played event by event, so that a window of thirty seconds takes a few of them, and is the same each time.
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect_left
from itertools import count

import pytest

from headgate.models import QueueLimits, RateLimit
from headgate.store.attempts import Claim
from tests.jobs.acts import counts, enqueue_many, finish
from tests.support.worlds import START_MS, World

LEASE = 600_000
LIMIT, BURST, CONCURRENT = 100, 10, 7


class Fleet:
    """Workers of some capacity each; a job takes as long as chance says."""

    def __init__(self, world: World, workers: int, capacity: int, longest_ms: int) -> None:
        self.world = world
        self.free = dict.fromkeys(range(workers), capacity)
        self.begun: list[int] = []
        self.most_running = 0
        self._running = 0
        self._longest_ms = longest_ms
        self._chance = random.Random(7)
        self._events: list[tuple[int, int, int, Claim | None]] = []
        self._told: dict[int, int] = {}  # which look of a worker counts; an earlier one is out of date
        self._order = count()

    async def play(self, until_ms: int) -> None:
        for worker in self.free:
            self._look(worker, START_MS)
        while self._events and self._events[0][0] <= until_ms:
            now, number, worker, claim = heapq.heappop(self._events)
            await self.world.set_clock(now)
            if claim is not None:
                await self._end(now, worker, claim)
            elif self._told.get(worker) == number:
                await self._ask(now, worker)

    def _look(self, worker: int, at_ms: int) -> None:
        self._told[worker] = next(self._order)
        heapq.heappush(self._events, (at_ms, self._told[worker], worker, None))

    async def _ask(self, now: int, worker: int) -> None:
        del self._told[worker]
        answer = await self.world.store.attempts.admit(f"w{worker}", ["default"], self.free[worker], LEASE)
        for claim in answer.claims:
            self.begun.append(now)
            ends = now + self._chance.randint(1, self._longest_ms)
            heapq.heappush(self._events, (ends, next(self._order), worker, claim))
        self.free[worker] -= len(answer.claims)
        self._running += len(answer.claims)
        self.most_running = max(self.most_running, self._running)
        if self.free[worker] and answer.look_again_ms is not None:
            self._look(worker, now + answer.look_again_ms)

    async def _end(self, now: int, worker: int, claim: Claim) -> None:
        assert await finish(self.world, claim) == "completed"
        self._running -= 1
        self.free[worker] += 1
        for idle in [worker, *(each for each, free in self.free.items() if free and each not in self._told)]:
            self._look(idle, now)  # itself has room again; those that wait for nothing else heed what `finish` says


@pytest.mark.parametrize(("workers", "capacity", "seconds"), [(10, 5, 30), (50, 1, 10)])
async def test_a_fleet_of_fifty_tasks_keeps_to_both_limits_and_uses_the_rate_up(
    moved: World, workers: int, capacity: int, seconds: int
) -> None:
    rate = RateLimit(limit=LIMIT, burst=BURST)
    await moved.store.queues.set_limits("default", QueueLimits(max_concurrent=CONCURRENT, rate_limit=rate))
    await enqueue_many(moved, LIMIT * seconds + 200)
    fleet = Fleet(moved, workers, capacity, longest_ms=70)
    await fleet.play(START_MS + seconds * 1000 - 1)
    assert (await counts(moved))["available"] > 0, "there was backlog all the time"
    assert fleet.most_running == CONCURRENT
    for first, instant in enumerate(fleet.begun):
        assert bisect_left(fleet.begun, instant + 1000) - first <= LIMIT + BURST
    assert LIMIT * seconds * 0.98 <= len(fleet.begun) <= LIMIT * seconds + BURST


async def test_a_fleet_at_max_concurrent_alone_is_never_idle_while_there_is_backlog(moved: World) -> None:
    await moved.store.queues.set_limits("default", QueueLimits(max_concurrent=CONCURRENT))
    await enqueue_many(moved, 150)
    fleet = Fleet(moved, workers=10, capacity=3, longest_ms=100)
    await fleet.play(START_MS + 3_600_000)
    assert len(fleet.begun) == 150
    assert fleet.most_running == CONCURRENT
    assert await counts(moved) == {"completed": 150}
