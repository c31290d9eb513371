"""Metrics of a worker: what came of its attempts, how long they took, and what its queues' gates refused."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

import anyio
import pytest

import headgate
from headgate.errors import StoreUnavailable
from headgate.models import QueueLimits, RateLimit
from headgate.names import fingerprint
from headgate.reclaimer import Reclaimer
from headgate.registry import Registry
from headgate.reporter import Reporter
from headgate.running import RunningJobs
from headgate.store.attempts import Attempts, Claim, Renewed, Report
from headgate.store.wakeups import Wakeups
from headgate.worker import Worker
from tests.jobs.acts import LEASE, admit_one, enqueue, enqueue_many
from tests.metrics.conftest import all_counted, counted
from tests.support.worlds import START_MS, World, wait_until
from tests.workers.conftest import QUICK, FakeAttempts, Silent, claim_of


def worker_on(
    world: World, registry: Registry | None = None, *, queues: Sequence[str] = ("default",), concurrency: int = 10
) -> Worker:
    return Worker(
        *(world.store, cast("Wakeups", Silent()), registry or registry_of()), queues=queues, concurrency=concurrency
    )


def registry_of() -> Registry:
    async def test() -> None: ...

    async def fail() -> None:
        raise RuntimeError

    async def discard() -> None:
        raise headgate.Discard("enough")

    registry = Registry()
    for actor in (test, fail, discard):
        registry.register(actor, actor.__name__, "default")
    return registry


# attempts


async def test_attempts_are_counted_by_what_came_of_them(moved: World) -> None:
    """How the job ended, if it did; else what the attempt came to: `failed` is tried again, `archived` is not."""
    await enqueue_many(moved, 3)
    await enqueue(moved, kind="fail", max_attempts=1)
    await enqueue(moved, kind="fail", max_attempts=2)
    await enqueue(moved, kind="discard")
    await enqueue(moved, kind="unknown")
    await enqueue(moved, payload={"surplus": 1})
    await worker_on(moved).run_ready()
    assert all_counted("headgate_attempts_total") == {
        ("default", "completed"): 3,
        ("default", "archived"): 1,
        ("default", "failed"): 1,
        ("default", "cancelled"): 1,
        ("default", "returned"): 1,
        ("default", "undecodable"): 1,
    }


async def test_an_attempt_at_a_job_that_is_anothers_counts_as_lost(moved: World) -> None:
    """Whether the store says so when it is told of the end, or at a renewal before."""
    job_id = await enqueue(moved)
    registry = Registry()

    async def test() -> None:
        await moved.client.hset(moved.keys("job", job_id), "claim", "99")

    registry.register(test, "test", "default")
    await worker_on(moved, registry).run_ready()
    assert all_counted("headgate_attempts_total") == {("default", "lost"): 1}
    await moved.client.delete(moved.keys("job", job_id))
    await moved.client.zrem(moved.keys("state", "default", "running"), job_id)


async def test_an_attempt_that_is_stopped_for_a_lost_lease_counts_once(moved: World) -> None:
    job_id = await enqueue(moved)
    registry = Registry()

    async def test() -> None:
        await moved.client.hset(moved.keys("job", job_id), "claim", "99")
        await worker._running._renew()
        await anyio.sleep_forever()

    registry.register(test, "test", "default")
    worker = worker_on(moved, registry)
    await worker.run_ready()
    assert all_counted("headgate_attempts_total") == {("default", "lost"): 1}
    assert all_counted("headgate_lease_renewals_failed_total") == {("job",): 1}
    await moved.client.delete(moved.keys("job", job_id))
    await moved.client.zrem(moved.keys("state", "default", "running"), job_id)


async def test_an_attempt_that_the_store_was_never_told_of_counts_as_unreported(
    moved: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tell(_self: Reporter, _report: Report) -> str:
        raise StoreUnavailable("no answer, and no time left")

    monkeypatch.setattr(Reporter, "tell", tell)
    await enqueue(moved)
    await worker_on(moved).run_ready()
    assert all_counted("headgate_attempts_total") == {("default", "unreported"): 1}


async def test_a_crash_is_counted_by_what_became_of_the_job(moved: World) -> None:
    """By the process whose reclaimer found it: the worker that is gone counts nothing more."""
    heart = moved.heart(duties=["reclaimer"])
    reclaimer = Reclaimer(moved.store, heart)
    await enqueue(moved)
    for _ in range(3):
        await heart.beat()
        await admit_one(moved)
        await moved.advance(LEASE)
        await reclaimer.reclaim()
    assert all_counted("headgate_jobs_crashed_total") == {("available",): 2, ("quarantined",): 1}


async def test_the_time_of_a_handler_is_observed_by_queue(moved: World) -> None:
    """However it ends; what has no actor runs nothing."""

    async def test() -> None:
        await anyio.sleep(0.06)

    async def fail() -> None:
        raise RuntimeError

    registry = Registry()
    registry.register(test, "test", "default")
    registry.register(fail, "fail", "default")
    for kind in ("test", "fail", "unknown"):
        await enqueue(moved, kind=kind)
    started = time.monotonic()
    await worker_on(moved, registry).run_ready()
    took = time.monotonic() - started
    assert all_counted("headgate_attempt_seconds_count") == {("default",): 2}
    assert 0.06 <= counted("headgate_attempt_seconds_sum", queue="default") <= 2 * took
    assert counted("headgate_attempt_seconds_bucket", queue="default", le="0.025") == 1


async def test_a_running_application_counts_its_attempts(world: World) -> None:
    app = headgate.Headgate(world.url, namespace=world.namespace, settings=world.settings)

    @app.actor("test", queue="mail")
    async def test() -> None: ...

    async with app.run():
        for _ in range(5):
            await app.enqueue("test")

        async def counted_all() -> bool:
            return counted("headgate_attempts_total", queue="mail", outcome="completed") == 5

        await wait_until(counted_all)


async def test_renewals_of_jobs_that_fail_are_counted_by_job() -> None:
    class Away(FakeAttempts):
        async def renew(self, claims: Sequence[Claim], lease_ms: int) -> Renewed:
            await super().renew(claims, lease_ms)
            raise StoreUnavailable("no answer")

    running = RunningJobs(cast("Attempts", Away()), QUICK, "w", ["default"])
    for job_id in "abc":
        running.begin(claim_of(job_id))
    with pytest.raises(StoreUnavailable):
        await running._renew()
    assert all_counted("headgate_lease_renewals_failed_total") == {("job",): 3}


# the gate


async def refusals(world: World, capacity: int, **limits: Any) -> dict[tuple[str, ...], float]:
    """What one admission of five jobs that wait counts."""
    await enqueue_many(world, 5)
    await world.store.queues.set_limits("default", QueueLimits(**limits))
    await worker_on(world, concurrency=capacity)._claim(["default"], capacity)
    return all_counted("headgate_gate_refusals_total")


async def test_a_queue_that_lets_fewer_run_at_once_refuses(moved: World) -> None:
    assert await refusals(moved, 10, max_concurrent=2) == {("max_concurrent",): 1}


async def test_a_queue_whose_bucket_is_empty_refuses(moved: World) -> None:
    assert await refusals(moved, 10, rate_limit=RateLimit(limit=2)) == {("rate_limit",): 1}


async def test_a_paused_queue_refuses_while_something_waits(moved: World) -> None:
    await moved.store.queues.pause("default")
    await worker_on(moved)._claim(["default"], 10)
    assert all_counted("headgate_gate_refusals_total") == {}, "nothing waits"
    assert await refusals(moved, 10) == {("paused",): 1}


@pytest.mark.parametrize(
    "limits", [{}, {"max_concurrent": 5}, {"max_concurrent": 3}, {"rate_limit": RateLimit(limit=3)}]
)
async def test_what_the_worker_has_no_room_for_is_no_refusal(moved: World, limits: dict[str, Any]) -> None:
    assert await refusals(moved, 3, **limits) == {}


async def test_a_gate_that_lets_all_through_refuses_nothing(moved: World) -> None:
    assert await refusals(moved, 10, max_concurrent=5, rate_limit=RateLimit(limit=5)) == {}


async def test_jobs_turned_away_at_the_gate_are_counted(moved: World) -> None:
    await enqueue_many(moved, 2, kind="barred", payload={})
    for _ in range(3):
        await enqueue(moved, deadline_ms=START_MS + 1_000)
    await enqueue(moved)
    await moved.store.quarantine.add(fingerprint("barred", "{}"))
    await moved.advance(2_000)
    await worker_on(moved)._claim(["default"], 10)
    assert all_counted("headgate_gate_refusals_total") == {("quarantined",): 2, ("deadline",): 3}
