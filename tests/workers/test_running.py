"""What a worker does about its leases: renewals that fail, admissions whose answer was lost, queues it cannot use."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, cast

import anyio
import pytest

import headgate
from headgate.errors import StoreUnavailable
from headgate.models import QueueLimits, RateLimit
from headgate.registry import Registry
from headgate.running import RunningJobs
from headgate.store import Store
from headgate.store.attempts import Admitted, Attempts, Claim, Renewed
from headgate.store.wakeups import Wakeups
from headgate.worker import Worker
from tests.support.worlds import World, wait_until
from tests.workers.conftest import QUICK, FakeAttempts, FakeStore, Silent, claim_of

LEASE_S = QUICK.lease_ttl_ms / 1000
BEAT_S = QUICK.heartbeat_ms / 1000


def worker_on(attempts: FakeAttempts, *queues: str, turns: bool = False) -> Worker:
    store, silent = cast("Store", FakeStore(attempts)), cast("Wakeups", Silent())
    return Worker(store, silent, Registry(), queues=queues, concurrency=5, turns=turns)


async def run_for(worker: Worker, seconds: float) -> None:
    with anyio.move_on_after(seconds):
        await worker.run()


# renewals


async def test_a_renewal_that_failed_is_tried_again_soon() -> None:
    """Not a third of a lease later: with the time that the failure took, the lease would be over."""

    class FailsOnce(FakeAttempts):
        async def renew(self, claims: Sequence[Claim], lease_ms: int) -> Renewed:
            await super().renew(claims, lease_ms)
            if len(self.renewals) == 1:
                raise StoreUnavailable("no answer")
            return Renewed(set(), set())

    attempts = FailsOnce()
    running = RunningJobs(cast("Attempts", attempts), QUICK, "w", ["default"])
    running.begin(claim_of("a"))
    with anyio.move_on_after(2 * BEAT_S + LEASE_S):
        await running.keep()
    first, second, third, *_ = attempts.renewals
    assert second - first < BEAT_S * 0.6
    assert third - second > BEAT_S * 0.9, "once it is well again, no more often than needed"


async def test_one_lost_renewal_costs_no_lease(app: headgate.Headgate, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes half a lease to fail."""
    real, failures = Attempts.renew, 0

    async def renew(self: Attempts, claims: Sequence[Claim], lease_ms: int) -> Renewed:
        nonlocal failures
        if failures == 0:
            failures += 1
            await anyio.sleep(LEASE_S * 0.48)
            raise StoreUnavailable("no answer")
        return await real(self, claims, lease_ms)

    monkeypatch.setattr(Attempts, "renew", renew)
    begun = 0

    @app.actor("test")
    async def test() -> None:
        nonlocal begun
        begun += 1
        await anyio.sleep(LEASE_S * 1.6)

    async with app.run():
        job_id = (await app.enqueue("test")).job_id

        async def done() -> bool:
            return (await app.jobs.get(job_id)).state == "completed"

        await wait_until(done)
        job = await app.jobs.get(job_id)
    assert (begun, failures, job.crash_attempt) == (1, 1, 0)


# admissions whose answer was lost


