"""What a claim is worth: while it is renewed, when it is too late, when the job is cancelled, when it never arrived."""

from __future__ import annotations

import pytest

from headgate.models import QueueLimits
from tests.jobs.acts import (
    LEASE,
    admit,
    admit_one,
    enqueue,
    enqueue_many,
    entries,
    finish,
    lose_workers,
    reclaim,
    state_of,
    states_of,
)
from tests.support.worlds import START_MS, World

VERDICTS = ("completed", "failed", "returned", "cancelled", "undecodable")


async def test_a_renewed_lease_is_not_judged_by_its_first_end(moved: World) -> None:
    job_id = await enqueue(moved)
    claim = await admit_one(moved)
    for _ in range(10):
        await reclaim(moved)
        await moved.advance(LEASE - 1)
        assert await moved.store.attempts.renew([claim], LEASE) == (set(), set())
    assert await state_of(moved, job_id) == "running"
    assert await finish(moved, claim) == "completed"


async def test_a_worker_that_comes_back_too_late_is_not_heard_once_another_began(moved: World) -> None:
    await enqueue(moved)
    late = await admit_one(moved)
    await lose_workers(moved)
    again = await admit_one(moved)
    assert int(again.number) > int(late.number)
    for verdict in VERDICTS:
        assert await finish(moved, late, verdict) == "lost"
    assert await moved.store.attempts.renew([late], LEASE) == ({late.id}, set())
    assert await finish(moved, again) == "completed"


@pytest.mark.parametrize("crashes", [1, 3])
async def test_work_that_was_done_counts_however_late_it_is_told_unless_another_began_it(
    moved: World, crashes: int
) -> None:
    job_id = await enqueue(moved, unique_key="u", deadline_ms=START_MS + 3_600_000)
    late = await admit_one(moved)
    await lose_workers(moved)
    for _ in range(crashes - 1):
        late = await admit_one(moved)
        await lose_workers(moved)
    waits = "available" if crashes == 1 else "quarantined"
    assert await moved.store.attempts.renew([late], LEASE) == ({job_id}, set()), "it has no lease any more"
    for verdict in VERDICTS[1:]:
        assert await finish(moved, late, verdict) == "lost"
        assert await state_of(moved, job_id) == waits
    for _ in range(2):
        assert await finish(moved, late) == "completed"
        assert await state_of(moved, job_id) == "completed"


async def test_a_report_that_is_said_again_does_not_end_what_an_operator_retried(moved: World) -> None:
    job_id = await enqueue(moved)
    claim = await admit_one(moved)
    await finish(moved, claim)
    await moved.store.jobs.retry(job_id)
    assert await finish(moved, claim) == "lost"
    assert await state_of(moved, job_id) == "available"


async def test_a_running_job_that_is_cancelled_keeps_place_lease_and_unique_key_until_it_has_stopped(
    moved: World,
) -> None:
    await moved.store.queues.set_limits("default", QueueLimits(max_concurrent=1))
    job_id = await enqueue(moved, unique_key="u")
    claim = await admit_one(moved)
    await enqueue(moved)
    for _ in range(2):
        assert (await moved.store.jobs.cancel(job_id)).state == "running"
        assert await moved.store.attempts.renew([claim], LEASE) == (set(), {job_id})
        assert await admit(moved) == []
        assert await enqueue(moved, unique_key="u") == job_id
        await moved.advance(LEASE - 1)
        await reclaim(moved)
    assert await finish(moved, claim, "returned") == "cancelled"
    assert len(await admit(moved)) == 1
    assert await enqueue(moved, unique_key="u") != job_id


async def test_a_cancelled_job_whose_worker_is_lost_bars_nothing(moved: World) -> None:
    job_id = await enqueue(moved)
    for _ in range(2):
        await admit_one(moved)
        await lose_workers(moved)
    await admit_one(moved)
    await moved.store.jobs.cancel(job_id)
    await lose_workers(moved)
    assert (await state_of(moved, job_id), await entries(moved)) == ("cancelled", [])
    await moved.store.jobs.retry(job_id)
    claim = await admit_one(moved)
    assert await moved.store.attempts.renew([claim], LEASE) == (set(), set()), "it was asked for anew"
    assert await finish(moved, claim) == "completed"


# in an answer that was lost


async def test_what_a_worker_never_got_goes_back_uncounted_and_nothing_else_does(moved: World) -> None:
    has, *others = await enqueue_many(moved, 4)
    kept = await admit_one(moved)
    await admit(moved, 2)
    await admit(moved, 1, worker="v")
    assert kept.id == has
    assert await moved.store.attempts.disown("w", ["other", "default"], [has]) == 2
    assert await states_of(moved, [has, *others]) == ["running", "available", "available", "running"]
    job = await moved.store.jobs.get(others[0])
    assert (job.attempt, job.crash_attempt) == (0, 0)
    assert await moved.store.attempts.disown("w", ["other", "default"], [has]) == 0


async def test_what_was_cancelled_does_not_begin_again_when_it_is_disowned(moved: World) -> None:
    job_id = await enqueue(moved, unique_key="u")
    await admit_one(moved)
    await moved.store.jobs.cancel(job_id)
    assert await moved.store.attempts.disown("w", ["default"], []) == 1
    assert await state_of(moved, job_id) == "cancelled"
    assert await admit(moved) == []
    assert await enqueue(moved, unique_key="u") != job_id
