"""SAQ: a list moved job by job to another, each job one record written again at every step; kept ten minutes."""

from __future__ import annotations

from typing import Any

from saq import Worker  # type: ignore[import-not-found,unused-ignore]
from saq.queue.redis import RedisQueue  # type: ignore[import-not-found,unused-ignore]

from benchmarks.peers import common


async def enqueue(url: str, count: int) -> None:
    queue = RedisQueue.from_url(url)
    await queue.connect()
    await common.each(count, lambda number: queue.enqueue("noop", number=number))
    await queue.disconnect()


async def work(url: str, concurrency: int, tally: common.Tally) -> None:
    async def noop(_: dict[str, Any], *, number: int) -> None:
        tally.ran(number)

    queue = RedisQueue.from_url(url)
    await queue.connect()
    await Worker(queue, [("noop", noop)], concurrency=concurrency).start()


if __name__ == "__main__":
    common.main("saq redis", enqueue, work)
