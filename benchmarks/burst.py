"""A burst: many schedules due in the same second, and how long until each has its job.

Each round writes the schedules anew, all with one next tick, and copies their records for the bare script. Measured are

- the real `Scheduler`, running as it always does, from the tick to the moment when the queue holds every job;
- ``bare.lua`` on the copies, batches of 200, two calls in flight, from its first call to that same moment.

Which of them goes first alternates from round to round. Round trips and commands come from the server's own command
statistics, without those of the benchmark; bytes from its ``used_memory``. At the end of a round every schedule must
have exactly one job and one event: none lost, none doubled.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import anyio
import msgspec
from redis.exceptions import NoScriptError

from benchmarks import harness
from benchmarks.harness import Bench, Counters
from headgate.models import Event
from headgate.store.keys import Keys
from headgate.store.loader import Script, compose

_QUEUE: Final = "default"
_BATCH: Final = 200
_IN_FLIGHT: Final = 2
_SETTLE_S: Final = 0.4
"""What the scheduler has at least to take the duty before the burst."""
_POLL_S: Final = 0.005
_DEADLINE_S: Final = 60.0
_SPEC_INTERVALS: Final = 64
"""The spec's interval is this part of the time since the epoch, about a year: no tick but the burst is near."""
_MARKER_MS: Final = 86_400_000
_WARM_UP: Final = 400
_LEAD_S: Final = 3.0
_WRITES_PER_SECOND: Final = 1_000
"""How fast schedules are written at least: the burst comes due after all of them are, and the bare script has run."""


class Run(msgspec.Struct, frozen=True):
    """One side of a round: how long it took, and what the server counted meanwhile."""

    seconds: float
    counters: Counters


class Round(msgspec.Struct, frozen=True):
    """Both sides, the bytes of a schedule at rest, and how late the real events were, in ms."""

    real: Run
    bare: Run
    bytes_at_rest: float
    lateness: list[int]


def main() -> None:
    parser = argparse.ArgumentParser(description="Schedules due in the same second, beside a bare script.")
    parser.add_argument("--schedules", type=int, default=10_000, help="1 to 100000")
    parser.add_argument("--rounds", type=int, default=3, help="1 to 20")
    parser.add_argument("--payload", type=int, default=40, help="bytes of a payload, 40 to 10000")
    parser.add_argument("--store", type=harness.check_local, default=harness.EMBEDDED, help="embedded, or a local URL")
    parser.add_argument("--no-aof", action="store_true", help="turn the embedded store's AOF off")
    options = parser.parse_args()
    if not (1 <= options.schedules <= 100_000 and 1 <= options.rounds <= 20 and 40 <= options.payload <= 10_000):
        parser.error("--schedules is 1 to 100000, --rounds 1 to 20, --payload 40 to 10000")
    if options.no_aof and options.store != harness.EMBEDDED:
        parser.error("--no-aof is for the embedded store")
    anyio.run(functools.partial(_measure, options))


async def _measure(options: argparse.Namespace) -> None:
    async with harness.opened(options.store, aof=not options.no_aof) as bench:
        await _round(bench, _WARM_UP, options.payload, real_first=True)
        rounds = [
            await _round(bench, options.schedules, options.payload, real_first=number % 2 == 0)
            for number in range(options.rounds)
        ]
    _report(options, bench.about, rounds)


async def _round(bench: Bench, count: int, payload_bytes: int, *, real_first: bool) -> Round:
    async with harness.namespaces(bench, "real", "bare") as (real, bare):
        interval_ms = int((time.time() + _LEAD_S + count / _WRITES_PER_SECOND) * 1000) // _SPEC_INTERVALS
        tick_ms = interval_ms * _SPEC_INTERVALS
        empty = await harness.read_counters(bench.client)
        await harness.write_schedules(bench.store(real), count, f"@every:{interval_ms}", payload_bytes=payload_bytes)
        written = (await harness.read_counters(bench.client)).since(empty)
        await _copy_records(bench, real, bare, count)

        run_real = functools.partial(_run_real, bench, real, count, tick_ms)
        run_bare = functools.partial(_run_bare, bench, Keys(bare), count, tick_ms, tick_ms + interval_ms)
        if real_first:
            real_run, bare_run = await run_real(), await run_bare()
        else:
            bare_run, real_run = await run_bare(), await run_real()

        lateness = await _check(bench, Keys(real), count, tick_ms)
        await _check(bench, Keys(bare), count, tick_ms)
        return Round(real_run, bare_run, written.memory / count, lateness)


async def _copy_records(bench: Bench, real: str, bare: str, count: int) -> None:
    source, target = Keys(real), Keys(bare)
    async with bench.client.pipeline(transaction=False) as pipe:
        for number in range(count):
            pipe.copy(source("schedule", f"s-{number}"), target("schedule", f"s-{number}"))
        pipe.copy(source("due"), target("due"))
        await pipe.execute()


