"""Batches: judged as a whole, answered one by one."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import HeadgateError, IdConflict, InvalidRequest, TooLarge
from headgate.models import Enqueued
from headgate.settings import MAX_BATCH_BYTES
from tests.jobs.acts import counts, enqueue, names_of_keys, request
from tests.support.worlds import World


async def test_a_batch_answers_for_each_job_in_its_place(moved: World) -> None:
    holder = await enqueue(moved, unique_key="held")
    await enqueue(moved, id="mine", payload=1)
    answers = await moved.store.producer.enqueue_many(
        [
            request(id="new"),
            request(unique_key="held"),
            request(id="mine", payload=1),
            request(id="first", unique_key="fresh"),
            request(id="second", unique_key="fresh"),
        ]
    )
    assert answers == [
        Enqueued(job_id="new"),
        Enqueued(job_id=holder, duplicate=True),
        Enqueued(job_id="mine", replayed=True),
        Enqueued(job_id="first"),
        Enqueued(job_id="first", duplicate=True),
    ]


@pytest.mark.parametrize(
    ("bad", "error", "field"),
    [
        ({"id": "mine", "payload": 2}, IdConflict, "jobs[2].id"),
        ({"deadline_ms": 1}, InvalidRequest, "jobs[2].deadline_ms"),
        ({"priority": 101}, InvalidRequest, "jobs[2].priority"),
        ({"id": "sched-a-1"}, InvalidRequest, "jobs[2].id"),
        ({"id": "other"}, InvalidRequest, "jobs[2].id"),
        ({"unique_key": "é" * 128}, InvalidRequest, "jobs[2].unique_key"),
        ({"unique_key": ""}, InvalidRequest, "jobs[2].unique_key"),
        ({"unique_ms": 5}, InvalidRequest, "jobs[2].unique_ms"),
        ({"delay_ms": -1}, InvalidRequest, "jobs[2].delay_ms"),
        ({"delay_ms": 1, "run_at_ms": 1}, InvalidRequest, "jobs[2].run_at_ms"),
        ({"max_attempts": 0}, InvalidRequest, "jobs[2].max_attempts"),
    ],
)
async def test_one_that_is_refused_refuses_the_batch_and_is_named(
    moved: World, bad: dict[str, Any], error: type[HeadgateError], field: str
) -> None:
    await enqueue(moved, id="mine", payload=1)
    before = await names_of_keys(moved)
    batch = [request(id="other"), request(queue="new", unique_key="u"), request(**bad), request()]
    with pytest.raises(error) as refused:
        await moved.store.producer.enqueue_many(batch, idempotency_key="k")
    assert refused.value.field == field
    assert type(refused.value) is error
    assert await names_of_keys(moved) == before
    batch[2] = request()
    assert len(await moved.store.producer.enqueue_many(batch, idempotency_key="k")) == 4, "the key is not used up"


async def test_a_batch_has_one_to_200_jobs_and_two_mebibytes(moved: World) -> None:
    with pytest.raises(InvalidRequest):
        await moved.store.producer.enqueue_many([])
    with pytest.raises(TooLarge):
        await moved.store.producer.enqueue_many([request() for _ in range(201)])
    with pytest.raises(TooLarge):
        await moved.store.producer.enqueue_many([request(payload="x" * (MAX_BATCH_BYTES // 3)) for _ in range(3)])
    assert len(await moved.store.producer.enqueue_many([request(delay_ms=i) for i in range(200)])) == 200
    assert await counts(moved) == {"available": 1, "scheduled": 199}
