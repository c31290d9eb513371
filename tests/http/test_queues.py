"""Queues over HTTP: how they stand, pause and resume, and their limits."""

from __future__ import annotations

import pytest

from headgate.models import JobState
from tests.http.client import Client, body_of, enqueue, pages, problem_of, queue_url
from tests.support.worlds import START_MS, World

NO_LIMITS = {"max_concurrent": None, "max_unfinished": None, "rate_limit": None}


async def admitted(world: World, queue: str = "default") -> list[str]:
    found = await world.store.attempts.admit("worker-1", [queue], 10, 60_000)
    return [claim.id for claim in found.claims]


async def test_a_queue_shows_its_counts_and_limits(api: Client, world: World) -> None:
    await enqueue(api, "runs")
    assert await admitted(world) == ["runs"]
    await enqueue(api, "waits")
    await enqueue(api, "later", delay_ms=60_000)
    counts = dict.fromkeys(map(str, JobState), 0) | {"running": 1, "available": 1, "scheduled": 1}
    queue = {"name": "default", "paused": False, "paused_since_ms": None, "limits": NO_LIMITS, "counts": counts}
    assert await body_of(await api.get(queue_url("default"))) == queue
    assert await body_of(await api.get("/api/v1/queues")) == {"queues": [queue], "next_cursor": None}


async def test_queues_are_listed_by_name_while_others_come(api: Client) -> None:
    for name in ("c", "a", "e", "b", "d"):
        await enqueue(api, name, queue=name)
    seen: list[str] = []
    async for page in pages(api, "/api/v1/queues", "queues", limit="2"):
        seen += [queue["name"] for queue in page]
        await (await api.post(queue_url("A", "/pause"))).read()
    assert seen == ["a", "b", "c", "d", "e"]


async def test_a_paused_queue_takes_jobs_and_lets_none_begin_until_it_is_resumed(
    moved_api: Client, moved: World
) -> None:
    paused = await body_of(await moved_api.post(queue_url("default", "/pause")))
    assert (paused["paused"], paused["paused_since_ms"]) == (True, START_MS)
    await enqueue(moved_api, "j")
    await moved.advance(1_000)
    again = await body_of(await moved_api.post(queue_url("default", "/pause"), json={}))
    assert again["paused_since_ms"] == START_MS
    assert await admitted(moved) == []
    resumed = await body_of(await moved_api.post(queue_url("default", "/resume"), json={}))
    assert (resumed["paused"], resumed["paused_since_ms"]) == (False, None)
    assert await admitted(moved) == ["j"]


async def test_limits_are_replaced_as_a_whole(api: Client, world: World) -> None:
    full = {"max_concurrent": 1, "max_unfinished": 5, "rate_limit": {"limit": 7, "window_ms": 500, "burst": 2}}
    assert (await body_of(await api.put(queue_url("default", "/limits"), json=full)))["limits"] == full
    await enqueue(api, "a")
    await enqueue(api, "b")
    assert await admitted(world) == ["a"]
    for limits, expected in (
        ({"rate_limit": {"limit": 9}}, NO_LIMITS | {"rate_limit": {"limit": 9, "window_ms": 1_000, "burst": 9}}),
        ({"max_concurrent": 0, "rate_limit": None}, NO_LIMITS | {"max_concurrent": 0}),
        ({"max_concurrent": None}, NO_LIMITS),
        ({}, NO_LIMITS),
    ):
        answered = await body_of(await api.put(queue_url("default", "/limits"), json=limits))
        assert answered["limits"] == expected
        assert await body_of(await api.get(queue_url("default"))) == answered
    assert await admitted(world) == ["b"]


@pytest.mark.parametrize("name", ["...", "a.b_c-D", "0", "q" * 128, "pause"])
async def test_every_name_of_the_alphabet_has_its_urls(api: Client, name: str) -> None:
    await problem_of(await api.get(queue_url(name)), 404, "queue_not_found")
    assert (await body_of(await api.post(queue_url(name, "/resume"))))["name"] == name
    assert (await body_of(await api.put(queue_url(name, "/limits"), json={})))["name"] == name
    assert (await body_of(await api.get(queue_url(name))))["name"] == name
