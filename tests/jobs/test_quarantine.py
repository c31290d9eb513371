"""Quarantine: what bars a content, and what happens to its jobs and ticks."""

from __future__ import annotations

import pytest

from headgate.errors import Quarantined
from headgate.models import JobRequest, Quarantine
from headgate.names import fingerprint
from headgate.settings import Settings
from tests.jobs.acts import (
    LEASE,
    admit,
    admit_one,
    counts,
    enqueue,
    enqueue_many,
    entries,
    finish,
    happened,
    lose_workers,
    names_of_keys,
    reclaim,
    request,
    state_of,
    states_of,
    sweep,
)
from tests.support.worlds import START_MS, World

BAD = fingerprint("test", '"bad"')


# barred by crashes


async def test_the_third_lost_worker_quarantines_the_content_of_the_job(moved: World) -> None:
    killer = await enqueue(moved, payload="bad")
    for crashes in (1, 2):
        await admit_one(moved)
        await lose_workers(moved)
        assert await state_of(moved, killer) == "available"
        assert (await moved.store.jobs.get(killer)).crash_attempt == crashes
        assert await entries(moved) == []
    await admit_one(moved)
    await lose_workers(moved)
    job = await moved.store.jobs.get(killer)
    assert (job.state, job.attempt, job.crash_attempt, job.last_error) == ("quarantined", 0, 3, "WorkerLost")
    now = START_MS + 3 * LEASE
    assert await entries(moved) == [
        Quarantine(fingerprint=BAD, since_ms=now, why="crash_limit", note=None, job_id=killer, set_aside=1)
    ]


@pytest.mark.parametrize("renewals", [0, 1])
async def test_a_job_that_reaches_the_limit_past_its_deadline_is_archived_and_its_content_barred(
    moved: World, renewals: int
) -> None:
    """What kills workers is to be known, though this job is not worth running any more."""
    job_id = await enqueue(moved, payload="bad", deadline_ms=START_MS + 3 * LEASE)
    for _ in range(2):
        await admit_one(moved)
        await lose_workers(moved)
    claim = await admit_one(moved)
    for _ in range(renewals):  # then a pass finds that the deadline has come, and the job still runs
        await moved.advance(LEASE)
        await moved.store.attempts.renew([claim], LEASE)
        await reclaim(moved)
    await lose_workers(moved)
    assert await state_of(moved, job_id) == "archived"
    assert [(entry.why, entry.job_id) for entry in await entries(moved)] == [("crash_limit", job_id)]


async def test_crashes_of_several_jobs_are_not_added_up(moved: World) -> None:
    jobs = await enqueue_many(moved, 5, payload="bad")
    for _ in range(2):
        assert len(await admit(moved)) == 5
        await lose_workers(moved)
    assert await states_of(moved, jobs) == ["available"] * 5
    assert await entries(moved) == []


async def test_no_number_of_errors_quarantines(moved: World) -> None:
    job_id = await enqueue(moved, payload="bad", max_attempts=100)
    for _ in range(10):
        await finish(moved, await admit_one(moved), "failed", "Oops")
    assert await state_of(moved, job_id) == "retryable"
    assert await entries(moved) == []


async def test_the_limit_is_a_setting(moved: World) -> None:
    tuned = World(moved.url, moved.namespace, settings=Settings(crash_limit=1), moved=True)
    job_id = await enqueue(tuned)
    await admit_one(tuned)
    await lose_workers(tuned)
    assert await state_of(tuned, job_id) == "quarantined"
    await tuned.close()


# barred by hand


async def test_an_operator_bars_a_content_with_a_note_and_may_rewrite_it(moved: World) -> None:
    assert await moved.store.quarantine.add(BAD, note='eats "memory"\n') is True
    assert await moved.store.quarantine.add(BAD, note="see #12") is False
    [entry] = await entries(moved)
    assert (entry.why, entry.note, entry.job_id, entry.set_aside) == ("operator", "see #12", None, 0)


