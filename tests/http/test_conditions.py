"""Revisions over HTTP: tags of schedules, writers that insist on the one they read, and what a stale one is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.http.client import SCHEDULE, SECRET, Client, body_of, periodic, problem_of, stored
from tests.support.worlds import START_MS, World

URL = periodic("s")
WRITES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("PUT", URL, SCHEDULE | {"queue": "other"}),
    ("DELETE", URL, {}),
    ("POST", periodic("s", "/pause"), {"reason": "another"}),
    ("POST", periodic("s", "/resume"), {}),
)


async def create(api: Client, **options: Any) -> int:
    revision: int = (await body_of(await api.put(URL, json=SCHEDULE | options), 201))["revision"]
    return revision


async def write(api: Client, method: str, url: str, body: dict[str, Any], match: str) -> Any:
    return await api.request(method, url, json=body, headers={"If-Match": match})


async def test_every_answer_with_a_schedule_has_its_revision_as_tag(api: Client) -> None:
    for response in (
        await api.put(URL, json=SCHEDULE),
        await api.put(URL, json=SCHEDULE),
        await api.put(URL, json=SCHEDULE | {"queue": "other"}),
        await api.post(periodic("s", "/pause")),
        await api.post(periodic("s", "/resume")),
        await api.get(URL),
    ):
        schedule = await body_of(response, response.status)
        assert response.headers["ETag"] == f'"{schedule["revision"]}"'


async def test_firing_does_not_move_the_tag(moved: World, moved_api: Client) -> None:
    revision = await create(moved_api)
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await moved.set_clock(START_MS + 60_000)
    await scheduler.sweep()
    response = await moved_api.get(URL)
    assert (await body_of(response))["last_tick_ms"] == START_MS + 60_000
    assert response.headers["ETag"] == f'"{revision}"'


@pytest.mark.parametrize("form", ['"{}"', "{}", "*"])
@pytest.mark.parametrize(("method", "url", "body"), WRITES, ids=["put", "delete", "pause", "resume"])
async def test_a_writer_that_read_the_latest_is_heard(
    api: Client, method: str, url: str, body: dict[str, Any], form: str
) -> None:
    revision = await create(api, paused=True)
    response = await write(api, method, url, body, form.format(revision))
    assert response.status in (200, 204)
    if response.status == 200:
        assert (await response.json())["revision"] > revision


@pytest.mark.parametrize(("method", "url", "body"), WRITES, ids=["put", "delete", "pause", "resume"])
async def test_a_stale_writer_is_told_how_things_stand(
    api: Client, world: World, method: str, url: str, body: dict[str, Any]
) -> None:
    stale = await create(api, paused=True)
    now = await body_of(await api.put(URL, json=SCHEDULE | {"queue": "mail"}))
    before = await stored(world)
    response = await write(api, method, url, body, f'"{stale}"')
    problem = await problem_of(response, 412, "revision_mismatch", "revision")
    del now["payload"], now["headers"]
    assert problem["current"] == now
    assert response.headers["ETag"] == f'"{now["revision"]}"'
    assert SECRET not in str(problem)
    assert await stored(world) == before


async def test_a_pause_in_the_same_words_is_heard_whatever_was_read(api: Client, world: World) -> None:
    """It writes nothing, so nobody's view is stale for it."""
    stale = await create(api)
    body = {"reason": "x", "by": "ann"}
    paused = await body_of(await api.post(periodic("s", "/pause"), json=body))
    before = await stored(world)
    assert await body_of(await write(api, "POST", periodic("s", "/pause"), body, f'"{stale}"')) == paused
    assert await stored(world) == before


async def test_what_is_shown_to_a_stale_writer_and_in_lists_has_no_headers(api: Client) -> None:
    stale = await create(api, headers={"token": SECRET})
    await body_of(await api.put(URL, json=SCHEDULE | {"headers": {"token": SECRET}, "queue": "mail"}))
    problem = await problem_of(await write(api, *WRITES[0], f'"{stale}"'), 412, "revision_mismatch", "revision")
    assert SECRET not in str(problem)
    assert SECRET not in await (await api.get("/api/v1/periodic")).text()


