"""A day of ticks on a clock that is moved: each becomes a job that runs, is kept for its retention, and goes.

The real sweep, admission, report and reclaimer run; only waiting is left out. After every hour of the moved day the
keys and bytes of the store are counted: from the second hour on they must not grow. A marker ends by the server's own
clock, which is not moved; the benchmark takes those out whose life is over by the moved one.
"""

from __future__ import annotations

import argparse
import functools
import time
from typing import Final, NamedTuple

import anyio

from benchmarks import harness
from benchmarks.harness import Bench
from headgate.heart import Heart
from headgate.models import MissedPolicy, ScheduleDefinition
from headgate.reclaimer import Reclaimer
from headgate.scheduler import Scheduler
from headgate.settings import MARKER_MIN_MS, Settings
from headgate.store import Store
from headgate.store.attempts import Report
from headgate.store.wakeups import Wakeups

_CLOCK: Final = """
local now = tonumber(redis.call('GET', KEYS[1] .. 'moved-clock'))
local now_text = string.format('%.0f', now)
"""
_START_MS: Final = 1_800_000_000_000
_STEP_MS: Final = 30_000
_HOUR_MS: Final = 3_600_000
_RETENTION_MS: Final = 600_000
_GROWTH: Final = 1.05
"""Of keys and bytes between the second hour and any later one; more is a leak."""


class Sample(NamedTuple):
    """The store after some hours."""

    hour: int
    ticks: int
    keys: int
    size: int


class Day:
    """A namespace on a moved clock, and everything that works in it."""

    def __init__(self, bench: Bench, namespace: str, schedules: int) -> None:
        self._client = bench.client
        settings = Settings(lease_ttl_ms=_HOUR_MS, call_timeout_ms=20_000)  # the leases are on the server's own clock
        self._store = Store(bench.client, namespace, settings=settings, pieces={"clock": _CLOCK})
        self._heart = Heart(self._store.leases, settings, duties=("scheduler", "reclaimer"))
        self._scheduler = Scheduler(self._store, Wakeups(bench.pubsub, namespace), self._heart)
        self._reclaimer = Reclaimer(self._store, self._heart)
        self._schedules = [f"s-{number}" for number in range(schedules)]
        self.now_ms = _START_MS
        self.ran = 0

    async def begin(self) -> None:
        """Write the schedules, one tick a second each, and take the duties."""
        await self._set_clock()
        definition = ScheduleDefinition(
            kind="report",
            spec="@every:1000",
            on_missed=MissedPolicy.BACKFILL,
            backfill_limit=_STEP_MS // 1000,
            retention_ms=_RETENTION_MS,
        )
        for schedule_id in self._schedules:
            await self._store.schedules.put(schedule_id, definition)
        await self._heart.beat()

    async def step(self) -> None:
        """Half a minute: its ticks, their jobs, and what was kept for long enough."""
        self.now_ms += _STEP_MS
        await self._set_clock()
        await self._scheduler.sweep()
        attempts = self._store.attempts
        while claims := (await attempts.admit("bench", ["default"], 200, _HOUR_MS)).claims:
            await attempts.finish([Report(claim, "completed") for claim in claims])
            self.ran += len(claims)
        await self._reclaimer.reclaim()
        await self._end_markers()

    async def sample(self) -> Sample:
        """Keys and bytes now."""
        size = (await self._client.info("memory"))["used_memory"]
        return Sample((self.now_ms - _START_MS) // _HOUR_MS, self.ran, await self._client.dbsize(), size)

    async def _set_clock(self) -> None:
        await self._client.set(self._store.keys.root + "moved-clock", self.now_ms)

    async def _end_markers(self) -> None:
        ended = range(self.now_ms - MARKER_MIN_MS - _STEP_MS, self.now_ms - MARKER_MIN_MS, 1_000)
        await self._client.unlink(*[self._store.keys("tick", name, tick) for name in self._schedules for tick in ended])


def main() -> None:
    parser = argparse.ArgumentParser(description="Keys and bytes through a day of ticks on a moved clock.")
    parser.add_argument("--ticks", type=int, default=1_000_000, help="86400 to 10000000; a day has them all")
    parser.add_argument("--hours", type=int, default=24, help="2 to 24: how much of the day")
    options = parser.parse_args()
    if not (86_400 <= options.ticks <= 10_000_000 and 2 <= options.hours <= 24):
        parser.error("--ticks is 86400 to 10000000, --hours 2 to 24")
    anyio.run(functools.partial(_measure, -(-options.ticks // 86_400), options.hours))


async def _measure(schedules: int, hours: int) -> None:
    async with harness.opened(harness.EMBEDDED, aof=False) as bench, harness.namespaces(bench, "day") as (name,):
        day, samples, begun = Day(bench, name, schedules), [], time.monotonic()
        await day.begin()
        print(
            f"{schedules} schedules, a tick a second each; {bench.about}\n\n hour      jobs run      keys       bytes"
        )
        for _ in range(hours):
            for _ in range(_HOUR_MS // _STEP_MS):
                await day.step()
            samples.append(await day.sample())
            print("{:5} {:13,} {:9,} {:11,}".format(*samples[-1]), flush=True)
        ticks = schedules * hours * _HOUR_MS // 1_000
        print(f"\n{ticks:,} ticks in {time.monotonic() - begun:.0f} s, {day.ran:,} jobs run")
        if day.ran != ticks:
            raise SystemExit("not every tick ran exactly once")
        _check(samples)


def _check(samples: list[Sample]) -> None:
    second = samples[1]
    for sample in samples[2:]:
        if sample.keys > second.keys * _GROWTH or sample.size > second.size * _GROWTH:
            raise SystemExit(f"hour {sample.hour} has more keys or bytes than the second one: something is left behind")
    print("keys and bytes stayed where they were")


if __name__ == "__main__":
    main()