async def _run_real(bench: Bench, namespace: str, count: int, tick_ms: int) -> Run:
    scheduler = bench.scheduler(namespace)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(harness.schedule, scheduler)
        if time.time() > tick_ms / 1000 - _SETTLE_S:
            raise SystemExit("writing the schedules took longer than planned; is the machine busy?")
        await harness.sleep_until(tick_ms / 1000 - _SETTLE_S / 2)
        if not scheduler.duty.trusted:
            raise SystemExit("the scheduler had no lease when the burst came due")
        before = await harness.read_counters(bench.client)
        await harness.sleep_until(tick_ms / 1000)
        await _all_queued(bench, Keys(namespace), count)
        seconds = time.time() - tick_ms / 1000
        after = await harness.read_counters(bench.client)
        tasks.cancel_scope.cancel()
    return Run(seconds, after.since(before))


async def _run_bare(bench: Bench, keys: Keys, count: int, tick_ms: int, following_ms: int) -> Run:
    script = _bare_script()
    batches = _bare_batches(count, tick_ms, following_ms)

    async def drain() -> None:
        for batch in batches:
            try:
                await bench.client.evalsha(script.sha, 1, keys.root, _QUEUE, *batch)
            except NoScriptError:
                await bench.client.eval(script.text, 1, keys.root, _QUEUE, *batch)

    before = await harness.read_counters(bench.client)
    started = time.time()
    async with anyio.create_task_group() as tasks:
        for _ in range(_IN_FLIGHT):
            tasks.start_soon(drain)
        await _all_queued(bench, keys, count)
        seconds = time.time() - started
    return Run(seconds, (await harness.read_counters(bench.client)).since(before))


def _bare_batches(count: int, tick_ms: int, following_ms: int) -> Iterator[list[str | int]]:
    for start in range(0, count, _BATCH):
        batch: list[str | int] = []
        for number in range(start, min(count, start + _BATCH)):
            batch += (f"s-{number}", tick_ms, following_ms, _MARKER_MS)
        yield batch


@functools.cache
def _bare_script() -> Script:
    source = Path(__file__).with_name("bare.lua").read_text("utf-8")
    return compose("bare", source, {})


async def _all_queued(bench: Bench, keys: Keys, count: int) -> None:
    """Look at the queue, by a command that nothing else here uses, until it holds every job."""
    deadline = time.monotonic() + _DEADLINE_S
    while await bench.client.zcount(keys("state", _QUEUE, "available"), "-inf", "+inf") < count:
        if time.monotonic() > deadline:
            raise SystemExit(f"not every job was queued within {_DEADLINE_S:.0f} s")
        await anyio.sleep(_POLL_S)


async def _check(bench: Bench, keys: Keys, count: int, tick_ms: int) -> list[int]:
    """One job and one event for each schedule, or the figures mean nothing. Returns how late each event was, in ms."""
    jobs = [f"sched-s-{number}-{tick_ms}" for number in range(count)]
    queued = await bench.client.zcount(keys("state", _QUEUE, "available"), "-inf", "+inf")
    stored = await bench.client.exists(*(keys("job", job) for job in jobs))
    texts = await harness.read_events(bench.client, keys, count)
    if not queued == stored == count or any(len(one) != 1 for one in texts):
        raise SystemExit(f"lost or doubled: {count} schedules, {queued} queued, {stored} jobs")
    events = [msgspec.json.decode(text, type=Event) for (text,) in texts]
    if [event.job_id for event in events] != jobs:
        raise SystemExit("an event names another job than its schedule's")
    return [event.recorded_at_ms - event.tick_ms for event in events]


def _report(options: argparse.Namespace, about: str, rounds: list[Round]) -> None:
    count = options.schedules

    def row(name: str, form: str, figure: Callable[[Run], float]) -> tuple[str, str, str]:
        real, bare = (
            [figure(run) for run in runs] for runs in zip(*((one.real, one.bare) for one in rounds), strict=True)
        )
        return name, harness.spread(real, form), harness.spread(bare, form)

    lateness = [late for one in rounds for late in one.lateness]
    at_rest = statistics.median(one.bytes_at_rest for one in rounds)
    rows = [
        row("ticks per second", ",.0f", lambda run: count / run.seconds),
        row("seconds", ".3f", lambda run: run.seconds),
        (
            "share of the bare script",
            harness.spread([one.bare.seconds / one.real.seconds for one in rounds], ".2f"),
            "1",
        ),
        row("round trips per tick", ".4f", lambda run: run.counters.round_trips / count),
        row("commands per tick", ".2f", lambda run: run.counters.commands / count),
        row("server CPU per tick, µs", ".1f", lambda run: run.counters.server_cpu / count * 1e6),
        row("own CPU per tick, µs", ".1f", lambda run: run.counters.own_cpu / count * 1e6),
        row("bytes per tick", ",.0f", lambda run: run.counters.memory / count),
        ("bytes per schedule", f"{at_rest:,.0f}", ""),
        ("lateness p50 / p99, ms", harness.percentiles(lateness), ""),
        ("lost / doubled", "0 / 0", "0 / 0"),
    ]
    command = (
        f"python -m benchmarks.burst --schedules {count} --rounds {options.rounds} --payload {options.payload}"
        f" --store {harness.shown(options.store)}{' --no-aof' if options.no_aof else ''}"
    )
    harness.print_table(
        f"{count:,} schedules due at one instant: median (least to most) of {options.rounds} rounds; {about}",
        ("headgate", "bare script"),
        rows,
        command,
    )


if __name__ == "__main__":
    main()
