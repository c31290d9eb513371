"""Headgate, as a program of its users runs it: an application that works and does not schedule."""

from __future__ import annotations

import asyncio
from typing import Final

from benchmarks.peers import common
from headgate import Headgate

_BULK: Final = 200


async def enqueue(url: str, count: int) -> None:
    async with Headgate(url) as app:
        for start in range(0, count, _BULK):
            numbers = range(start, min(count, start + _BULK))
            await app.enqueue_many([app.request("noop", {"number": number}) for number in numbers])


async def work(url: str, concurrency: int, tally: common.Tally) -> None:
    app = Headgate(url)

    @app.actor("noop")
    async def noop(number: int) -> None:
        tally.ran(number)

    async with app.run(scheduler=False, concurrency=concurrency):
        await asyncio.Event().wait()


if __name__ == "__main__":
    common.main("redis", enqueue, work)
