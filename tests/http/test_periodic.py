"""Schedules over HTTP: each route does what it says, for every id there may be."""

from __future__ import annotations

from typing import Any

import pytest
from yarl import URL

from tests.http.client import SCHEDULE, SECRET, Client, body_of, key, periodic, problem_of
from tests.support.worlds import World

FULL = {
    "kind": "mail/digest",
    "spec": "CRON_TZ=Europe/Berlin 0 9 * * *",
    "payload": {"to": ["a", "b"], "n": 12345678901234567890123, "half": 0.5, "nothing": None},
    "queue": "mail",
    "priority": -7,
    "max_attempts": 3,
    "timeout_ms": 1000,
    "retention_ms": 0,
    "on_missed": "backfill",
    "backfill_limit": 17,
    "description": "What happened yesterday",
    "labels": {"team": "mail", "size": "größer"},
    "overlap": "allow",
    "max_lateness_ms": 3_600_000,
    "starts_at_ms": 1,
    "ends_at_ms": 253_402_300_799_999,
    "jitter_ms": 60_000,
    "unique_key": "digest",
    "headers": {"trace": "on"},
    "deadline_ms": 7_200_000,
    "owner": "mail/schedules.toml",
}


async def test_put_creates_and_answers_with_the_whole_schedule(api: Client) -> None:
    created = await body_of(await api.put(periodic("digest"), json=FULL), 201)
    assert {name: created[name] for name in FULL} == FULL
    assert created["id"] == "digest"
    assert created["paused"] is False
    assert created["next_run_ms"] > created["created_at_ms"]
    assert created["last_tick_ms"] is None
    assert created["failure"] is None
    assert await body_of(await api.get(periodic("digest"))) == created


async def test_put_replaces_the_definition_and_fills_in_defaults(api: Client) -> None:
    first = await body_of(await api.put(periodic("digest"), json=FULL), 201)
    second = await body_of(await api.put(periodic("digest"), json={"kind": "k", "spec": FULL["spec"]}), 200)
    assert second["revision"] > first["revision"]
    assert (second["queue"], second["payload"], second["on_missed"]) == ("default", None, "skip")
    assert second["next_run_ms"] == first["next_run_ms"]


async def test_identical_put_changes_nothing(api: Client) -> None:
    first = await body_of(await api.put(periodic("digest"), json=FULL), 201)
    assert await body_of(await api.put(periodic("digest"), json=FULL), 200) == first


async def test_paused_is_taken_at_creation_only(api: Client) -> None:
    created = await body_of(await api.put(periodic("p"), json=SCHEDULE | {"paused": True}), 201)
    assert created["paused"] is True
    assert created["next_run_ms"] is None
    same = await body_of(await api.put(periodic("p"), json=SCHEDULE | {"paused": True, "queue": "q"}), 200)
    assert (same["paused"], same["queue"]) == (True, "q")
    silent = await body_of(await api.put(periodic("p"), json=SCHEDULE), 200)
    assert silent["paused"] is True
    refused = await api.put(periodic("p"), json=SCHEDULE | {"paused": False, "queue": "other"})
    problem = await problem_of(refused, 400, "invalid_request", "paused")
    assert "creation" in problem["detail"]
    assert await body_of(await api.get(periodic("p"))) == silent


@pytest.mark.parametrize("schedule_id", ["{a}@b:c.d_e-f", "{}", "a" * 200, "run", "...", "0"])
async def test_every_id_of_the_alphabet_has_its_url(api: Client, schedule_id: str) -> None:
    created = await body_of(await api.put(URL(periodic(schedule_id), encoded=True), json=SCHEDULE), 201)
    assert created["id"] == schedule_id
    assert await body_of(await api.get(periodic(schedule_id))) == created  # as the client's own quoting spells it
    assert (await body_of(await api.get(periodic(schedule_id, "/enqueue-events"))))["events"] == []
    ran = await api.post(URL(periodic(schedule_id, "/run"), encoded=True), headers=key())
    assert (await body_of(ran, 202))["replayed"] is False
    assert (await api.delete(URL(periodic(schedule_id), encoded=True))).status == 204


async def test_list_pages_by_id_without_payloads(api: Client) -> None:
    ids = [f"s{number}" for number in range(5)]
    for schedule_id in reversed(ids):
        await body_of(await api.put(periodic(schedule_id), json=SCHEDULE), 201)
    found: list[dict[str, Any]] = []
    params = {"limit": "2"}
    while True:
        page = await body_of(await api.get("/api/v1/periodic", params=params))
        assert set(page) == {"schedules", "next_cursor", "examined"}
        assert page["examined"] == len(page["schedules"])
        found += page["schedules"]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert [schedule["id"] for schedule in found] == ids
    assert all("payload" not in schedule and schedule["payload_bytes"] > 0 for schedule in found)
    assert SECRET not in str(found)


async def test_an_empty_namespace_has_an_empty_list(api: Client) -> None:
    empty: dict[str, Any] = {"schedules": [], "next_cursor": None, "examined": 0}
    assert await body_of(await api.get("/api/v1/periodic")) == empty
    assert await body_of(await api.get("/api/v1/periodic?limit=200&cursor=")) == empty


async def test_delete_removes_the_schedule(api: Client) -> None:
    await body_of(await api.put(periodic("gone"), json=SCHEDULE), 201)
    deleted = await api.delete(periodic("gone"))
    assert (deleted.status, await deleted.read()) == (204, b"")
    await problem_of(await api.get(periodic("gone")), 404, "schedule_not_found")
    await problem_of(await api.delete(periodic("gone")), 404, "schedule_not_found")


async def test_run_queues_one_extra_job_once_per_key(api: Client, world: World) -> None:
    before = await body_of(await api.put(periodic("s"), json=SCHEDULE | {"paused": True}), 201)
    response = await api.post(periodic("s", "/run"), headers=key())
    first = await body_of(response, 202)
    assert first == {"job_id": first["job_id"], "replayed": False, "duplicate": False}
    again = await body_of(await api.post(periodic("s", "/run"), headers=key(), json={}), 202)
    assert again == first | {"replayed": True}
    other = await body_of(await api.post(periodic("s", "/run"), headers=key("key-2")), 202)
    assert set(await world.queued()) == {first["job_id"], other["job_id"]}
    assert await body_of(await api.get(periodic("s"))) == before
    job = await body_of(await api.get(response.headers["Location"]))
    assert (job["periodic_origin"], job["manual_schedule_id"]) == (None, "s")


async def test_run_of_no_schedule_is_not_found(api: Client) -> None:
    await problem_of(await api.post(periodic("none", "/run"), headers=key()), 404, "schedule_not_found")


async def test_run_of_quarantined_content_is_refused(api: Client, world: World) -> None:
    schedule = await body_of(await api.put(periodic("s"), json=SCHEDULE), 201)
    await world.store.quarantine.add(schedule["fingerprint"], note="bad")
    await problem_of(await api.post(periodic("s", "/run"), headers=key()), 423, "quarantined")
    assert await world.queued() == []
