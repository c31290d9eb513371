"""No-op jobs through one worker process: Headgate beside arq, SAQ, streaq and taskiq, in turn, on the same machine.

Each contender, in each round, has an embedded store of its own and two processes: one enqueues all jobs and ends; then
one runs them, and its handler counts. The clock runs from the first job's run to the last one's, so neither start nor
connecting is in it. It counts when every job has run; jobs that ran again are told, and an error if they are Headgate's
own. Who goes first changes from round to round.

Round trips are the server's count of reads from its clients, so that a pipeline is one; commands include those inside
scripts. Peers are installed on demand, see `benchmarks.peers.environments`; one that cannot be is named and left out.
"""

from __future__ import annotations

import argparse
import functools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from anyio.abc import Process
from redis.asyncio import Redis

from benchmarks import harness
from benchmarks.harness import Bench, Counters
from benchmarks.peers.environments import REQUIREMENTS, NotInstalled, default_folder, interpreter_of
from headgate import __version__

_OURS: Final = "headgate"
_SETTINGS: Final = {
    _OURS: "app.run(scheduler=False); records kept for a day",
    "arq": "burst, poll_delay 0.01; results kept for an hour",
    "saq": "Worker as it is; jobs kept for ten minutes",
    "streaq": "Worker as it is; results kept for five minutes",
    "taskiq": "RedisStreamBroker, run_receiver_task; no result backend, acknowledged entries stay in the stream",
}
_ROOT: Final = Path(__file__).parents[1]
_DEADLINE_S: Final = 60.0
_JOBS_PER_SECOND: Final = 100
"""How fast a contender is at least, or else it has failed."""
_STOP_S: Final = 5.0
_TAIL_CHARS: Final = 300


class Said(msgspec.Struct, frozen=True):
    """What a contender's process printed.

    Attributes:
        seconds: from the first job to the last.
        about: packages and versions; of one that enqueued.
        cpu: seconds of its processor time meanwhile; of one that worked.
        doubled: jobs that ran again; of one that worked.
    """

    seconds: float
    about: str = ""
    cpu: float = 0.0
    doubled: int = 0


class Step(msgspec.Struct, frozen=True):
    """One process's work: what it said, and what the server counted meanwhile."""

    said: Said
    counters: Counters
    reads: int


class Run(msgspec.Struct, frozen=True):
    """One contender's part of a round."""

    enqueued: Step
    worked: Step


class Failed(Exception):
    """A contender did not do all its jobs; the message says what is known."""


def main() -> None:
    parser = argparse.ArgumentParser(description="No-op jobs through one worker process, beside other libraries.")
    parser.add_argument("--jobs", type=int, default=100_000, help="100 to 1000000")
    parser.add_argument("--peers", default=",".join(REQUIREMENTS), help="some of them with commas between, or none")
    parser.add_argument("--concurrency", type=int, default=100, help="1 to 1000; jobs at once in the worker")
    parser.add_argument("--rounds", type=int, default=1, help="1 to 20")
    parser.add_argument("--env", type=Path, default=default_folder(), help="where the peers' environments are kept")
    parser.add_argument("--no-aof", action="store_true", help="turn the embedded stores' AOF off")
    options = parser.parse_args()
    if not (100 <= options.jobs <= 1_000_000 and 1 <= options.concurrency <= 1_000 and 1 <= options.rounds <= 20):
        parser.error("--jobs is 100 to 1000000, --concurrency 1 to 1000, --rounds 1 to 20")
    peers = [] if options.peers == "none" else options.peers.split(",")
    if not set(peers) <= REQUIREMENTS.keys():
        parser.error(f"--peers is none or some of {','.join(REQUIREMENTS)}")
    interpreters, failures = _install(peers, options.env)
    anyio.run(functools.partial(_measure, options, interpreters, failures))


