"""A steady load: a thousand schedules of one second, and what the real `Scheduler` makes of them.

After a settling second, the ticks of the window are counted from the histories: a tick has fired if its event says that
its job was queued. Lateness is the event's own: recorded minus due, in store time. The rates of the window and of the
idle time after it, when the schedules are gone and the scheduler still runs, come from the server's command statistics.
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
from benchmarks.harness import Bench, Counters
from headgate.models import Event
from headgate.store import Store

_INTERVAL_MS: Final = 1_000
_PAYLOAD_BYTES: Final = 40
_SETTLE_S: Final = 1.5
_TRAIL_S: Final = 3.0
"""How late an event of the window may be and still be counted."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Schedules of one second, steadily, then idle.")
    parser.add_argument("--schedules", type=int, default=1_000, help="1 to 20000")
    parser.add_argument("--seconds", type=int, default=15, help="1 to 60; a history keeps a hundred events")
    parser.add_argument("--idle", type=int, default=10, help="seconds, 1 to 60")
    parser.add_argument("--store", type=harness.check_local, default=harness.EMBEDDED, help="embedded, or a local URL")
    options = parser.parse_args()
    if not (1 <= options.schedules <= 20_000 and 1 <= options.seconds <= 60 and 1 <= options.idle <= 60):
        parser.error("--schedules is 1 to 20000, --seconds and --idle 1 to 60")
    anyio.run(functools.partial(_measure, options))


async def _measure(options: argparse.Namespace) -> None:
    async with harness.opened(options.store) as bench, harness.namespaces(bench, "steady") as (namespace,):
        store = bench.store(namespace)
        await harness.write_schedules(store, options.schedules, f"@every:{_INTERVAL_MS}", payload_bytes=_PAYLOAD_BYTES)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(harness.schedule, bench.scheduler(namespace))
            first_ms = math.ceil(time.time() + _SETTLE_S) * 1000
            busy = await _counted(bench, first_ms / 1000 - 0.5, options.seconds)
            await anyio.sleep(_TRAIL_S)
            events = await _events(bench, store, options.schedules, first_ms, options.seconds)
            for number in range(options.schedules):
                await store.schedules.delete(f"s-{number}")
            idle = await _counted(bench, time.time() + 1, options.idle)
            tasks.cancel_scope.cancel()
    if not events:
        raise SystemExit("no tick of the window fired")
    _report(options, bench.about, events, busy, idle)


async def _counted(bench: Bench, since: float, seconds: int) -> Counters:
    """What the server counts from `since` on, for so many seconds."""
    await harness.sleep_until(since)
    before = await harness.read_counters(bench.client)
    await harness.sleep_until(since + seconds)
    return (await harness.read_counters(bench.client)).since(before)


async def _events(bench: Bench, store: Store, count: int, first_ms: int, seconds: int) -> list[Event]:
    """The events of the window's ticks that say their job was queued."""
    texts = await harness.read_events(bench.client, store.keys, count)
    events = [msgspec.json.decode(text, type=Event) for one in texts for text in one]
    window = range(first_ms, first_ms + seconds * 1000)
    return [event for event in events if event.tick_ms in window and event.outcome == "enqueued"]


def _report(options: argparse.Namespace, about: str, events: list[Event], busy: Counters, idle: Counters) -> None:
    expected = options.schedules * options.seconds * 1000 // _INTERVAL_MS
    identities = {(event.schedule_id, event.tick_ms) for event in events}
    rows = [
        ("ticks fired", f"{len(identities):,} of {expected:,} ({len(identities) / expected:.1%})", ""),
        ("doubled", f"{len(events) - len(identities):,}", ""),
        ("lateness p50 / p99, ms", harness.percentiles([event.recorded_at_ms - event.tick_ms for event in events]), ""),
        _rates("calls per second", busy.round_trips / options.seconds, idle.round_trips / options.idle),
        _rates("commands per second", busy.commands / options.seconds, idle.commands / options.idle),
        _rates("server CPU, share of a core", busy.server_cpu / options.seconds, idle.server_cpu / options.idle, ".2%"),
        _rates("own CPU, share of a core", busy.own_cpu / options.seconds, idle.own_cpu / options.idle, ".2%"),
    ]
    harness.print_table(
        f"{options.schedules:,} schedules of one second for {options.seconds} s, then {options.idle} s idle; {about}",
        ("busy", "idle"),
        rows,
        f"python -m benchmarks.sustained --schedules {options.schedules} --seconds {options.seconds}"
        f" --idle {options.idle} --store {harness.shown(options.store)}",
    )


def _rates(name: str, busy: float, idle: float, form: str = ",.1f") -> tuple[str, str, str]:
    return name, f"{busy:{form}}", f"{idle:{form}}"


if __name__ == "__main__":
    main()
