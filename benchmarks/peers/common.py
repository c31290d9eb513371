"""What the contenders share: their command line, enqueueing a few at a time, and a tally of what ran.

``python -m benchmarks.peers.NAME enqueue|work URL JOBS CONCURRENCY`` prints one line of JSON when it is done. It runs
under each contender's own interpreter, so it imports the standard library only.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Final

IN_FLIGHT: Final = 30
"""Most enqueue calls at once; under the 32 connections of Headgate's client, where more would wait for one."""
_SETTLE_S: Final = 0.3
"""After the last job: for the reports still on their way, and for jobs that run twice."""


class Tally:
    """Counts each job of a known number of them, from the first that runs to the last."""

    def __init__(self, count: int) -> None:
        self._times = bytearray(count)
        self._missing = count
        self._doubled = 0
        self._began = self._cpu = 0.0

    def ran(self, number: int) -> None:
        """One more job has run. All that a no-op handler does."""
        if not self._began:
            self._began, self._cpu = time.perf_counter(), time.process_time()
        if self._times[number]:
            self._doubled += 1
            return
        self._times[number] = 1
        self._missing -= 1
        if not self._missing:
            seconds, cpu = time.perf_counter() - self._began, time.process_time() - self._cpu
            threading.Thread(target=self._say, args=(seconds, cpu)).start()

    def _say(self, seconds: float, cpu: float) -> None:
        time.sleep(_SETTLE_S)
        _print(seconds=seconds, cpu=cpu, doubled=self._doubled)


def main(
    packages: str,
    enqueue: Callable[[str, int], Awaitable[None]],
    work: Callable[[str, int, Tally], Awaitable[None]],
) -> None:
    """Do what the command line says.

    Args:
        packages: whose versions to tell.
        enqueue: puts jobs 0 to N - 1 on the queue of the store at a URL.
        work: runs jobs of the store at a URL, so many at once, and tallies them; it may work for ever.
    """
    mode, url, count, concurrency = sys.argv[1:]
    if mode == "work":
        asyncio.run(_finish(work(url, int(concurrency), Tally(int(count)))))
        return
    began = time.perf_counter()
    asyncio.run(_finish(enqueue(url, int(count))))
    seconds = time.perf_counter() - began
    about = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages.split())
    _print(seconds=seconds, about=about)


async def each(count: int, call: Callable[[int], Awaitable[object]]) -> None:
    """Call with every number below `count`, `IN_FLIGHT` at once."""
    numbers = iter(range(count))

    async def caller() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))


async def _finish(what: Awaitable[None]) -> None:
    await what


def _print(**figures: object) -> None:
    print(json.dumps(figures), flush=True)