async def test_jobs_of_a_lost_admission_are_handed_back_uncounted(
    here: World, app: headgate.Headgate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Before their leases end, and what the worker does run stays its own; the queue's tokens come back with them."""
    real, lost = Attempts.admit, list[str]()

    async def admit(self: Attempts, worker: str, queues: Sequence[str], capacity: int, lease_ms: int) -> Admitted:
        admitted = await real(self, worker, queues, capacity, lease_ms)
        if not lost and [claim.kind for claim in admitted.claims] == ["quick"] * 3:
            lost.extend(claim.id for claim in admitted.claims)
            raise StoreUnavailable("the answer was lost")
        return admitted

    monkeypatch.setattr(Attempts, "admit", admit)
    begun: list[str] = []
    over = anyio.Event()

    @app.actor("slow")
    async def slow(job: headgate.Job) -> None:
        begun.append(job.id)
        await over.wait()

    @app.actor("quick")
    async def quick(job: headgate.Job) -> None:
        begun.append(job.id)

    # The lease is so long that jobs which waited for its end would not run within the test.
    monkeypatch.setattr(app, "settings", QUICK_BEATS_LONG_LEASE)
    async with app.run(scheduler=False):
        await app.queues.set_limits("default", QueueLimits(rate_limit=RateLimit(limit=1, window_ms=3_600_000, burst=4)))
        slow_id = (await app.enqueue("slow")).job_id

        async def slow_runs() -> bool:
            return begun == [slow_id]

        await wait_until(slow_runs)
        ids = [each.job_id for each in await app.enqueue_many([app.request("quick") for _ in range(3)])]

        async def all_ran() -> bool:
            return len(begun) == 4

        await wait_until(all_ran, seconds=QUICK_BEATS_LONG_LEASE.lease_ttl_ms / 1000 * 0.8)
        over.set()
    assert sorted(lost) == sorted(ids) == sorted(begun[1:])
    for job_id in (slow_id, *ids):
        job = await here.store.jobs.get(job_id)
        assert (job.state, job.attempt, job.crash_attempt) == ("completed", 0, 0)
    assert "worker.disowned" in caplog.text
    assert "jobs=3" in caplog.text


QUICK_BEATS_LONG_LEASE = headgate.Settings(lease_ttl_ms=6_000, lease_margin_ms=150, call_timeout_ms=500)


async def test_a_job_of_an_admission_under_way_is_not_disowned() -> None:
    """The store may have given it already, and whoever got it next would run it beside this worker."""

    class Slow(FakeAttempts):
        under_way = False

        async def admit(self, *args: Any) -> Admitted:
            if not self.asked:
                await super().admit(*args)
                raise StoreUnavailable("no answer")
            self.under_way = True
            await anyio.sleep(BEAT_S * 2.2)
            self.under_way = False
            return await super().admit(*args)

        async def disown(self, *args: Any) -> int:
            assert not self.under_way
            return await super().disown(*args)

    attempts = Slow()
    await run_for(worker_on(attempts, "default"), LEASE_S * 1.8)
    assert attempts.disowned, "and yet it is done"


async def test_who_had_every_answer_disowns_nothing() -> None:
    attempts = FakeAttempts()
    await run_for(worker_on(attempts, "default"), BEAT_S * 2.5)
    assert attempts.disowned == []


# queues


async def test_a_worker_says_once_which_queues_it_cannot_use(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "headgate")
    attempts = FakeAttempts()
    attempts.unusable = ["bad", "worse"]
    await run_for(worker_on(attempts, "good", "bad", "worse"), 0.3)
    assert len(attempts.asked) > 5
    assert [record.getMessage() for record in caplog.records] == ["queue.unusable queues=bad,worse"]


async def test_of_many_queues_each_has_its_turn_and_no_call_names_more_than_100() -> None:
    names = [f"q{number}" for number in range(250)]
    for turns in (False, True):
        attempts = FakeAttempts()
        await run_for(worker_on(attempts, *names, turns=turns), 2)
        assert max(len(asked) for asked in attempts.asked) == 100
        assert {name for asked in attempts.asked for name in asked} == set(names)


async def test_explicit_queues_are_asked_in_their_order_each_time() -> None:
    attempts = FakeAttempts()
    await run_for(worker_on(attempts, "b", "a"), 0.2)
    assert len(attempts.asked) > 5
    assert all(asked == ["b", "a"] for asked in attempts.asked)


@pytest.mark.parametrize("explicit", [False, True])
async def test_queues_take_turns_unless_their_order_is_given(app: headgate.Headgate, explicit: bool) -> None:
    order: list[str] = []

    @app.actor("a", queue="a")
    async def a() -> None:
        order.append("a")

    @app.actor("b", queue="b")
    async def b() -> None:
        order.append("b")

    async with app:
        await app.enqueue_many([app.request("a") for _ in range(20)])
        await app.enqueue_many([app.request("b") for _ in range(5)])

    async def all_ran() -> bool:
        return len(order) == 25

    async with app.run(concurrency=1, queues=["a", "b"] if explicit else None):
        await wait_until(all_ran)
    last_b = max(at for at, queue in enumerate(order) if queue == "b")
    assert (order.index("b") >= 20) is explicit
    assert (last_b < 20) is not explicit, "none waits for all jobs of another"
