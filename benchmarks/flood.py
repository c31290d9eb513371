"""A steady load, alone and beside a flood of requests: how late ticks are without it and with it.

The server is `headgate serve` as users start it, API and scheduler in one process. The clients are this process: each
has one connection, and asks again as soon as it was answered. Ticks and their lateness are taken from their events, in
store time, so that what the clients cost slows the machine down, but does not measure.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import itertools
import math
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
import msgspec

from benchmarks import harness
from benchmarks.harness import Bench
from headgate.models import Event
from headgate.store import Store

_INTERVAL_MS: Final = 1_000
_PAYLOAD_BYTES: Final = 40
_SETTLE_S: Final = 3.0
"""Between the scheduler's start, or the clients', and the first tick that counts."""
_TRAIL_S: Final = 5.0
"""How late an event of the window may be and still be counted."""
_LOOK_S: Final = 0.05
_PATHS: Final = (
    "/api/v1/periodic?limit=200",
    "/api/v1/jobs?queue=default&state=available&limit=200",
    "/api/v1/queues",
    "/api/v1/periodic/s-0/enqueue-events?limit=100",
)


class Answers(msgspec.Struct, frozen=True):
    """What the clients were told.

    Attributes:
        statuses: answers by status; of connections that were closed instead, ``cut``.
        waited_ms: how long each answer took.
    """

    statuses: Counter[str]
    waited_ms: list[float]


class Window(msgspec.Struct, frozen=True):
    """What became of the ticks of some seconds, and of the requests meanwhile.

    Attributes:
        fired: the events of those that became jobs.
        missed: how many were passed over, as their policy says, since a later one was due by then.
        answers: to all clients.
        store_cpu: processor time of the store, in s.
    """

    fired: list[Event]
    missed: int
    answers: Answers
    store_cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(description="Lateness of ticks without and with a flood of requests.")
    parser.add_argument("--rate", type=int, default=2_000, help="ticks per second, 1 to 20000")
    parser.add_argument("--clients", type=int, default=200, help="1 to 500")
    parser.add_argument("--seconds", type=int, default=30, help="of each window, 1 to 60; a history keeps 100 events")
    options = parser.parse_args()
    if not (1 <= options.rate <= 20_000 and 1 <= options.clients <= 500 and 1 <= options.seconds <= 60):
        parser.error("--rate is 1 to 20000, --clients 1 to 500, --seconds 1 to 60")
    anyio.run(functools.partial(_measure, options))


async def _measure(options: argparse.Namespace) -> None:
    async with harness.opened(harness.EMBEDDED) as bench, harness.namespaces(bench, "flood") as (namespace,):
        store = bench.store(namespace)
        await harness.write_schedules(store, options.rate, f"@every:{_INTERVAL_MS}", payload_bytes=_PAYLOAD_BYTES)
        async with _serving(bench, namespace) as port:
            alone = await _window(bench, store, options, port, clients=0)
            flooded = await _window(bench, store, options, port, clients=options.clients)
    _report(options, bench.about, alone, flooded)


@asynccontextmanager
async def _serving(bench: Bench, namespace: str) -> AsyncIterator[int]:
    """`headgate serve` in a process of its own, ready; yields the port of its API."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    command = ["headgate", "serve", "--redis", bench.url, "--namespace", namespace, "--port", str(port)]
    process = await anyio.open_process([sys.executable, "-m", *command], stdout=subprocess.DEVNULL, stderr=None)
    try:
        while not await _ready(port):
            if process.returncode is not None:
                raise SystemExit("headgate serve ended")
            await anyio.sleep(_LOOK_S)
        yield port
    finally:
        process.terminate()
        with anyio.CancelScope(shield=True):
            await process.wait()


