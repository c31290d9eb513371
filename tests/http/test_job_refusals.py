"""What is refused of jobs: a typed problem that names the field and the rule; nothing stored changes."""

from __future__ import annotations

import pytest

from tests.http.client import JOB, SECRET, Client, body_of, enqueue, key, problem_of, stored
from tests.http.refusals import Refusal, bad_path, check_refused
from tests.support.worlds import World

JOBS = "/api/v1/jobs"
CENTURY = 36_525 * 86_400_000


def bad_job(field: str, value: object, rule: str, **other: object) -> Refusal:
    name = f"{field}={str(value)[:20]}"
    return Refusal(name, 400, "invalid_request", field, rule, "POST", JOBS, JOB | {field: value} | other)


def bad_type(field: str, value: object, rule: str) -> Refusal:
    body = JOB | {field: value}
    return Refusal(f"{field}:{str(value)[:20]}", 422, "invalid_shape", field, rule, "POST", JOBS, body)


def bad_list(query: str, field: str, rule: str) -> Refusal:
    return Refusal(f"?{query}", 400, "invalid_request", field, rule, "GET", f"{JOBS}?{query}")


REFUSALS = [
    bad_job("deadline_ms", 1, "after now"),
    bad_job("deadline_ms", 2 * CENTURY, "after the job may run", run_at_ms=3 * CENTURY),
    *(bad_job("deadline_ms", value, "0 to") for value in (-1, 10**15)),
    *(bad_job("priority", value, "-100 to 100") for value in (-101, 101)),
    *(bad_job("unique_key", value, "1 to 255") for value in ("", "u" * 256, "ü" * 128)),
    *(bad_job("unique_key", value, "printed") for value in ("a\nb", "\ud800", "\0")),
    bad_job("unique_ms", 1_000, "needs a unique_key"),
    *(bad_job("unique_ms", value, "1 to", unique_key="u") for value in (0, -1, 10**15)),
    *(bad_job("id", value, "only ticks may") for value in ("sched-", "sched-s-1")),
    *(bad_job("id", value, "URL") for value in (".", "..")),
    *(bad_job("id", value, "1 to 255") for value in ("", "j" * 256)),
    *(bad_job("id", value, "A-Z") for value in ("a b", "a/b", "é", "\ud800")),
    *(bad_job("delay_ms", value, "0 to") for value in (-1, 10**15)),
    *(bad_job("run_at_ms", value, "0 to") for value in (-1, 10**15)),
    bad_job("run_at_ms", 1, "exclude", delay_ms=1),
    bad_job("headers", {str(number): "" for number in range(65)}, "at most 64"),
    bad_job("headers", {"a": "\ud800"}, "JSON"),
    bad_job("headers", {"\ud800": "a"}, "JSON"),
    *(bad_type("headers", value, "") for value in (None, "a", [SECRET], {"a": 1}, {"a": None})),
    *(bad_type("id", value, "str") for value in (1, [SECRET])),
    *(bad_type("unique_key", value, "str") for value in (1, [SECRET])),
    *(
        bad_type(name, value, "int")
        for name in ("delay_ms", "run_at_ms", "deadline_ms", "unique_ms")
        for value in ("1", 1.5, True)
    ),
    Refusal(
        "id conflict", 409, "id_conflict", "id", "other content", "POST", JOBS, JOB | {"id": "waits", "payload": 1}
    ),
    bad_list("", "queue", "periodic_schedule_id"),
    bad_list("limit=1", "queue", "required"),
    bad_list("state=available", "queue", "required"),
    bad_list("queue=default", "state", "required"),
    *(bad_list(f"queue=default&state={state}", "state", "available") for state in ("", "done", "Available", "%ff")),
    *(bad_list(f"queue={queue}&state=running", "queue", "queue") for queue in ("", "a%20b", "%C3%A9", "q" * 129)),
    *(bad_list(f"periodic_schedule_id=s&{more}", "periodic_schedule_id", "neither") for more in ("queue=q", "state=x")),
    *(bad_list(f"periodic_schedule_id={name}", "periodic_schedule_id", "schedule id") for name in ("", "a%20b", ".")),
    *(bad_list(f"queue=q&state=running&limit={limit}", "limit", "1 to 200") for limit in (0, 201, -1)),
    *(bad_list(f"periodic_schedule_id=s&limit={limit}", "limit", "1 to 200") for limit in (0, 201)),
    bad_list("queue=q&state=running&kind=k", "kind", "unknown"),
    bad_list("queue=q&queue=r&state=running", "queue", "twice"),
    *(
        bad_path(method, f"/api/v1/jobs/a%20b{rest}", "id", "job id")
        for method, rest in (("DELETE", ""), ("POST", "/retry"), ("POST", "/cancel"), ("GET", "/admission"))
    ),
    Refusal("no job", 404, "job_not_found", None, "not exist", "DELETE", f"{JOBS}/none"),
    *(
        Refusal(f"{what} none", 404, "job_not_found", None, "", "POST", f"{JOBS}/none/{what}")
        for what in ("retry", "cancel")
    ),
    Refusal("admission of none", 404, "job_not_found", None, "", "GET", f"{JOBS}/none/admission"),
    Refusal("retry of a running one", 409, "job_state", None, "is running; retry takes", "POST", f"{JOBS}/runs/retry"),
    Refusal("retry of an available one", 409, "job_state", None, "is available", "POST", f"{JOBS}/waits/retry", {}),
    Refusal("delete of a running one", 409, "job_state", None, "is running; delete takes", "DELETE", f"{JOBS}/runs"),
    *(
        Refusal(
            f"{what} with a field", 422, "invalid_shape", "force", "none", "POST", f"{JOBS}/runs/{what}", {"force": 1}
        )
        for what in ("retry", "cancel")
    ),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
async def test_a_refusal_names_field_and_rule_and_changes_nothing(api: Client, world: World, refusal: Refusal) -> None:
    await check_refused(api, world, refusal)


async def test_a_full_queue_refuses_jobs_and_says_when_to_come_back(api: Client, world: World) -> None:
    await body_of(await api.put("/api/v1/queues/default/limits", json={"max_unfinished": 1}))
    await enqueue(api, "first")
    before = await stored(world)
    response = await api.post(JOBS, json=JOB, headers=key())
    problem = await problem_of(response, 429, "backpressure")
    assert "max_unfinished" in problem["detail"]
    assert response.headers["Retry-After"] == "1"
    assert await stored(world) == before


async def test_quarantined_content_is_refused(api: Client, world: World) -> None:
    await enqueue(api, "bad")
    fingerprint = (await body_of(await api.get(f"{JOBS}/bad")))["fingerprint"]
    await body_of(await api.put(f"/api/v1/quarantine/{fingerprint}", json={}), 201)
    await (await api.post(f"{JOBS}/bad/cancel")).read()
    before = await stored(world)
    await problem_of(await api.post(JOBS, json=JOB, headers=key()), 423, "quarantined")
    await problem_of(await api.post(f"{JOBS}/bad/retry"), 423, "quarantined")
    assert await stored(world) == before


async def test_a_job_does_not_come_back_while_another_holds_its_unique_key(api: Client, world: World) -> None:
    await enqueue(api, "first", unique_key="u")
    await body_of(await api.post(f"{JOBS}/first/cancel"))
    await enqueue(api, "second", unique_key="u")
    before = await stored(world)
    await problem_of(await api.post(f"{JOBS}/first/retry"), 409, "unique_key_held")
    assert await stored(world) == before
