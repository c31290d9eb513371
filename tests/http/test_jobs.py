"""Jobs over HTTP: queued once per key, shown without their payload unless it is asked for."""

from __future__ import annotations

from yarl import URL

from tests.http.client import JOB, SECRET, Client, body_of, enqueue, key, problem_of
from tests.support.worlds import START_MS, World

JOBS = "/api/v1/jobs"


async def test_a_job_is_queued_once_per_key(api: Client, world: World) -> None:
    first = await body_of(await api.post(JOBS, json=JOB, headers=key()), 201)
    assert first["replayed"] is False
    reordered = {"payload": JOB["payload"], "kind": JOB["kind"], "queue": "default"}
    again = await body_of(await api.post(JOBS, json=reordered, headers=key()), 201)
    assert again == {"job_id": first["job_id"], "replayed": True, "duplicate": False}
    assert await world.queued() == [first["job_id"]]


async def test_a_job_shows_its_payload_only_when_asked(api: Client) -> None:
    response = await api.post(JOBS, json=JOB | {"queue": "q", "priority": 3}, headers=key())
    job_id = (await body_of(response, 201))["job_id"]
    assert response.headers["Location"] == f"{JOBS}/{job_id}"
    plain = await body_of(await api.get(f"{JOBS}/{job_id}"))
    expected = {"id": job_id, "kind": "report", "queue": "q", "priority": 3, "state": "available", "attempt": 0}
    assert {name: plain[name] for name in expected} == expected
    assert plain["periodic_origin"] is None
    assert SECRET not in str(plain)
    assert await body_of(await api.get(f"{JOBS}/{job_id}?include_payload=false")) == plain
    full = await body_of(await api.get(f"{JOBS}/{job_id}?include_payload=true"))
    assert full == plain | {"payload": JOB["payload"]}


async def test_integers_of_a_payload_keep_their_digits(api: Client) -> None:
    response = await api.post(JOBS, json={"kind": "k", "payload": [2**53 + 1, 10**40, -(2**70)]}, headers=key())
    job_id = (await body_of(response, 201))["job_id"]
    full = await body_of(await api.get(f"{JOBS}/{job_id}?include_payload=true"))
    assert full["payload"] == [2**53 + 1, 10**40, -(2**70)]


async def test_a_key_that_came_with_another_request_is_refused(api: Client, world: World) -> None:
    first = await body_of(await api.post(JOBS, json=JOB, headers=key()), 201)
    response = await api.post(JOBS, json=JOB | {"priority": 1}, headers=key())
    await problem_of(response, 422, "idempotency_key_reused", "Idempotency-Key")
    assert await world.queued() == [first["job_id"]]


async def test_a_job_takes_every_field(moved_api: Client) -> None:
    asked = JOB | {
        "id": "{mine}@a:b.c",
        "delay_ms": 5_000,
        "deadline_ms": START_MS + 60_000,
        "unique_key": "ünique key",
        "unique_ms": 1_000,
        "headers": {"trace": "abc"},
        "priority": -100,
        "queue": "q",
    }
    response = await moved_api.post(JOBS, json=asked, headers=key())
    assert await body_of(response, 201) == {"job_id": asked["id"], "replayed": False, "duplicate": False}
    job = await body_of(await moved_api.get(URL(response.headers["Location"], encoded=True)))
    expected = {
        "id": asked["id"],
        "state": "scheduled",
        "queue": "q",
        "unique_key": "ünique key",
        "priority": -100,
        "available_at_ms": START_MS + 5_000,
        "deadline_ms": START_MS + 60_000,
    }
    assert {name: job[name] for name in expected} == expected


async def test_the_same_id_with_the_same_content_finds_the_first_job(api: Client, world: World) -> None:
    await enqueue(api, "mine")
    again = await body_of(await api.post(JOBS, json=JOB | {"id": "mine"}, headers=key("another")), 201)
    assert again == {"job_id": "mine", "replayed": True, "duplicate": False}
    assert await world.queued() == ["mine"]


async def test_a_duplicate_is_a_result_that_names_the_holder(api: Client, world: World) -> None:
    await enqueue(api, "holder", unique_key="u")
    response = await api.post(JOBS, json=JOB | {"id": "other", "unique_key": "u"}, headers=key())
    assert await body_of(response, 200) == {"job_id": "holder", "replayed": False, "duplicate": True}
    assert response.headers["Location"] == f"{JOBS}/holder"
    again = await body_of(await api.post(JOBS, json=JOB | {"id": "other", "unique_key": "u"}, headers=key()), 200)
    assert again == {"job_id": "holder", "replayed": True, "duplicate": True}
    assert await world.queued() == ["holder"]


async def test_an_unknown_job_is_not_found(api: Client) -> None:
    await problem_of(await api.get(f"{JOBS}/nobody"), 404, "job_not_found")
    await problem_of(await api.get(f"{JOBS}/a%7Bc%7D"), 404, "job_not_found")  # braces are of the alphabet
    await problem_of(await api.get(f"{JOBS}/a%2Fb"), 400, "invalid_request", "id")
