"""taskiq with the stream broker of taskiq-redis, which acknowledges; no result backend, which is its default."""

from __future__ import annotations

from taskiq.api import run_receiver_task  # type: ignore[import-not-found,unused-ignore]
from taskiq_redis import RedisStreamBroker  # type: ignore[import-not-found,unused-ignore]

from benchmarks.peers import common


async def enqueue(url: str, count: int) -> None:
    async def noop(number: int) -> None:
        raise NotImplementedError

    broker = RedisStreamBroker(url)
    task = broker.register_task(noop, task_name="noop")
    await broker.startup()
    await common.each(count, task.kiq)
    await broker.shutdown()


async def work(url: str, concurrency: int, tally: common.Tally) -> None:
    async def noop(number: int) -> None:
        tally.ran(number)

    broker = RedisStreamBroker(url)
    broker.register_task(noop, task_name="noop")
    broker.is_worker_process = True
    await broker.startup()
    await run_receiver_task(broker, max_async_tasks=concurrency)


if __name__ == "__main__":
    common.main("taskiq taskiq-redis redis", enqueue, work)
