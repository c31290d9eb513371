"""Cancelling a job that runs: its handler is stopped, by announcement or by renewal, and keeps its place until then."""

from __future__ import annotations

import anyio
import pytest

import headgate
from headgate.models import QueueLimits
from headgate.store.wakeups import Wakeups
from tests.support.worlds import World, wait_until
from tests.workers.conftest import QUICK


class Handlers:
    """Jobs that run until they are stopped, and then take their time to clean up."""

    def __init__(self, app: headgate.Headgate, clean_up_s: float = 0.0) -> None:
        self.running: list[str] = []
        self.begun: list[str] = []
        self.most = 0

        @app.actor("test")
        async def test(job: headgate.Job) -> None:
            self.begun.append(job.id)
            self.running.append(job.id)
            self.most = max(self.most, len(self.running))
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(clean_up_s)
                self.running.remove(job.id)

    async def begins(self, job_id: str) -> None:
        async def there() -> bool:
            return job_id in self.running

        await wait_until(there)

    async def stops(self, job_id: str) -> float:
        began = anyio.current_time()

        async def gone() -> bool:
            return job_id not in self.running

        await wait_until(gone)
        return anyio.current_time() - began


async def ends_as(app: headgate.Headgate, job_id: str, state: str) -> None:
    async def there() -> bool:
        return (await app.jobs.get(job_id)).state == state

    await wait_until(there)


async def test_the_handler_is_stopped_at_once_and_counts_no_attempt(here: World) -> None:
    """With leases of a minute: no renewal comes by within the test."""
    slow = headgate.Settings(lease_ttl_ms=60_000)
    app = headgate.Headgate(here.url, namespace=here.namespace, settings=slow)
    handlers = Handlers(app)
    async with app.run(shutdown_grace=0):
        job_id, other = [(await app.enqueue("test", unique_key=key)).job_id for key in "ab"]
        await handlers.begins(job_id)
        await handlers.begins(other)
        await app.jobs.cancel(job_id)
        assert await handlers.stops(job_id) < 2
        assert other in handlers.running
        await ends_as(app, job_id, "cancelled")
        job = await app.jobs.get(job_id)
        assert (job.attempt, job.crash_attempt, job.last_error) == (0, 0, "Cancelled")
        assert not (await app.enqueue("test", unique_key="a")).duplicate, "its key is free"


async def test_it_keeps_its_place_until_it_has_stopped(app: headgate.Headgate) -> None:
    handlers = Handlers(app, clean_up_s=0.4)
    async with app.run(shutdown_grace=0):
        await app.queues.set_limits("default", QueueLimits(max_concurrent=1))
        first, second = [(await app.enqueue("test", unique_key=key)).job_id for key in "ab"]
        await handlers.begins(first)
        assert (await app.jobs.cancel(first)).state == "running"
        assert (await app.enqueue("test", unique_key="a")).job_id == first, "and its unique key"
        await handlers.begins(second)
        await ends_as(app, first, "cancelled")
    assert handlers.most == 1
    assert handlers.begun == [first, second]


async def test_without_its_announcement_the_next_renewal_stops_it(
    app: headgate.Headgate, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(*_: object) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(Wakeups, "follow", deaf)
    handlers = Handlers(app)
    async with app.run(shutdown_grace=0):
        job_id = (await app.enqueue("test")).job_id
        await handlers.begins(job_id)
        await app.jobs.cancel(job_id)
        assert await handlers.stops(job_id) < QUICK.lease_ttl_ms / 1000
        await ends_as(app, job_id, "cancelled")
