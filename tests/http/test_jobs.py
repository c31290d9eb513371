"""Jobs over HTTP: queued once per key, shown without their payload unless it is asked for."""

from __future__ import annotations

from tests.http.client import JOB, SECRET, Client, body_of, key, problem_of
from tests.support.worlds import World

JOBS = "/api/v1/jobs"


async def test_a_job_is_queued_once_per_key(api: Client, world: World) -> None:
    first = await body_of(await api.post(JOBS, json=JOB, headers=key()), 201)
    assert first["replayed"] is False
    reordered = {"payload": JOB["payload"], "kind": JOB["kind"], "queue": "default"}
    again = await body_of(await api.post(JOBS, json=reordered, headers=key()), 201)
    assert again == {"job_id": first["job_id"], "replayed": True}
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


async def test_quarantined_content_is_refused(api: Client, world: World) -> None:
    job_id = (await body_of(await api.post(JOBS, json=JOB, headers=key()), 201))["job_id"]
    job = await body_of(await api.get(f"{JOBS}/{job_id}"))
    await world.store.quarantine.add(job["fingerprint"], note="bad")
    await problem_of(await api.post(JOBS, json=JOB, headers=key("key-2")), 423, "quarantined")
    assert await world.queued() == [job_id]


async def test_an_unknown_job_is_not_found(api: Client) -> None:
    await problem_of(await api.get(f"{JOBS}/nobody"), 404, "job_not_found")
    await problem_of(await api.get(f"{JOBS}/a%7Bc%7D"), 404, "job_not_found")  # braces are of the alphabet
    await problem_of(await api.get(f"{JOBS}/a%2Fb"), 400, "invalid_request", "id")
