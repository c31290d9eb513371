"""An operator's word on one job: retry, cancel, delete, and why it is not running."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.store.attempts import Claim, Report
from tests.http.client import SECRET, Client, body_of, enqueue, job_url, problem_of
from tests.support.worlds import START_MS, World

IDS = ["{a}@b:c.d_e-f", "{}", "batch", "...", "j" * 255]


async def run(world: World, *job_ids: str) -> list[Claim]:
    admitted = await world.store.attempts.admit("worker-1", ["default"], 10, 60_000)
    assert [claim.id for claim in admitted.claims] == list(job_ids)
    return admitted.claims


@pytest.mark.parametrize("job_id", IDS)
async def test_every_id_of_the_alphabet_has_its_urls(api: Client, job_id: str) -> None:
    await enqueue(api, job_id)
    assert (await body_of(await api.get(job_url(job_id))))["id"] == job_id
    assert (await body_of(await api.get(job_url(job_id, "/admission"))))["job_id"] == job_id
    assert (await body_of(await api.post(job_url(job_id, "/cancel"))))["state"] == "cancelled"
    assert (await body_of(await api.post(job_url(job_id, "/retry"))))["state"] == "available"
    assert (await api.delete(job_url(job_id))).status == 204


async def test_cancel_ends_a_job_and_retry_lets_it_run_again(api: Client, world: World) -> None:
    await enqueue(api, "j")
    cancelled = await body_of(await api.post(job_url("j", "/cancel"), json={}))
    assert (cancelled["state"], await world.queued()) == ("cancelled", [])
    assert await body_of(await api.post(job_url("j", "/cancel"))) == cancelled
    retried = await body_of(await api.post(job_url("j", "/retry"), json={}))
    assert (retried["state"], retried["attempt"], retried["finished_at_ms"]) == ("available", 0, None)
    assert retried == await body_of(await api.get(job_url("j")))
    assert SECRET not in str((cancelled, retried))
    assert await world.queued() == ["j"]


async def test_a_running_job_is_cancelled_but_neither_retried_nor_deleted(api: Client, world: World) -> None:
    await enqueue(api, "j")
    (claim,) = await run(world, "j")
    await problem_of(await api.post(job_url("j", "/retry")), 409, "job_state")
    await problem_of(await api.delete(job_url("j")), 409, "job_state")
    for _ in range(2):
        assert (await body_of(await api.post(job_url("j", "/cancel"))))["state"] == "running", "until it has stopped"
    await problem_of(await api.delete(job_url("j")), 409, "job_state")
    assert await world.store.attempts.finish([Report(claim, "returned")]) == ["cancelled"]
    assert (await body_of(await api.get(job_url("j"))))["state"] == "cancelled"
    assert (await api.delete(job_url("j"))).status == 204


async def test_a_scheduled_job_is_retried_at_once(moved_api: Client) -> None:
    await enqueue(moved_api, "j", delay_ms=60_000)
    retried = await body_of(await moved_api.post(job_url("j", "/retry")))
    assert (retried["state"], retried["available_at_ms"]) == ("available", START_MS)


async def test_a_completed_job_cannot_be_cancelled(api: Client, world: World) -> None:
    await enqueue(api, "j")
    admitted = await world.store.attempts.admit("worker-1", ["default"], 1, 60_000)
    assert await world.store.attempts.finish([Report(admitted.claims[0], "completed")]) == ["completed"]
    problem = await problem_of(await api.post(job_url("j", "/cancel")), 409, "job_state")
    assert "is completed; cancel takes" in problem["detail"]


async def test_a_job_past_its_deadline_is_not_retried(moved_api: Client, moved: World) -> None:
    await enqueue(moved_api, "j", deadline_ms=START_MS + 1_000)
    await body_of(await moved_api.post(job_url("j", "/cancel")))
    await moved.advance(2_000)
    problem = await problem_of(await moved_api.post(job_url("j", "/retry")), 409, "job_state")
    assert "deadline" in problem["detail"]


async def test_delete_removes_the_job(api: Client, world: World) -> None:
    await enqueue(api, "j", unique_key="u")
    deleted = await api.delete(job_url("j"))
    assert (deleted.status, await deleted.read()) == (204, b"")
    for response in (await api.get(job_url("j")), await api.delete(job_url("j"))):
        await problem_of(response, 404, "job_not_found")
    assert await world.queued() == []
    await enqueue(api, "other", unique_key="u")


async def admission(api: Client, job_id: str) -> dict[str, Any]:
    found: dict[str, Any] = await body_of(await api.get(job_url(job_id, "/admission")))
    return found


async def test_admission_says_what_stands_in_the_way(moved_api: Client) -> None:
    await enqueue(moved_api, "first")
    await enqueue(moved_api, "later", delay_ms=60_000)
    assert await admission(moved_api, "first") == {
        "job_id": "first",
        "state": "available",
        "store_time_ms": START_MS,
        "admissible": False,
        "blocked_by": "no_worker",
        "available_at_ms": START_MS,
        "deadline_ms": None,
        "queue_paused_since_ms": None,
        "running": 0,
        "max_concurrent": None,
        "tokens": None,
        "rate_limit": None,
        "quarantined": False,
        "ahead": 0,
        "workers": 0,
        "workers_of_queue": 0,
        "estimate_ms": None,
    }
    later = await admission(moved_api, "later")
    assert (later["blocked_by"], later["estimate_ms"]) == ("not_due", START_MS + 60_000)
    await body_of(await moved_api.post("/api/v1/queues/default/pause"))
    paused = await admission(moved_api, "first")
    assert (paused["blocked_by"], paused["queue_paused_since_ms"]) == ("queue_paused", START_MS)