def _install(peers: Sequence[str], folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Interpreters by contender, and why others have none."""
    interpreters, failures = {_OURS: Path(sys.executable)}, {}
    for peer in peers:
        try:
            interpreters[peer] = interpreter_of(peer, folder)
        except NotInstalled as error:
            failures[peer] = f"not installed: {error}"
    return interpreters, failures


async def _measure(options: argparse.Namespace, interpreters: Mapping[str, Path], failures: dict[str, str]) -> None:
    runs: dict[str, list[Run]] = {name: [] for name in interpreters}
    server = ""
    for number in range(options.rounds):
        turn = number % len(runs)
        order = [*runs][turn:] + [*runs][:turn]
        for name in order:
            async with harness.opened(harness.EMBEDDED, aof=not options.no_aof) as bench:
                server = bench.about
                try:
                    runs[name].append(await _run(bench, name, interpreters[name], options.jobs, options.concurrency))
                except Failed as error:
                    failures[name] = f"failed: {error}"
        runs = {name: found for name, found in runs.items() if name not in failures}
    _report(options, server, runs, failures)
    if _OURS in failures or _doubled(runs[_OURS]):
        raise SystemExit(1)


async def _run(bench: Bench, name: str, interpreter: Path, jobs: int, concurrency: int) -> Run:
    command = [str(interpreter), "-m", f"benchmarks.peers.{name}"]
    numbers = [bench.url, str(jobs), str(concurrency)]
    enqueued = await _step(bench.client, [*command, "enqueue", *numbers], jobs)
    worked = await _step(bench.client, [*command, "work", *numbers], jobs)
    return Run(enqueued, worked)


async def _step(client: Redis, command: Sequence[str], jobs: int) -> Step:
    """Start a process, wait for what it says, and end it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HEADGATE"))}
    patience = _DEADLINE_S + jobs / _JOBS_PER_SECOND
    before, reads = await harness.read_counters(client), await _reads(client)
    with tempfile.TemporaryFile() as complaints:
        process = await anyio.open_process(
            command, stdin=subprocess.DEVNULL, stderr=complaints, cwd=_ROOT, env=environment
        )
        try:
            with anyio.move_on_after(patience):
                text = await _read_line(process)
                after, reads_after = await harness.read_counters(client), await _reads(client)
                said = msgspec.json.decode(text, type=Said)
                return Step(said, after.since(before), reads_after - reads)
        except msgspec.MsgspecError:
            complaints.seek(0)
            tail = complaints.read().decode("utf-8", "replace").strip()[-_TAIL_CHARS:]
            raise Failed(f"it ended early: {tail}") from None
        finally:
            await _end(process)
    raise Failed(f"not all of {jobs} jobs were done within {patience:.0f} s")


async def _read_line(process: Process) -> bytes:
    assert process.stdout is not None
    text = b""
    async for part in process.stdout:
        text += part
        if text.endswith(b"\n"):
            break
    return text


async def _end(process: Process) -> None:
    with anyio.CancelScope(shield=True), suppress(ProcessLookupError):
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        with anyio.move_on_after(_STOP_S):
            await process.wait()
        if process.returncode is None:
            process.kill()
        await process.aclose()


async def _reads(client: Redis) -> int:
    stats: dict[str, Any] = await client.info("stats")
    return int(stats["total_reads_processed"])


def _report(
    options: argparse.Namespace, server: str, runs: Mapping[str, list[Run]], failures: Mapping[str, str]
) -> None:
    jobs: int = options.jobs

    def rate(name: str) -> float:
        return statistics.median(jobs / run.worked.said.seconds for run in runs[name])

    best = max((rate(name) for name in runs if name != _OURS), default=0.0)

    def row(name: str, form: str, figure: Callable[[Run], float]) -> tuple[str, ...]:
        return name, *(_figure([figure(run) for run in found], form) for found in runs.values())

    def cost(name: str, form: str, figure: Callable[[Step], float]) -> tuple[str, ...]:
        return row(name, form, lambda run: figure(run.worked) / jobs)

    rows = [
        row("jobs per second", ",.0f", lambda run: jobs / run.worked.said.seconds),
        ("share of the best peer", *(f"{rate(name) / best:.2f}" if best else "-" for name in runs)),
        cost("round trips per job", ".2f", lambda step: step.reads),
        cost("commands per job", ".1f", lambda step: step.counters.commands),
        cost("worker CPU per job, µs", ",.0f", lambda step: step.said.cpu * 1e6),
        cost("server CPU per job, µs", ",.0f", lambda step: step.counters.server_cpu * 1e6),
        row("enqueued per second", ",.0f", lambda run: jobs / run.enqueued.said.seconds),
        row("round trips per enqueue", ".2f", lambda run: run.enqueued.reads / jobs),
        row("commands per enqueue", ".1f", lambda run: run.enqueued.counters.commands / jobs),
        row("bytes of a queued job", ",.0f", lambda run: run.enqueued.counters.memory / jobs),
        row(
            "bytes once it is done",
            ",.0f",
            lambda run: (run.enqueued.counters.memory + run.worked.counters.memory) / jobs,
        ),
        ("lost / doubled", *(f"0 / {_doubled(found):,}" for found in runs.values())),
    ]
    harness.print_table(
        f"{jobs:,} no-op jobs, one worker process, {options.concurrency} at once: median"
        f"{' (least to most)' if options.rounds > 1 else ''} of {options.rounds} rounds; {server}",
        [*runs],
        rows,
        f"python -m benchmarks.jobs --jobs {jobs} --peers {options.peers} --concurrency {options.concurrency}"
        f" --rounds {options.rounds}{' --no-aof' if options.no_aof else ''}",
    )
    for name, found in runs.items():
        ours = f"headgate {__version__}, " if name == _OURS else ""
        print(f"  {name}: {ours}{found[0].enqueued.said.about}; {_SETTINGS[name]}")
    for name, reason in failures.items():
        print(f"  {name}: {reason}")


def _doubled(runs: Sequence[Run]) -> int:
    return sum(run.worked.said.doubled for run in runs)


def _figure(values: Sequence[float], form: str) -> str:
    return f"{values[0]:{form}}" if len(values) == 1 else harness.spread(values, form)


if __name__ == "__main__":
    main()
