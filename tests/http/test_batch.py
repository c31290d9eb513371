"""Batches: all jobs or none, one answer for each, once per key."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.client import JOB, SECRET, Client, body_of, enqueue, key, problem_of, stored
from tests.http.refusals import Refusal, check_refused
from tests.support.worlds import World

BATCH = "/api/v1/jobs/batch"
MIB = 1_048_576


def jobs(*options: dict[str, Any]) -> dict[str, Any]:
    return {"jobs": [JOB | each for each in options]}


def deep(levels: int) -> Any:
    """A payload that nests so many levels."""
    value: Any = SECRET
    for _ in range(levels):
        value = [value]
    return value


async def test_a_batch_is_queued_in_order_and_once_per_key(api: Client, world: World) -> None:
    asked = jobs({"id": "a"}, {"id": "b", "queue": "q"}, {"id": "c", "priority": -1})
    first = (await body_of(await api.post(BATCH, json=asked, headers=key()), 201))["jobs"]
    assert first == [{"job_id": name, "replayed": False, "duplicate": False} for name in "abc"]
    again = (await body_of(await api.post(BATCH, json=asked, headers=key()), 201))["jobs"]
    assert again == [each | {"replayed": True} for each in first]
    assert (await world.queued(), await world.queued("q")) == (["a", "c"], ["b"])


async def test_the_largest_batch_is_taken(api: Client, world: World) -> None:
    largest = jobs(*({"payload": [number]} for number in range(200)))
    answered = (await body_of(await api.post(BATCH, json=largest, headers=key()), 201))["jobs"]
    assert await world.client.zcard(world.keys("state", "default", "available")) == 200
    assert len({each["job_id"] for each in answered}) == 200


async def test_a_payload_in_a_batch_may_be_as_deep_as_any(api: Client) -> None:
    answered = await body_of(await api.post(BATCH, json=jobs({"payload": deep(64)}), headers=key()), 201)
    found = await body_of(await api.get(f"/api/v1/jobs/{answered['jobs'][0]['job_id']}?include_payload=true"))
    assert found["payload"] == deep(64)
    for refused in (deep(65), deep(100)):
        response = await api.post(BATCH, json=jobs({"payload": refused}), headers=key("deep"))
        assert (await response.json(content_type=None))["code"] == "invalid_request"


async def test_duplicates_and_jobs_that_are_there_are_no_refusal(api: Client, world: World) -> None:
    await enqueue(api, "there")
    asked = jobs({"id": "there"}, {"id": "holder", "unique_key": "u"}, {"id": "other", "unique_key": "u"})
    answered = (await body_of(await api.post(BATCH, json=asked, headers=key()), 201))["jobs"]
    assert answered == [
        {"job_id": "there", "replayed": True, "duplicate": False},
        {"job_id": "holder", "replayed": False, "duplicate": False},
        {"job_id": "holder", "replayed": False, "duplicate": True},
    ]
    assert set(await world.queued()) == {"there", "holder"}


GOOD = JOB | {"id": "good"}


def refused(name: str, body: Any, status: int, code: str, field: str, *, rule: str) -> Refusal:
    return Refusal(name, status, code, field, rule, "POST", BATCH, body)


REFUSED = [
    refused("no list", {}, 422, "invalid_shape", "jobs", rule="required"),
    refused("no body", [], 422, "invalid_shape", "body", rule="object"),
    refused("no array", {"jobs": {}}, 422, "invalid_shape", "jobs", rule="array"),
    refused("null", {"jobs": None}, 422, "invalid_shape", "jobs", rule="array"),
    refused("no job", {"jobs": []}, 400, "invalid_request", "jobs", rule="1 to 200"),
    refused("201 jobs", {"jobs": [JOB] * 201}, 413, "too_large", "jobs", rule="200"),
    refused(
        "another field", {"jobs": [GOOD], "atomic": True}, 422, "invalid_shape", "atomic", rule="the fields are: jobs"
    ),
    refused("no object", {"jobs": [GOOD, 5]}, 422, "invalid_shape", "jobs[1]", rule="object"),
    refused("no kind", {"jobs": [GOOD, {"payload": SECRET}]}, 422, "invalid_shape", "jobs[1].kind", rule="required"),
    refused(
        "unknown field", jobs({}, {"retries": 1}), 422, "invalid_shape", "jobs[1].retries", rule="the fields are: kind"
    ),
    refused(
        "strange field", jobs({}, {"\ud800": 1}), 422, "invalid_shape", "jobs[1].\\ud800", rule="the fields are: kind"
    ),
    refused("wrong type", jobs({}, {"priority": "1"}), 422, "invalid_shape", "jobs[1].priority", rule="int"),
    refused("wrong header", jobs({}, {"headers": {"a": 1}}), 422, "invalid_shape", "jobs[1].headers", rule="str"),
    refused("priority", jobs({}, {"priority": 101}), 400, "invalid_request", "jobs[1].priority", rule="-100 to 100"),
    refused("deadline", jobs({}, {"deadline_ms": 1}), 400, "invalid_request", "jobs[1].deadline_ms", rule="after now"),
    refused("prefix", jobs({}, {"id": "sched-x"}), 400, "invalid_request", "jobs[1].id", rule="sched-"),
    refused("id twice", jobs({"id": "a"}, {"id": "a"}), 400, "invalid_request", "jobs[1].id", rule="twice"),
    refused(
        "id conflict", jobs({}, {"id": "waits", "payload": 1}), 409, "id_conflict", "jobs[1].id", rule="other content"
    ),
    refused("payload", jobs({}, {"payload": SECRET + "x" * MIB}), 413, "too_large", "jobs[1].payload", rule="1048576"),
]


@pytest.mark.filterwarnings("ignore:Sending a large body directly")
@pytest.mark.parametrize("refusal", REFUSED, ids=lambda refusal: refusal.name)
async def test_one_bad_job_refuses_all_and_is_named_by_its_place(api: Client, world: World, refusal: Refusal) -> None:
    await check_refused(api, world, refusal)


async def test_a_batch_needs_a_key(api: Client, world: World) -> None:
    await problem_of(await api.post(BATCH, json=jobs({})), 400, "idempotency_key_missing", "Idempotency-Key")
    assert await stored(world) == {}


async def test_a_batch_that_one_queue_has_no_room_for_is_refused_whole(api: Client, world: World) -> None:
    await body_of(await api.put("/api/v1/queues/q/limits", json={"max_unfinished": 1}))
    before = await stored(world)
    response = await api.post(BATCH, json=jobs({}, {"queue": "q"}, {"queue": "q"}), headers=key())
    problem = await problem_of(response, 429, "backpressure", "jobs[2]")
    assert "max_unfinished" in problem["detail"]
    assert response.headers["Retry-After"] == "1"
    assert await stored(world) == before


async def test_quarantined_content_refuses_a_batch_whole(api: Client, world: World) -> None:
    await enqueue(api, "bad")
    fingerprint = (await body_of(await api.get("/api/v1/jobs/bad")))["fingerprint"]
    await body_of(await api.put(f"/api/v1/quarantine/{fingerprint}", json={}), 201)
    before = await stored(world)
    response = await api.post(BATCH, json=jobs({"payload": "good"}, {}), headers=key())
    await problem_of(response, 423, "quarantined", "jobs[1]")
    assert await stored(world) == before
