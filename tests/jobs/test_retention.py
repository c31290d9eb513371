"""Retention: finished jobs go away by themselves, with all that is theirs, and only so many at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from headgate.errors import JobNotFound
from headgate.models import FINAL_STATES
from headgate.settings import Settings
from tests.jobs.acts import (
    admit,
    admit_one,
    counts,
    enqueue,
    enqueue_many,
    finish,
    happened,
    names_of_keys,
    reclaim,
    state_of,
    states_of,
    sweep,
)
from tests.support.worlds import START_MS, World

DAY = 86_400_000
MOST = 5


@pytest.fixture
async def small(moved: World) -> AsyncIterator[World]:
    """The same namespace, of whose queues at most five finished jobs are kept."""
    it = World(moved.url, moved.namespace, settings=Settings(max_finished=MOST), moved=True)
    yield it
    await it.close()


async def end(world: World, verdict: str, **options: Any) -> str:
    job_id = await enqueue(world, **options)
    claim = await admit_one(world, options.get("queue", "default"))
    assert claim.id == job_id
    await finish(world, claim, "failed" if verdict == "archived" else verdict, "" if verdict == "completed" else "Oops")
    return job_id


def ending_in(state: str) -> dict[str, int]:
    return {"max_attempts": 1} if state == "archived" else {}


async def empty(world: World) -> set[str]:
    """The keys of a namespace where a reclaimer has been and no job is."""
    await reclaim(world)
    return {key for key in await names_of_keys(world) if not key.endswith(("meta", "test-clock", "duty:reclaimer"))}


# by time


@pytest.mark.parametrize(
    ("state", "options", "kept_ms"),
    [
        ("completed", {}, DAY),
        ("completed", {"retention_ms": 3_600_000}, 3_600_000),
        ("completed", {"retention_ms": 30 * DAY}, 30 * DAY),
        ("completed", {"retention_ms": 0}, 60_000),  # the repeat of a lost call must find it
        *((str(state), {}, 7 * DAY) for state in FINAL_STATES[1:]),
        *((str(state), {"retention_ms": 0}, 7 * DAY) for state in FINAL_STATES[1:]),
        ("archived", {"retention_ms": 30 * DAY}, 30 * DAY),
    ],
)
async def test_a_job_is_kept_as_long_as_its_state_says(
    moved: World, state: str, options: dict[str, Any], kept_ms: int
) -> None:
    job_id = await end(moved, state, unique_key="u", **ending_in(state), **options)
    await moved.advance(kept_ms - 1)
    [answer] = await reclaim(moved)
    assert answer.removed == 0
    assert answer.due_next_ms == START_MS + kept_ms
    assert await state_of(moved, job_id) == state
    await moved.advance(1)
    [answer] = await reclaim(moved)
    assert answer.removed == 1
    with pytest.raises(JobNotFound):
        await moved.store.jobs.get(job_id)


@pytest.mark.parametrize("state", FINAL_STATES)
async def test_record_entry_count_and_unique_key_go_together(moved: World, state: str) -> None:
    await end(moved, state, unique_key="u", deadline_ms=START_MS + 30 * DAY, **ending_in(state))
    assert await counts(moved) == {state: 1}
    await moved.advance(7 * DAY)
    await reclaim(moved)
    assert await empty(moved) == set(), "nor is the queue listed any more"


async def test_an_unfinished_job_is_kept_for_ever(moved: World) -> None:
    jobs = [await enqueue(moved), await enqueue(moved, delay_ms=300 * DAY)]
    await moved.store.queues.pause("default")
    await moved.advance(200 * DAY)
    await reclaim(moved)
    assert await states_of(moved, jobs) == ["available", "scheduled"]


async def test_a_retried_job_is_not_removed_when_its_retention_would_have_ended(moved: World) -> None:
    job_id = await end(moved, "completed")
    await moved.advance(DAY - 1)
    await moved.store.jobs.retry(job_id)
    await moved.advance(10 * DAY)
    await reclaim(moved)
    assert await state_of(moved, job_id) == "available"


async def test_a_unique_key_for_a_window_outlives_its_job(moved: World) -> None:
    first = await end(moved, "completed", unique_key="u", unique_ms=3 * DAY)
    await moved.advance(DAY)
    await reclaim(moved)
    assert await state_of(moved, first) == ""
    assert await enqueue(moved, unique_key="u") == first, "told which it was"
    await moved.advance(2 * DAY)
    assert await enqueue(moved, unique_key="u") != first


# by number


async def test_a_queue_keeps_so_many_finished_jobs_the_oldest_go_first(small: World) -> None:
    jobs = []
    for _ in range(MOST + 3):
        jobs.append(await end(small, "completed"))
        await small.advance(1)
    other = await end(small, "completed", queue="other")
    assert sum(answer.removed for answer in await reclaim(small)) == 3
    assert await states_of(small, jobs) == [""] * 3 + ["completed"] * MOST
    assert await state_of(small, other) == "completed", "each queue counts for itself"


async def test_those_whose_time_comes_first_go_first_however_old_they_are(small: World) -> None:
    """Not by when they ended, but by when each is to be removed."""
    kept = [await end(small, "completed", retention_ms=30 * DAY) for _ in range(MOST)]
    await small.advance(1)
    short = [await end(small, "completed", retention_ms=DAY) for _ in range(2)]
    assert sum(answer.removed for answer in await reclaim(small)) == 2
    assert await states_of(small, [*kept, *short]) == ["completed"] * MOST + ["", ""]


async def test_completed_jobs_go_before_dead_letters(small: World) -> None:
    dead = [await end(small, "archived", max_attempts=1) for _ in range(MOST - 1)]
    done = []
    for _ in range(3):
        await small.advance(1)
        done.append(await end(small, "completed"))
    await reclaim(small)
    assert await states_of(small, dead) == ["archived"] * (MOST - 1)
    assert await states_of(small, done) == ["", "", "completed"]


async def test_dead_letters_alone_are_bounded_too(small: World) -> None:
    for _ in range(MOST + 2):
        await end(small, "archived", max_attempts=1)
        await end(small, "cancelled")
    await reclaim(small)
    assert await counts(small) == {"archived": MOST}


# bounded


async def test_a_call_removes_at_most_200_jobs_and_a_pass_all_that_are_due(moved: World) -> None:
    await enqueue_many(moved, 450)
    await enqueue_many(moved, 60, queue="other")
    while claims := await admit(moved, 200, "default", "other"):
        for claim in claims:
            await finish(moved, claim)
    await moved.advance(DAY)
    answers = await reclaim(moved)
    assert [answer.removed for answer in answers] == [200, 200, 110]
    assert await empty(moved) == set()


async def test_trimming_is_bounded_too(small: World) -> None:
    await enqueue_many(small, 450)
    while claims := await admit(small, 200):
        for claim in claims:
            await finish(small, claim)
    answers = await reclaim(small)
    assert all(answer.removed <= 200 for answer in answers)
    assert sum(answer.removed for answer in answers) == 450 - MOST
    assert await counts(small) == {"completed": MOST}


# ticks


async def test_a_job_that_is_removed_before_its_schedule_could_advance_is_not_enqueued_again(moved: World) -> None:
    """The job is queued, its event cannot be written, so the schedule stays; the job runs, ends and is removed."""
    await moved.put("a", "@every:600000", retention_ms=0)
    await moved.client.set(moved.keys("events", "a"), "foreign")
    scheduler = moved.scheduler()
    await moved.advance(600_000)
    await sweep(moved, scheduler)
    claim = await admit_one(moved)
    await finish(moved, claim)
    await moved.advance(60_000)
    await reclaim(moved)
    assert await state_of(moved, claim.id) == ""
    await moved.client.delete(moved.keys("events", "a"))
    await sweep(moved, scheduler)
    assert await happened(moved, "a") == ["enqueued/replayed"]
    assert await moved.queued() == []
    assert int((await moved.record("a"))["next_run_ms"]) == START_MS + 1_200_000


async def test_nor_is_it_where_the_schedule_was_restored_to_before_the_tick(moved: World) -> None:
    """Not even the ledger knows of the tick; its marker does."""
    await moved.put("a", "@every:600000", retention_ms=0)
    before = await moved.record("a")
    scheduler = moved.scheduler()
    await moved.advance(600_000)
    await sweep(moved, scheduler)
    await finish(moved, await admit_one(moved))
    await moved.advance(60_000)
    await reclaim(moved)
    await moved.client.hset(moved.keys("schedule", "a"), mapping=before)
    await moved.client.zadd(moved.keys("due"), {"a": before["next_run_ms"]})
    await sweep(moved, scheduler)
    assert (await happened(moved, "a"))[0] == "enqueued/replayed"
    assert await moved.queued() == []
