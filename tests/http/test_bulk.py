"""Many schedules at once: each has a result of its own, and a repeat does nothing twice."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import StoreUnavailable
from tests.http.client import SCHEDULE, SECRET, Client, body_of, key, periodic, problem_of, stored
from tests.support.worlds import World

URL = "/api/v1/periodic/bulk"


async def three(api: Client) -> list[str]:
    ids = ["a", "b{c", "d"]
    for each in ids:
        await body_of(await api.put(periodic(each), json=SCHEDULE), 201)
    return ids


async def do(api: Client, action: str, ids: list[str], headers: dict[str, str] | None = None, **more: Any) -> Any:
    response = await api.post(URL, json={"action": action, "ids": ids} | more, headers=headers)
    results = (await body_of(response))["results"]
    assert [result["id"] for result in results] == ids
    assert SECRET not in str(results)
    return results


async def test_many_are_paused_and_resumed_and_who_is_remembered(api: Client) -> None:
    ids = await three(api)
    paused = await do(api, "pause", ids, reason="a move", by="zoe", until_ms=4_000_000_000_000)
    assert [result["status"] for result in paused] == [200, 200, 200]
    for result in paused:
        pause = result["schedule"]["pause"]
        assert (pause["reason"], pause["by"], pause["until_ms"]) == ("a move", "zoe", 4_000_000_000_000)
    resumed = await do(api, "resume", ids, missed="run_once")
    assert [result["schedule"]["paused"] for result in resumed] == [False, False, False]


async def test_what_one_refuses_the_others_take(api: Client) -> None:
    await three(api)
    results = await do(api, "resume", ["a", "none", "b c", "d"])
    assert [(result["status"], result["problem"]["code"]) for result in results] == [
        (409, "not_paused"),
        (404, "schedule_not_found"),
        (400, "invalid_request"),
        (409, "not_paused"),
    ]
    deleted = await do(api, "delete", ["d", "none", "a"])
    assert [result["status"] for result in deleted] == [204, 404, 204]
    [left] = (await body_of(await api.get("/api/v1/periodic")))["schedules"]
    assert left["id"] == "b{c"


async def test_a_repeat_of_a_run_makes_no_second_job(api: Client, world: World) -> None:
    ids = await three(api)
    first = await do(api, "run", ids, headers=key())
    assert [result["status"] for result in first] == [202, 202, 202]
    response = await api.post(URL, json={"action": "run", "ids": ids}, headers=key())
    assert response.headers["Idempotency-Replayed"] == "true"
    again = (await body_of(response))["results"]
    assert [result["job"]["job_id"] for result in again] == [result["job"]["job_id"] for result in first]
    assert all(result["job"]["replayed"] for result in again)
    longer = await api.post(URL, json={"action": "run", "ids": [*ids, "e"]}, headers=key())
    assert "Idempotency-Replayed" not in longer.headers
    assert [result["status"] for result in (await body_of(longer))["results"]] == [202, 202, 202, 404]
    assert len(await world.queued()) == 3
    await do(api, "run", ids, headers=key("key-2"))
    assert len(await world.queued()) == 6


async def test_the_key_of_a_bulk_run_is_not_that_of_a_single_one(api: Client, world: World) -> None:
    await three(api)
    await do(api, "run", ["a"], headers=key())
    assert (await api.post(periodic("a", "/run"), headers=key())).status == 202
    assert len(await world.queued()) == 2


async def test_a_store_that_goes_away_is_asked_once(api: Client, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = await three(api)
    asked, gone = [], {"b{c"}
    as_it_is = world.store.control.pause

    async def pause(name: str, **options: Any) -> Any:
        asked.append(name)
        if name in gone:
            raise StoreUnavailable("the store did not answer in time")
        return await as_it_is(name, **options)

    monkeypatch.setattr(world.store.control, "pause", pause)
    response = await api.post(URL, json={"action": "pause", "ids": ids})
    assert response.headers["Retry-After"] == "1"
    assert [result["status"] for result in (await body_of(response))["results"]] == [200, 503, 503]
    assert asked == ["a", "b{c"]
    gone.add("a")
    response = await api.post(URL, json={"action": "pause", "ids": ids})
    await problem_of(response, 503, "store_unavailable")
    assert response.headers["Retry-After"] == "1"


@pytest.mark.parametrize(
    ("change", "status", "code", "field"),
    [
        ({"ids": []}, 400, "invalid_request", "ids"),
        ({"ids": ["a", "a"]}, 400, "invalid_request", "ids"),
        ({"ids": [f"s{number}" for number in range(201)]}, 413, "too_large", "ids"),
        ({"ids": [1]}, 422, "invalid_shape", "ids[0]"),
        ({"ids": None}, 422, "invalid_shape", "ids"),
        ({"action": "explode"}, 400, "invalid_request", "action"),
        ({"action": "run"}, 400, "idempotency_key_missing", "Idempotency-Key"),
        ({"action": "delete", "reason": "x"}, 400, "invalid_request", "reason"),
        ({"action": "resume", "until_ms": 1}, 400, "invalid_request", "until_ms"),
        ({"missed": "none"}, 400, "invalid_request", "missed"),
        ({"by": "x" * 201}, 400, "invalid_request", "by"),
        ({"if_match": 1}, 422, "invalid_shape", "if_match"),
    ],
)
async def test_a_bad_request_does_nothing_to_any(  # noqa: PLR0917 - a row of the table
    api: Client, world: World, change: dict[str, Any], status: int, code: str, field: str
) -> None:
    ids = await three(api)
    before = await stored(world)
    response = await api.post(URL, json={"action": "pause", "ids": ids} | change)
    await problem_of(response, status, code, field)
    assert await stored(world) == before