@pytest.mark.parametrize("match", ['"1"', "7", "*"])
async def test_a_put_that_insists_on_a_schedule_makes_none(api: Client, world: World, match: str) -> None:
    problem = await problem_of(await write(api, *WRITES[0], match), 412, "revision_mismatch", "revision")
    assert problem["current"] is None
    assert await stored(world) == {}


@pytest.mark.parametrize("match", ['"1"', "*"])
@pytest.mark.parametrize(("method", "url", "body"), WRITES[1:], ids=["delete", "pause", "resume"])
async def test_what_is_not_there_is_not_found(
    api: Client, method: str, url: str, body: dict[str, Any], match: str
) -> None:
    await problem_of(await write(api, method, url, body, match), 404, "schedule_not_found")


async def test_only_the_first_of_two_creators_is_heard(api: Client, world: World) -> None:
    headers = {"If-None-Match": "*"}
    first = await body_of(await api.put(URL, json=SCHEDULE, headers=headers), 201)
    before = await stored(world)
    second = await api.put(URL, json=SCHEDULE | {"kind": "other", "paused": True}, headers=headers)
    problem = await problem_of(second, 412, "revision_mismatch", "revision")
    assert problem["current"]["revision"] == first["revision"]
    assert await stored(world) == before


BAD_MATCHES = ("", "0", "-1", '"x"', 'W/"1"', '"1', '1"', '"1", "2"', "1, 2", "9" * 16, "**", "１")  # noqa: RUF001


@pytest.mark.parametrize(("method", "url", "body"), WRITES, ids=["put", "delete", "pause", "resume"])
async def test_a_condition_that_is_none_is_refused(
    api: Client, world: World, method: str, url: str, body: dict[str, Any]
) -> None:
    await create(api, paused=True)
    before = await stored(world)
    for match in BAD_MATCHES:
        problem = await problem_of(await write(api, method, url, body, match), 400, "invalid_request", "If-Match")
        assert "revision" in problem["detail"]
    assert await stored(world) == before


@pytest.mark.parametrize(
    "headers",
    [
        [("If-None-Match", '"1"')],
        [("If-None-Match", "")],
        [("If-None-Match", "*"), ("If-Match", "*")],
        [("If-None-Match", "*"), ("If-None-Match", "*")],
    ],
    ids=str,
)
async def test_conditions_that_contradict_are_refused(
    api: Client, world: World, headers: list[tuple[str, str]]
) -> None:
    response = await api.put(URL, json=SCHEDULE, headers=headers)
    await problem_of(response, 400, "invalid_request", "If-None-Match")
    assert await stored(world) == {}


@pytest.mark.parametrize(("method", "url", "body"), WRITES[1:], ids=["delete", "pause", "resume"])
async def test_only_a_put_can_insist_that_there_is_none(
    api: Client, method: str, url: str, body: dict[str, Any]
) -> None:
    await create(api, paused=True)
    response = await api.request(method, url, json=body, headers={"If-None-Match": "*"})
    await problem_of(response, 400, "invalid_request", "If-None-Match")


async def test_two_revisions_are_one_too_many(api: Client) -> None:
    await create(api)
    response = await api.delete(URL, headers=[("If-Match", "1"), ("If-Match", "2")])
    await problem_of(response, 400, "invalid_request", "If-Match")


async def test_of_many_writers_at_once_one_is_heard(api: Client) -> None:
    revision = await create(api)
    for method, match, status in (("PUT", {"If-Match": f'"{revision}"'}, 200), ("POST", {"If-Match": "2"}, 200)):
        url = URL if method == "PUT" else periodic("s", "/pause")
        bodies = [
            SCHEDULE | {"queue": f"q{number}"} if method == "PUT" else {"by": f"x{number}"} for number in range(20)
        ]
        responses = await asyncio.gather(*(api.request(method, url, json=body, headers=match) for body in bodies))
        assert sorted(response.status for response in responses) == [status] + [412] * 19
    assert (await body_of(await api.get(URL)))["revision"] == revision + 2


async def test_of_many_creators_at_once_one_is_heard(api: Client) -> None:
    bodies = [SCHEDULE | {"queue": f"q{number}"} for number in range(20)]
    headers = {"If-None-Match": "*"}
    responses = await asyncio.gather(*(api.put(URL, json=body, headers=headers) for body in bodies))
    assert sorted(response.status for response in responses) == [201] + [412] * 19
