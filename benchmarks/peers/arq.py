"""arq: one sorted set polled, each job claimed and finished in transactions; results kept for an hour."""

from __future__ import annotations

from typing import Any

from arq import create_pool  # type: ignore[import-not-found,unused-ignore]
from arq.connections import RedisSettings  # type: ignore[import-not-found,unused-ignore]
from arq.worker import Worker, func  # type: ignore[import-not-found,unused-ignore]

from benchmarks.peers import common

_POLL_S = 0.01
"""The default of 0.5 s would have it wait between batches; shorter than this only reads the same queue again."""


async def enqueue(url: str, count: int) -> None:
    pool = await create_pool(RedisSettings.from_dsn(url))
    await common.each(count, lambda number: pool.enqueue_job("noop", number))
    await pool.aclose()


async def work(url: str, concurrency: int, tally: common.Tally) -> None:
    async def noop(_: dict[str, Any], number: int) -> None:
        tally.ran(number)

    settings = RedisSettings.from_dsn(url)
    worker = Worker(
        [func(noop, name="noop")], redis_settings=settings, max_jobs=concurrency, poll_delay=_POLL_S, burst=True
    )
    await worker.async_run()
    await worker.close()


if __name__ == "__main__":
    common.main("arq redis", enqueue, work)
