"""Unique keys, chosen ids and deadlines: what enqueuing takes, what it finds, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import IdConflict, IdempotencyKeyReused, InvalidRequest, UniqueKeyHeld
from headgate.models import Enqueued
from tests.jobs.acts import (
    LEASE,
    admit,
    admit_one,
    counts,
    enqueue,
    finish,
    lose_workers,
    names_of_keys,
    reclaim,
    request,
    state_of,
)
from tests.jobs.arrows import BUILD
from tests.support.worlds import START_MS, World

DAY = 86_400_000
ENDED = ("completed", "archived", "cancelled", "undecodable")
LIVING = ("scheduled", "available", "running", "retryable", "quarantined")


async def ask(world: World, **options: Any) -> Enqueued:
    return await world.store.producer.enqueue(request(**options))


# unique for a job's life


@pytest.mark.parametrize("state", LIVING)
async def test_a_living_job_holds_its_key_and_a_duplicate_is_told_which(moved: World, state: str) -> None:
    holder = await BUILD[state](moved, unique_key="u")
    answer = await ask(moved, unique_key="u", payload="another", queue="another")
    assert answer == Enqueued(job_id=holder, duplicate=True)
    assert await moved.client.zscore(moved.keys("queues"), "another") is None
    assert (await ask(moved, unique_key="v", payload="another", queue="another")).duplicate is False


@pytest.mark.parametrize("state", ENDED)
async def test_the_key_is_free_at_the_end_whatever_the_end(moved: World, state: str) -> None:
    first = await BUILD[state](moved, unique_key="u")
    assert await moved.client.exists(moved.keys("unique", "u")) == 0
    second = await ask(moved, unique_key="u")
    assert not second.duplicate
    assert second.job_id != first
    assert (await moved.store.jobs.get(first)).unique_key == "u", "what it held is still told"


@pytest.mark.parametrize("state", ["scheduled", "available", "retryable", "quarantined"])
async def test_the_key_of_a_deleted_job_is_free(moved: World, state: str) -> None:
    await moved.store.jobs.delete(await BUILD[state](moved, unique_key="u"))
    assert not (await ask(moved, unique_key="u", payload="other")).duplicate


async def test_the_key_is_free_once_the_deadline_passed_and_kept_through_a_crash(moved: World) -> None:
    job_id = await BUILD["running"](moved, unique_key="u", deadline_ms=START_MS + 50_000)
    await lose_workers(moved)
    assert (await ask(moved, unique_key="u")).job_id == job_id
    await moved.advance(50_000)
    await reclaim(moved)
    assert not (await ask(moved, unique_key="u")).duplicate


async def test_removing_an_old_job_leaves_the_key_to_the_one_that_has_it_now(moved: World) -> None:
    old = await BUILD["completed"](moved, unique_key="u")
    new = await enqueue(moved, unique_key="u")
    await moved.store.jobs.delete(old)
    assert (await ask(moved, unique_key="u")) == Enqueued(job_id=new, duplicate=True)


async def test_a_retried_job_takes_its_key_again_unless_another_has_it(moved: World) -> None:
    job_id = await BUILD["cancelled"](moved, unique_key="u")
    await moved.store.jobs.retry(job_id)
    assert (await ask(moved, unique_key="u")) == Enqueued(job_id=job_id, duplicate=True)
    await moved.store.jobs.cancel(job_id)
    other = await enqueue(moved, unique_key="u")
    with pytest.raises(UniqueKeyHeld):
        await moved.store.jobs.retry(job_id)
    assert await state_of(moved, job_id) == "cancelled"
    await moved.store.jobs.cancel(other)
    await moved.store.jobs.retry(job_id)


async def test_a_job_that_vanished_holds_nothing(moved: World) -> None:
    job_id = await enqueue(moved, unique_key="u")
    await moved.client.delete(moved.keys("job", job_id))
    assert not (await ask(moved, unique_key="u")).duplicate
    await admit(moved)


# unique for a window


async def test_a_key_for_a_window_is_held_until_its_end_and_no_longer(moved: World) -> None:
    holder = await enqueue(moved, unique_key="u", unique_ms=DAY)
    await finish(moved, await admit_one(moved))
    await moved.advance(DAY - 1)
    assert (await ask(moved, unique_key="u", unique_ms=DAY)) == Enqueued(job_id=holder, duplicate=True)
    assert await moved.client.pttl(moved.keys("unique", "u")) > 0, "a lifetime of its own"
    await moved.advance(1)
    assert not (await ask(moved, unique_key="u", unique_ms=DAY)).duplicate


async def test_a_window_may_end_before_its_job(moved: World) -> None:
    first = await enqueue(moved, unique_key="u", unique_ms=DAY)
    await moved.advance(DAY)
    second = await enqueue(moved, unique_key="u")
    assert await state_of(moved, first) == "available"
    await moved.store.jobs.cancel(first)
    assert (await ask(moved, unique_key="u")).job_id == second, "the first one's end frees nothing of the second's"


async def test_retrying_a_job_within_its_window_is_no_duplicate_of_itself(moved: World) -> None:
    job_id = await enqueue(moved, unique_key="u", unique_ms=DAY)
    await moved.store.jobs.cancel(job_id)
    await moved.store.jobs.retry(job_id)
    assert await state_of(moved, job_id) == "available"


async def test_a_job_that_is_retried_after_its_window_takes_no_key(moved: World) -> None:
    first = await enqueue(moved, unique_key="u", unique_ms=DAY)
    await moved.store.jobs.cancel(first)
    await moved.advance(DAY)
    await moved.store.jobs.retry(first)
    second = await ask(moved, unique_key="u")
    assert not second.duplicate, "the window was over"
    await moved.store.jobs.cancel(first)
    await moved.store.jobs.retry(first)
    assert await state_of(moved, first) == "available", "nor does it need the key that another has by now"
    await moved.store.jobs.cancel(first)
    assert await ask(moved, unique_key="u") == Enqueued(job_id=second.job_id, duplicate=True)


# chosen ids


@pytest.mark.parametrize("state", [*LIVING, *ENDED])
async def test_the_same_id_and_content_is_the_same_job_in_every_state(moved: World, state: str) -> None:
    job_id = await BUILD[state](moved, id="mine", payload={"a": 1, "b": 2})
    record = await moved.client.hgetall(moved.keys("job", job_id))
    assert await ask(moved, id="mine", payload={"b": 2, "a": 1}, priority=9) == Enqueued(job_id="mine", replayed=True)
    assert await moved.client.hgetall(moved.keys("job", job_id)) == record
    assert await state_of(moved, job_id) == state


@pytest.mark.parametrize("other", [{"payload": 2}, {"kind": "other"}, {"queue": "other"}])
async def test_the_same_id_with_other_content_is_a_conflict(moved: World, other: dict[str, Any]) -> None:
    await enqueue(moved, id="mine", payload=1)
    before = await names_of_keys(moved)
    with pytest.raises(IdConflict) as refused:
        await ask(moved, **{"id": "mine", "payload": 1} | other)
    assert refused.value.field == "id"
    assert await names_of_keys(moved) == before


async def test_an_id_is_free_again_once_its_job_was_removed(moved: World) -> None:
    await enqueue(moved, id="mine", payload=1)
    await moved.store.jobs.delete("mine")
    assert not (await ask(moved, id="mine", payload=2)).replayed


async def test_a_worker_whose_job_was_removed_has_no_say_in_another_of_the_same_id(moved: World) -> None:
    await enqueue(moved, id="mine")
    stale = await admit_one(moved)
    await lose_workers(moved)
    await moved.store.jobs.delete("mine")
    await enqueue(moved, id="mine")
    fresh = await admit_one(moved)
    record = await moved.client.hgetall(moved.keys("job", "mine"))
    lease = await moved.client.zscore(moved.keys("state", "default", "running"), "mine")
    await moved.advance(1)
    for verdict in ("completed", "failed", "undecodable", "cancelled", "returned"):
        assert await finish(moved, stale, verdict) == "lost"
    assert await moved.store.attempts.renew([stale], LEASE) == ({"mine"}, set())
    assert await moved.client.hgetall(moved.keys("job", "mine")) == record
    assert await moved.client.zscore(moved.keys("state", "default", "running"), "mine") == lease
    assert await finish(moved, fresh) == "completed"
    assert await finish(moved, stale) == "lost", "nor is it told of the other's end"


# idempotency keys


async def test_an_idempotency_key_gives_the_same_answer_even_when_the_job_is_gone(moved: World) -> None:
    wanted = request(payload=1)
    first = await moved.store.producer.enqueue(wanted, idempotency_key="k")
    await moved.store.jobs.delete(first.job_id)
    again = await moved.store.producer.enqueue(wanted, idempotency_key="k")
    assert again == Enqueued(job_id=first.job_id, replayed=True)
    assert await counts(moved) == {}
    with pytest.raises(IdempotencyKeyReused):
        await moved.store.producer.enqueue(request(payload=2), idempotency_key="k")


# deadlines and instants


@pytest.mark.parametrize(
    "options",
    [
        {"deadline_ms": 0},
        {"deadline_ms": START_MS - 1},
        {"deadline_ms": START_MS},
        {"deadline_ms": START_MS + 1000, "delay_ms": 1000},
        {"deadline_ms": START_MS + 1000, "run_at_ms": START_MS + 2000},
    ],
)
async def test_a_deadline_before_the_job_could_run_is_refused(moved: World, options: dict[str, Any]) -> None:
    before = await names_of_keys(moved)
    with pytest.raises(InvalidRequest) as refused:
        await ask(moved, **options)
    assert refused.value.field == "deadline_ms"
    assert await names_of_keys(moved) == before


async def test_an_instant_that_has_passed_means_now_and_takes_no_head_start(moved: World) -> None:
    first = await enqueue(moved)
    await moved.advance(1)
    past = await enqueue(moved, run_at_ms=0)
    job = await moved.store.jobs.get(past)
    assert (job.state, job.available_at_ms) == ("available", START_MS + 1)
    assert [claim.id for claim in await admit(moved)] == [first, past]


async def test_a_delay_and_an_instant_say_the_same(moved: World) -> None:
    jobs = [await enqueue(moved, delay_ms=5000), await enqueue(moved, run_at_ms=START_MS + 5000)]
    for job_id in jobs:
        job = await moved.store.jobs.get(job_id)
        assert (job.state, job.available_at_ms) == ("scheduled", START_MS + 5000)