async def test_a_crash_at_the_limit_keeps_the_note_of_an_operator_who_was_first(moved: World) -> None:
    job_id = await enqueue(moved, payload="bad")
    for _ in range(2):
        await admit_one(moved)
        await lose_workers(moved)
    await admit_one(moved)
    await moved.store.quarantine.add(BAD, note="see #12")
    await lose_workers(moved)
    assert await state_of(moved, job_id) == "quarantined"
    [entry] = await entries(moved)
    assert (entry.why, entry.note, entry.set_aside) == ("operator", "see #12", 1)


# what it does


async def test_barred_content_is_refused_and_nothing_stored(moved: World) -> None:
    await moved.put("a", payload="bad")
    await moved.store.quarantine.add(BAD)
    before = await names_of_keys(moved)
    with pytest.raises(Quarantined):
        await enqueue(moved, payload="bad", queue="new")
    batch: list[JobRequest] = [request(payload="good", queue="new"), request(payload="bad", queue="new")]
    with pytest.raises(Quarantined) as refused:
        await moved.store.producer.enqueue_many(batch, idempotency_key="k")
    assert refused.value.field == "jobs[1]"
    with pytest.raises(Quarantined):
        await moved.store.producer.run_now("a", idempotency_key="k")
    assert await names_of_keys(moved) == before


async def test_the_same_payload_of_another_kind_is_not_barred(moved: World) -> None:
    await moved.store.quarantine.add(BAD)
    assert await state_of(moved, await enqueue(moved, kind="other", payload="bad")) == "available"


async def test_a_tick_is_skipped_and_its_schedule_goes_on_until_released(moved: World) -> None:
    await moved.put("a", payload="bad")
    await moved.store.quarantine.add(BAD)
    scheduler = moved.scheduler()
    for _ in range(3):
        tick = await moved.advance(60_000)
        await sweep(moved, scheduler)
        assert int((await moved.record("a"))["next_run_ms"]) == tick + 60_000
    assert await happened(moved, "a") == ["skipped/quarantined"] * 3
    assert await moved.gaps("a") == [
        {
            "from_ms": START_MS + 60_000,
            "until_ms": START_MS + 180_000,
            "reason": "quarantined",
            "spec": "@every:60000",
        }
    ]
    assert await moved.queued() == []
    await moved.store.quarantine.release(BAD)
    await moved.advance(60_000)
    await sweep(moved, scheduler)
    assert (await happened(moved, "a"))[0] == "enqueued/accepted"


async def test_siblings_are_set_aside_when_the_gate_meets_them_and_take_no_place_of_others(moved: World) -> None:
    siblings = await enqueue_many(moved, 120, payload="bad")
    await moved.advance(1)
    good = await enqueue(moved, payload="good")
    await moved.store.quarantine.add(BAD)
    assert await counts(moved) == {"available": 121}, "nobody asked yet"
    answers = [await moved.store.attempts.admit("w", ["default"], 1, LEASE)]
    while not answers[-1].claims:
        assert answers[-1].look_again_ms == 0
        answers.append(await moved.store.attempts.admit("w", ["default"], 1, LEASE))
    assert answers[-1].claims[0].id == good
    assert len(answers) == 3, "51 at a time"
    assert await counts(moved) == {"quarantined": 120, "running": 1}
    assert set(await states_of(moved, siblings[:3])) == {"quarantined"}


async def test_siblings_that_run_go_on(moved: World) -> None:
    await enqueue_many(moved, 2, payload="bad")
    done, failed = await admit(moved)
    await moved.store.quarantine.add(BAD)
    assert await finish(moved, done) == "completed"
    assert await finish(moved, failed, "failed", "Oops") == "retryable"
    assert await admit(moved) == []
    assert await state_of(moved, failed.id) == "quarantined", "its next attempt meets the gate"


async def test_a_job_for_later_is_set_aside_when_its_time_comes(moved: World) -> None:
    job_id = await enqueue(moved, payload="bad", delay_ms=1000)
    await moved.store.quarantine.add(BAD)
    await admit(moved)
    assert await state_of(moved, job_id) == "scheduled"
    await moved.advance(1000)
    await admit(moved)
    assert await state_of(moved, job_id) == "quarantined"