async def _ready(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.write(_request("/readyz"))
    status = await _answer(reader)
    writer.close()
    return status == "200"


async def _window(bench: Bench, store: Store, options: argparse.Namespace, port: int, *, clients: int) -> Window:
    """Measure from a settling time on, with so many clients or without."""
    answers = Answers(Counter(), [])
    async with anyio.create_task_group() as tasks:
        for paths in itertools.islice(itertools.cycle(_turned()), clients):
            tasks.start_soon(_hammer, port, paths, answers)
        first_ms = math.ceil(time.time() + _SETTLE_S) * _INTERVAL_MS
        await harness.sleep_until(first_ms / 1000 - 0.5)
        answers.statuses.clear()
        answers.waited_ms.clear()
        before = await harness.read_counters(bench.client)
        await harness.sleep_until(first_ms / 1000 - 0.5 + options.seconds)
        seen = Answers(answers.statuses.copy(), answers.waited_ms.copy())
        cost = (await harness.read_counters(bench.client)).since(before)
        await harness.sleep_until(first_ms / 1000 + options.seconds)  # the last tick has its flood too
        tasks.cancel_scope.cancel()
    await anyio.sleep(_TRAIL_S)
    window = range(first_ms, first_ms + options.seconds * 1000)
    texts = await harness.read_events(bench.client, store.keys, options.rate)
    events = [msgspec.json.decode(text, type=Event) for one in texts for text in one]
    fired = [event for event in events if event.tick_ms in window and event.outcome == "enqueued"]
    passed = [range(each.from_ms, each.until_ms + 1, _INTERVAL_MS) for event in events if (each := event.discarded)]
    return Window(fired, sum(tick_ms in window for ticks in passed for tick_ms in ticks), seen, cost.server_cpu)


def _turned() -> list[list[str]]:
    """The paths, begun at each."""
    return [[*_PATHS[at:], *_PATHS[:at]] for at in range(len(_PATHS))]


async def _hammer(port: int, paths: list[str], answers: Answers) -> None:
    """One client: as many answers as it can get."""
    requests = itertools.cycle([_request(path) for path in paths])
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for request in requests:
                asked = time.monotonic()
                writer.write(request)
                answers.statuses[await _answer(reader)] += 1
                answers.waited_ms.append((time.monotonic() - asked) * 1000)
        except (OSError, EOFError):
            answers.statuses["cut"] += 1
        finally:
            writer.close()


def _request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


async def _answer(reader: asyncio.StreamReader) -> str:
    """Read one answer to its end; its status. No more of HTTP than that: clients are to cost little."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").lower()
    await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
    return head.split(" ", 2)[1]


def _report(options: argparse.Namespace, about: str, alone: Window, flooded: Window) -> None:
    windows = (alone, flooded)
    if not all(window.fired for window in windows):
        raise SystemExit("no tick of a window fired")
    expected = options.rate * options.seconds * 1000 // _INTERVAL_MS
    late = [[event.recorded_at_ms - event.tick_ms for event in window.fired] for window in windows]
    once = [len({(event.schedule_id, event.tick_ms) for event in window.fired}) for window in windows]
    lost = [expected - count - window.missed for window, count in zip(windows, once, strict=True)]
    doubled = [len(window.fired) - count for window, count in zip(windows, once, strict=True)]
    answered, waited = flooded.answers.statuses, flooded.answers.waited_ms
    rows = [
        ("ticks fired", *(f"{count:,} of {expected:,}" for count in once)),
        ("missed, since a later one was due", *(f"{window.missed:,}" for window in windows)),
        ("lost, doubled", *(f"{gone:,}, {twice:,}" for gone, twice in zip(lost, doubled, strict=True))),
        ("lateness p50 / p99, ms", *(harness.percentiles(each) for each in late)),
        ("lateness at most, ms", *(f"{max(each):,}" for each in late)),
        ("requests answered per second", "", f"{answered.total() / options.seconds:,.0f}"),
        ("by status", "", ", ".join(f"{status}: {count:,}" for status, count in sorted(answered.items()))),
        ("answered after p50 / p99, ms", "", harness.percentiles(waited)),
        ("store CPU, share of a core", *(f"{window.store_cpu / options.seconds:.1%}" for window in windows)),
    ]
    harness.print_table(
        f"{options.rate:,} ticks per second for {options.seconds} s, alone and with {options.clients} clients; {about}",
        ("alone", "flooded"),
        rows,
        f"python -m benchmarks.flood --rate {options.rate} --clients {options.clients} --seconds {options.seconds}",
    )


if __name__ == "__main__":
    main()
