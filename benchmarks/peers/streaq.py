"""streaq: a stream read in batches, its own Redis client; results kept for five minutes."""

from __future__ import annotations

from streaq import Worker  # type: ignore[import-not-found,unused-ignore]

from benchmarks.peers import common

_BULK = 1_000


async def enqueue(url: str, count: int) -> None:
    async def noop(number: int) -> None:
        raise NotImplementedError

    worker = Worker(redis_url=url)
    task = worker.task(name="noop")(noop)
    async with worker:
        for start in range(0, count, _BULK):
            await worker.enqueue_many([task.enqueue(number) for number in range(start, min(count, start + _BULK))])


async def work(url: str, concurrency: int, tally: common.Tally) -> None:
    async def noop(number: int) -> None:
        tally.ran(number)

    worker = Worker(redis_url=url, concurrency=concurrency)
    worker.task(name="noop")(noop)
    await worker.run_async()


if __name__ == "__main__":
    common.main("streaq coredis", enqueue, work)
