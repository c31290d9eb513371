"""Why is this job not running? Every answer, the numbers behind it, and what the estimate is worth."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headgate.errors import InvalidRequest, JobNotFound
from headgate.models import Admission, QueueLimits, RateLimit
from tests.jobs.acts import admit, admit_one, beat, enqueue, enqueue_many, finish
from tests.support.worlds import START_MS, World

MINUTE = 60_000


async def work_on(world: World, name: str, queues: list[str], kinds: list[str], *, alive_ms: int = 10_000_000) -> None:
    """A worker is heard, and counts as alive for so long."""
    about = {"queues": json.dumps(queues), "kinds": json.dumps(kinds), "concurrency": "1", "running": "0"}
    await world.store.leases.heartbeat(name, [], about, ttl_ms=alive_ms // 2)


async def worked_on(world: World, **limits: Any) -> None:
    await work_on(world, "w", ["default"], ["test"])
    await world.store.queues.set_limits("default", QueueLimits(**limits))


async def why(world: World, job_id: str) -> tuple[str | None, int | None]:
    """What blocks it, and the estimate."""
    answer = await world.store.jobs.admission(job_id)
    assert answer.admissible == (answer.blocked_by is None and answer.state in ("scheduled", "available", "retryable"))
    return answer.blocked_by, answer.estimate_ms


# each answer


async def test_nothing_stands_in_the_way_and_the_numbers_say_so(moved: World) -> None:
    await worked_on(moved, max_concurrent=3, rate_limit=RateLimit(limit=10, burst=5))
    job_id = await enqueue(moved, deadline_ms=START_MS + MINUTE)
    assert await moved.store.jobs.admission(job_id) == Admission(
        job_id=job_id,
        state="available",  # type: ignore[arg-type]
        store_time_ms=START_MS,
        admissible=True,
        blocked_by=None,
        available_at_ms=START_MS,
        deadline_ms=START_MS + MINUTE,
        queue_paused_since_ms=None,
        running=0,
        max_concurrent=3,
        tokens=5.0,
        rate_limit=RateLimit(limit=10, burst=5),
        quarantined=False,
        ahead=0,
        workers=1,
        workers_of_queue=1,
        estimate_ms=START_MS,
    )
    assert [claim.id for claim in await admit(moved)] == [job_id], "and it is true"


async def test_a_job_behind_others_is_admissible_and_nobody_can_say_when(moved: World) -> None:
    await worked_on(moved)
    await enqueue_many(moved, 3)
    await moved.advance(1)
    job_id = await enqueue(moved)
    assert await why(moved, job_id) == (None, None)
    assert (await moved.store.jobs.admission(job_id)).ahead == 3


async def test_its_queue_is_paused(moved: World) -> None:
    await worked_on(moved)
    job_id = await enqueue(moved)
    await moved.store.queues.pause("default")
    assert await why(moved, job_id) == ("queue_paused", None)
    assert (await moved.store.jobs.admission(job_id)).queue_paused_since_ms == START_MS
    await moved.store.queues.resume("default")
    assert await why(moved, job_id) == (None, START_MS)


async def test_as_many_run_as_may(moved: World) -> None:
    await worked_on(moved, max_concurrent=2)
    await enqueue_many(moved, 2)
    claims = await admit(moved)
    await moved.advance(1)
    job_id = await enqueue(moved)
    assert await why(moved, job_id) == ("concurrency", None)
    answer = await moved.store.jobs.admission(job_id)
    assert (answer.running, answer.max_concurrent) == (2, 2)
    await finish(moved, claims[0])
    assert await why(moved, job_id) == (None, START_MS + 1)


async def test_those_ahead_will_take_the_places_that_are_free(moved: World) -> None:
    await worked_on(moved, max_concurrent=3)
    await enqueue_many(moved, 3)
    await moved.advance(1)
    job_id = await enqueue(moved)
    assert await why(moved, job_id) == ("concurrency", None)


@pytest.mark.parametrize("ahead", [0, 1, 7])
@pytest.mark.parametrize(("limit", "window_ms"), [(10, 1000), (3, 1000), (1, 60_000), (50, 1000)])
async def test_the_bucket_is_empty_and_the_estimate_proves_right(
    moved: World, ahead: int, limit: int, window_ms: int
) -> None:
    await worked_on(moved, rate_limit=RateLimit(limit=limit, window_ms=window_ms, burst=2))
    await enqueue_many(moved, 2)
    assert len(await admit(moved)) == 2
    await moved.advance(1)
    await enqueue_many(moved, ahead)
    await moved.advance(1)
    job_id = await enqueue(moved)
    blocker, estimate = await why(moved, job_id)
    assert blocker == "rate_limit"
    assert estimate is not None
    gone: list[str] = []
    while (now := int(await moved.client.get(moved.keys.root + "test-clock"))) < estimate - 1:
        step = min(estimate - 1 - now, max(1, window_ms // limit // 2))  # a worker that looks often
        await moved.advance(step)
        gone += [claim.id for claim in await admit(moved)]
    assert job_id not in gone
    await moved.set_clock(estimate)
    assert job_id in [claim.id for claim in await admit(moved)]


async def test_its_content_is_barred_whether_set_aside_or_not_yet(moved: World) -> None:
    await worked_on(moved)
    job_id = await enqueue(moved)
    await moved.store.quarantine.add((await moved.store.jobs.get(job_id)).fingerprint)
    for state in ("available", "quarantined"):
        answer = await moved.store.jobs.admission(job_id)
        assert (answer.state, answer.blocked_by, answer.quarantined) == (state, "quarantine", True)
        assert answer.estimate_ms is None
        await admit(moved)


async def test_its_instant_has_not_come(moved: World) -> None:
    await worked_on(moved)
    job_id = await enqueue(moved, delay_ms=MINUTE)
    assert await why(moved, job_id) == ("not_due", START_MS + MINUTE)
    assert (await moved.store.jobs.admission(job_id)).ahead is None
    await moved.advance(MINUTE)
    assert await why(moved, job_id) == (None, START_MS + MINUTE), "due, though nobody has moved it yet"
    assert (await admit_one(moved)).id == job_id


async def test_its_next_attempt_is_not_due(moved: World) -> None:
    await worked_on(moved)
    job_id = await enqueue(moved)
    await finish(moved, await admit_one(moved), "failed", "Oops", 5000)
    assert await why(moved, job_id) == ("not_due", START_MS + 5000)


@pytest.mark.parametrize(
    ("queues", "kinds", "of_queue", "of_kind"),
    [
        ([], [], 0, 0),
        (["other"], ["test"], 0, 0),
        (["default"], ["other"], 1, 0),
        (["default"], ["tester", "a-test"], 1, 0),
        (["my-default", "default2"], ["test"], 0, 0),
        (["other", "default"], ["other", "test"], 1, 1),
    ],
)
async def test_no_live_process_works_on_the_queue_and_knows_the_kind(
    moved: World, queues: list[str], kinds: list[str], of_queue: int, of_kind: int
) -> None:
    if queues:
        await work_on(moved, "w", queues, kinds)
    job_id = await enqueue(moved)
    answer = await moved.store.jobs.admission(job_id)
    assert (answer.workers_of_queue, answer.workers) == (of_queue, of_kind)
    assert answer.blocked_by == (None if of_kind else "no_worker")


async def test_queue_and_kind_known_to_different_processes_are_not_enough(moved: World) -> None:
    await work_on(moved, "v", ["default"], ["other"])
    await work_on(moved, "w", ["other"], ["test"])
    assert await why(moved, await enqueue(moved)) == ("no_worker", None)


async def test_a_process_that_was_not_seen_for_too_long_is_none(moved: World) -> None:
    await work_on(moved, "w", ["default"], ["test"], alive_ms=10_000)
    job_id = await enqueue(moved)
    await moved.advance(9_999)
    assert (await why(moved, job_id))[0] is None
    await moved.advance(2)
    assert await why(moved, job_id) == ("no_worker", None)


async def test_a_process_that_works_on_nothing_is_none(moved: World) -> None:
    await beat(moved, "scheduler")
    answer = await moved.store.jobs.admission(await enqueue(moved))
    assert (answer.workers_of_queue, answer.workers, answer.blocked_by) == (0, 0, "no_worker")


async def test_a_job_of_an_unknown_kind_waits_visibly_and_is_not_lost(moved: World) -> None:
    await work_on(moved, "w", ["default"], ["other"])
    job_id = await enqueue(moved)
    for wait in (1000, 2000, 4000):
        assert await finish(moved, await admit_one(moved), "returned", "NoActor", wait) == "retryable"
        assert await why(moved, job_id) == ("no_worker", None), "it is the worker that is missing, not the time"
        await moved.advance(wait)
    assert (await moved.store.jobs.get(job_id)).attempt == 0


# which comes first


async def test_what_waiting_helps_least_comes_first(moved: World) -> None:
    job_id = await enqueue(moved)
    await moved.store.queues.pause("default")
    await moved.store.queues.set_limits(
        "default", QueueLimits(max_concurrent=0, rate_limit=RateLimit(limit=1, burst=1))
    )
    content = (await moved.store.jobs.get(job_id)).fingerprint
    await moved.store.quarantine.add(content)
    assert (await why(moved, job_id))[0] == "quarantine"
    await moved.store.quarantine.release(content)
    assert (await why(moved, job_id))[0] == "queue_paused"
    await moved.store.queues.resume("default")
    assert (await why(moved, job_id))[0] == "no_worker"
    await work_on(moved, "w", ["default"], ["test"])
    assert (await why(moved, job_id))[0] == "concurrency"
    await moved.store.queues.set_limits("default", QueueLimits(rate_limit=RateLimit(limit=1, burst=1)))
    other = await enqueue(moved, priority=1)
    assert (await admit_one(moved)).id == other
    assert (await why(moved, job_id))[0] == "rate_limit"
    await moved.advance(1000)
    assert (await why(moved, job_id))[0] is None


# jobs that do not wait


async def test_a_job_past_its_deadline_is_not_admissible_any_more(moved: World) -> None:
    await worked_on(moved)
    job_id = await enqueue(moved, deadline_ms=START_MS + 1000)
    await moved.advance(999)
    assert (await moved.store.jobs.admission(job_id)).admissible
    await moved.advance(1)
    answer = await moved.store.jobs.admission(job_id)
    assert (answer.admissible, answer.blocked_by, answer.estimate_ms) == (False, None, None)
    assert await admit(moved) == []


@pytest.mark.parametrize("state", ["running", "completed", "cancelled"])
async def test_a_job_that_does_not_wait_is_blocked_by_nothing_and_not_admissible(moved: World, state: str) -> None:
    await worked_on(moved)
    job_id = await enqueue(moved)
    claim = await admit_one(moved)
    if state != "running":
        await finish(moved, claim, state)
    await moved.store.queues.pause("default")
    answer = await moved.store.jobs.admission(job_id)
    assert (answer.state, answer.admissible, answer.blocked_by, answer.estimate_ms) == (state, False, None, None)


async def test_asking_changes_nothing_and_a_job_that_is_not_there_is_an_error(moved: World) -> None:
    await worked_on(moved, rate_limit=RateLimit(limit=1))
    job_id = await enqueue(moved)
    before = await moved.client.hgetall(moved.keys("queue", "default"))
    await moved.store.jobs.admission(job_id)
    assert await moved.client.hgetall(moved.keys("queue", "default")) == before
    with pytest.raises(JobNotFound):
        await moved.store.jobs.admission("nothing")
    with pytest.raises(InvalidRequest):
        await moved.store.jobs.admission("not an id")
