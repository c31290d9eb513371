"""Schedules whose hook always fails, beside healthy ones: does anybody else notice?

A thousand healthy schedules of one second run twice, with the same before-hook: alone, and beside two hundred whose
hook raises at each try. The lateness of the healthy ones' ticks, from their events, is printed side by side.
"""

from __future__ import annotations

import argparse
import functools
import math
import time
from typing import Final

import anyio
import msgspec

from benchmarks import harness
from benchmarks.harness import Bench
from headgate.hooks import Enqueueing, Hooks
from headgate.models import Event, ScheduleDefinition

_PAYLOAD_BYTES: Final = 40
_SETTLE_S: Final = 2.5
_TRAIL_S: Final = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Failing hooks beside healthy schedules.")
    parser.add_argument("--healthy", type=int, default=1_000, help="1 to 5000")
    parser.add_argument("--failing", type=int, default=200, help="0 to 2000")
    parser.add_argument("--seconds", type=int, default=10, help="1 to 60")
    options = parser.parse_args()
    if not (1 <= options.healthy <= 5_000 and 0 <= options.failing <= 2_000 and 1 <= options.seconds <= 60):
        parser.error("--healthy is 1 to 5000, --failing 0 to 2000, --seconds 1 to 60")
    anyio.run(functools.partial(_measure, options))


async def _measure(options: argparse.Namespace) -> None:
    async with (
        harness.opened(harness.EMBEDDED) as bench,
        harness.namespaces(bench, "alone", "beside") as (alone, beside),
    ):
        without = await _lateness(bench, alone, options, failing=0)
        with_them = await _lateness(bench, beside, options, failing=options.failing)
        about = bench.about
    expected = options.healthy * options.seconds
    harness.print_table(
        f"{options.healthy:,} healthy schedules of one second for {options.seconds} s; {about}",
        ("alone", f"beside {options.failing} failing"),
        [
            ("ticks fired", f"{len(without):,} of {expected:,}", f"{len(with_them):,} of {expected:,}"),
            ("lateness p50 / p99, ms", harness.percentiles(without), harness.percentiles(with_them)),
        ],
        f"python -m benchmarks.failing_hooks --healthy {options.healthy} --failing {options.failing}"
        f" --seconds {options.seconds}",
    )


async def _lateness(bench: Bench, namespace: str, options: argparse.Namespace, *, failing: int) -> list[int]:
    """The lateness of the healthy ones' ticks in the window, in ms."""
    store = bench.store(namespace)
    await harness.write_schedules(store, options.healthy, "@every:1000", payload_bytes=_PAYLOAD_BYTES)
    for number in range(failing):
        await store.schedules.put(f"bad-{number}", ScheduleDefinition(kind="report", spec="@every:1000"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.schedule, bench.scheduler(namespace, _hooks()))
        first_ms = math.ceil(time.time() + _SETTLE_S) * 1000
        await harness.sleep_until(first_ms / 1000 + options.seconds + _TRAIL_S)
        tasks.cancel_scope.cancel()
    texts = await harness.read_events(bench.client, store.keys, options.healthy)
    events = [msgspec.json.decode(text, type=Event) for one in texts for text in one]
    window = range(first_ms, first_ms + options.seconds * 1000)
    return [event.recorded_at_ms - event.tick_ms for event in events if event.tick_ms in window]


def _hooks() -> Hooks:
    async def hook(job: Enqueueing) -> None:
        if job.schedule.id.startswith("bad-"):
            raise RuntimeError

    hooks = Hooks()
    hooks.before.append(hook)
    return hooks


if __name__ == "__main__":
    main()
