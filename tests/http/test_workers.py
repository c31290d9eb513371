"""Workers over HTTP: the processes that live, as their heartbeats say."""

from __future__ import annotations

import json

from tests.http.client import Client, body_of, pages, problem_of
from tests.support.worlds import START_MS, World

WORKERS = "/api/v1/workers"
ABOUT = {
    "host": "h",
    "pid": "7",
    "version": "1.0",
    "seen_at_ms": str(START_MS),
    "queues": json.dumps(["default"]),
    "kinds": json.dumps(["report"]),
    "concurrency": "4",
    "running": "2",
}


async def beat(world: World, process_id: str, about: dict[str, str] = ABOUT) -> None:
    await world.store.leases.heartbeat(process_id, [], about, ttl_ms=5_000)


async def test_workers_are_listed_with_what_they_work_on_for_as_long_as_they_live(
    moved_api: Client, moved: World
) -> None:
    await beat(moved, "w")
    await beat(moved, "schedules-alone", {"host": "h"})
    (worker,) = (await body_of(await moved_api.get(WORKERS)))["workers"]
    assert worker.pop("seen_at_ms") == START_MS
    assert worker == {
        "id": "w",
        "host": "h",
        "pid": 7,
        "version": "1.0",
        "queues": ["default"],
        "kinds": ["report"],
        "concurrency": 4,
        "running": 2,
    }
    await moved.advance(60_000)
    assert await body_of(await moved_api.get(WORKERS)) == {"workers": [], "next_cursor": None}


async def test_workers_are_listed_by_id(moved_api: Client, moved: World) -> None:
    for name in ("c", "a", "b"):
        await beat(moved, name)
    found = [[worker["id"] for worker in page] async for page in pages(moved_api, WORKERS, "workers", limit="2")]
    assert found == [["a", "b"], ["c"]]


async def test_a_forged_cursor_is_refused(api: Client) -> None:
    for cursor in ("x", "MTI", "A" * 4_000):
        await problem_of(await api.get(WORKERS, params={"cursor": cursor}), 400, "invalid_cursor", "cursor")
