"""The gate: what a queue lets through, whoever asks, and what becomes of what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.models import QueueLimits, RateLimit
from headgate.names import fingerprint
from headgate.settings import MAX_CALL_BYTES
from tests.jobs.acts import LEASE, admit, admit_one, enqueue, enqueue_many, finish, state_of
from tests.support.worlds import World

MINUTE = 60_000


async def limit(world: World, **limits: Any) -> None:
    await world.store.queues.set_limits("default", QueueLimits(**limits))


async def look_again(world: World, capacity: int, queue: str = "default") -> tuple[int, int | None]:
    """How many were admitted, and when to look again."""
    answer = await world.store.attempts.admit("w", [queue], capacity, LEASE)
    return len(answer.claims), answer.look_again_ms


# order


@pytest.mark.parametrize("steps", [1, 7, 200])
async def test_a_step_of_priority_is_a_head_start_of_one_minute(moved: World, steps: int) -> None:
    low, high = -100, steps - 100
    old = await enqueue(moved, priority=low)
    await moved.advance(steps * MINUTE - 1)
    within = await enqueue(moved, priority=high)
    await moved.advance(2)
    after = await enqueue(moved, priority=high)
    assert [claim.id for claim in await admit(moved)] == [within, old, after]


async def test_nothing_starves_behind_a_stream_of_urgent_jobs(moved: World) -> None:
    patient = await enqueue(moved, priority=-1)
    served = []
    while patient not in served:
        await enqueue_many(moved, 2, priority=1)
        claim = await admit_one(moved)
        served.append(claim.id)
        await finish(moved, claim)
        await moved.advance(MINUTE + 1)
        assert len(served) < 10, "it starves"
    assert len(served) == 5, "after the four that came within their head start of two minutes"


async def test_a_job_for_later_competes_from_its_instant_on(moved: World) -> None:
    later = await enqueue(moved, delay_ms=1000)
    await moved.advance(500)
    first = await enqueue(moved)
    await moved.advance(1000)
    last = await enqueue(moved)
    assert [claim.id for claim in await admit(moved)] == [first, later, last]


# paused


async def test_a_paused_queue_begins_nothing_and_lets_jobs_in_and_finish(moved: World) -> None:
    running = await enqueue(moved)
    claim = await admit_one(moved)
    await moved.store.queues.pause("default")
    waiting = await enqueue(moved)
    assert await look_again(moved, 5) == (0, None)
    assert await finish(moved, claim) == "completed"
    assert await state_of(moved, running) == "completed"
    await moved.store.queues.resume("default")
    assert (await admit_one(moved)).id == waiting


async def test_pausing_one_queue_leaves_the_others_alone(moved: World) -> None:
    await enqueue(moved, queue="a")
    other = await enqueue(moved, queue="b")
    await moved.store.queues.pause("a")
    assert [claim.id for claim in await admit(moved, 5, "a", "b")] == [other]


# max_concurrent


async def test_no_more_run_than_max_concurrent_over_all_workers(moved: World) -> None:
    await limit(moved, max_concurrent=3)
    await enqueue_many(moved, 10)
    claims = [claim for worker in "abcde" for claim in await admit(moved, 2, worker=worker)]
    assert len(claims) == 3
    await finish(moved, claims[0])
    assert len(await admit(moved, 5, worker="f")) == 1
    assert await look_again(moved, 5) == (0, None), "whoever finishes one says so"


async def test_a_lowered_limit_waits_for_what_runs(moved: World) -> None:
    await enqueue_many(moved, 6)
    claims = await admit(moved, 4)
    await limit(moved, max_concurrent=2)
    for claim in claims[:2]:
        await finish(moved, claim)
        assert await admit(moved) == []
    await finish(moved, claims[2])
    assert len(await admit(moved)) == 1


async def test_a_limit_of_none_at_all_lets_none_begin(moved: World) -> None:
    await limit(moved, max_concurrent=0)
    await enqueue(moved)
    assert await look_again(moved, 5) == (0, None)


# rate_limit


async def test_a_bucket_begins_full_empties_and_fills_by_store_time(moved: World) -> None:
    await limit(moved, rate_limit=RateLimit(limit=10, window_ms=1000, burst=4))
    await enqueue_many(moved, 50)
    assert await look_again(moved, 1) == (1, None), "a worker that got all it asked for asks when it has room"
    assert await look_again(moved, 10) == (3, 100), "when a token has come"
    await moved.advance(199)
    assert (await look_again(moved, 10))[0] == 1
    await moved.advance(1)
    assert (await look_again(moved, 10))[0] == 1
    await moved.advance(3_600_000)
    assert (await look_again(moved, 10))[0] == 4, "never more than it holds"


async def test_a_clock_that_goes_back_neither_fills_nor_empties_a_bucket(moved: World) -> None:
    await limit(moved, rate_limit=RateLimit(limit=1, window_ms=1000, burst=2))
    await enqueue_many(moved, 9)
    assert len(await admit(moved, 1)) == 1
    await moved.advance(-600_000)
    assert (await look_again(moved, 5))[0] == 1
    await moved.advance(1000)
    assert (await look_again(moved, 5))[0] == 1


@pytest.mark.parametrize("how", ["returned", "disowned"])
async def test_a_job_that_nobody_ran_gives_its_token_back(moved: World, how: str) -> None:
    await limit(moved, rate_limit=RateLimit(limit=1, window_ms=MINUTE, burst=2))
    await enqueue_many(moved, 5)
    claims = await admit(moved)
    assert (len(claims), await look_again(moved, 5)) == (2, (0, MINUTE))
    if how == "returned":
        for claim in claims:
            assert await finish(moved, claim, "returned") == "available"
    else:
        assert await moved.store.attempts.disown("w", ["default"], []) == 2
    assert await look_again(moved, 5) == (2, MINUTE), "and never more than it holds"
    assert await admit(moved) == []


async def test_a_bucket_never_holds_more_than_its_size_whoever_writes_into_it(moved: World) -> None:
    await limit(moved, rate_limit=RateLimit(limit=1, window_ms=MINUTE, burst=2))
    await enqueue_many(moved, 9)
    for foreign, expected in (("1e300", 2), ("-1e300", 0), ("no number", 2), ("inf", 2)):
        await moved.client.hset(moved.keys("queue", "default"), mapping={"tokens": foreign})
        assert (await look_again(moved, 9))[0] == expected, foreign


async def test_rates_that_do_not_divide_lose_nothing_to_rounding(moved: World) -> None:
    await limit(moved, rate_limit=RateLimit(limit=3, window_ms=1000, burst=2))
    await enqueue_many(moved, 400)
    begun = 0
    for _ in range(1000):
        begun += len(await admit(moved, 1))
        await moved.advance(100)
    assert begun in (301, 302), "a hundred seconds, and what it began with"


# what is not let through


@pytest.mark.parametrize("limits", [{"max_concurrent": 1}, {"rate_limit": RateLimit(limit=1, burst=1)}])
async def test_a_limited_job_loses_no_attempt_and_stays_visible(moved: World, limits: dict[str, Any]) -> None:
    await limit(moved, **limits)
    await enqueue(moved)
    await moved.advance(1)
    limited = await enqueue(moved, max_attempts=1)
    for _ in range(5):
        await admit(moved)
    job = await moved.store.jobs.get(limited)
    assert (job.state, job.attempt, job.crash_attempt, job.worker) == ("available", 0, 0, None)
    page = await moved.store.jobs.list("default", "available")
    assert [job.id for job in page.jobs] == [limited]


@pytest.mark.damages_store("a foreign type")
async def test_what_cannot_be_moved_is_not_asked_for_without_a_pause(moved: World) -> None:
    await enqueue_many(moved, 60, payload="bad")
    content = fingerprint("test", '"bad"')
    await moved.store.quarantine.add(content)
    await moved.client.set(moved.keys("state", "default", "quarantined"), "foreign")
    for _ in range(3):
        assert await look_again(moved, 5) == (0, 1000)
    await moved.client.delete(moved.keys("state", "default", "quarantined"))
    assert await look_again(moved, 5) == (0, 0)


@pytest.mark.damages_store("a foreign type in place of what is set aside for a content")
async def test_what_is_barred_hides_nobody_whatever_is_in_place_of_the_set_of_its_content(moved: World) -> None:
    barred = await enqueue_many(moved, 60, payload="bad")
    content = fingerprint("test", '"bad"')
    await moved.store.quarantine.add(content)
    await moved.client.set(moved.keys("quarantined", content), "foreign")
    await moved.advance(1)
    good = await enqueue(moved)
    assert await look_again(moved, 1) == (0, 0)
    assert (await admit_one(moved)).id == good
    assert {(await moved.store.jobs.get(job_id)).state for job_id in barred} == {"quarantined"}


@pytest.mark.damages_store("a foreign type in place of a queue")
async def test_a_queue_whose_keys_hold_something_else_is_passed_over_and_named(moved: World) -> None:
    for queue in ("limits", "waits", "runs", "good"):
        await enqueue(moved, queue=queue)
    await moved.client.set(moved.keys("queue", "limits"), "foreign")
    await moved.client.set(moved.keys("state", "waits", "available"), "foreign")
    await moved.client.set(moved.keys("state", "runs", "running"), "foreign")
    answer = await moved.store.attempts.admit("w", ["limits", "waits", "runs", "good"], 10, LEASE)
    assert answer.unusable == ["limits", "waits", "runs"]
    assert [claim.queue for claim in answer.claims] == ["good"]


# how much at once


async def test_a_call_admits_at_most_200_jobs_and_says_that_there_are_more(moved: World) -> None:
    await enqueue_many(moved, 450)
    assert await look_again(moved, 500) == (200, 0)
    assert await look_again(moved, 300) == (200, 0)
    assert await look_again(moved, 100) == (50, None)


@pytest.mark.parametrize(("size", "expected"), [(400_000, 2), (MAX_CALL_BYTES // 2, 1), (MAX_CALL_BYTES - 10, 1)])
async def test_a_call_admits_a_mebibyte_of_payload_or_one_job(moved: World, size: int, expected: int) -> None:
    made = [await enqueue(moved, payload="x" * size) for _ in range(3)]
    calls: list[int] = []
    while sum(calls) < len(made):
        got, again = await look_again(moved, 10)
        calls.append(got)
        assert again == (0 if sum(calls) < len(made) else None), "the rest is to be had at once"
    assert max(calls) == expected
