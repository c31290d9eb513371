"""The store away or full: 503 within its deadline, a hint when to come back, and the truth about liveness."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from headgate.http.table import ROUTES
from headgate.settings import Settings
from tests.http.client import JOB, SCHEDULE, Client, body_of, enqueue, job_url, key, periodic, problem_of, serving
from tests.support.servers import PrivateServer
from tests.support.worlds import World, wait_until

DEADLINE_MS = 60
REQUESTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("GET", "/api/v1/periodic", {}),
    ("GET", periodic("s"), {}),
    ("PUT", periodic("s"), {"json": SCHEDULE | {"paused": True}}),
    ("DELETE", periodic("s"), {}),
    ("POST", periodic("s", "/run"), {"headers": key()}),
    ("GET", periodic("s", "/enqueue-events"), {}),
    ("GET", periodic("s", "/manual-runs"), {}),
    ("GET", periodic("s", "/changes"), {}),
    ("GET", periodic("s", "/gaps"), {}),
    ("GET", periodic("s", "/upcoming"), {}),
    ("GET", periodic("s", "/explain?tick_ms=0"), {}),
    ("GET", "/api/v1/upcoming?until_ms=253402300799999", {}),
    ("GET", "/api/v1/periodic?label=team&paused=false&failing=false", {}),
    ("POST", periodic("s", "/pause"), {}),
    ("POST", periodic("s", "/resume"), {}),
    ("POST", periodic("s", "/backfill"), {"json": {"after_ms": 0, "until_ms": 1}, "headers": key()}),
    ("POST", "/api/v1/specs/preview", {"json": {"spec": "@every:60000"}}),
    ("POST", "/api/v1/jobs", {"json": JOB, "headers": key()}),
    ("POST", "/api/v1/jobs/batch", {"json": {"jobs": [JOB]}, "headers": key()}),
    ("GET", "/api/v1/jobs?queue=default&state=available", {}),
    ("GET", "/api/v1/jobs?periodic_schedule_id=s", {}),
    ("GET", "/api/v1/jobs/j", {}),
    ("DELETE", "/api/v1/jobs/j", {}),
    ("POST", "/api/v1/jobs/j/retry", {}),
    ("POST", "/api/v1/jobs/j/cancel", {}),
    ("GET", "/api/v1/jobs/j/admission", {}),
    ("GET", "/api/v1/queues", {}),
    ("GET", "/api/v1/queues/default", {}),
    ("POST", "/api/v1/queues/default/pause", {}),
    ("POST", "/api/v1/queues/default/resume", {}),
    ("PUT", "/api/v1/queues/default/limits", {"json": {}}),
    ("GET", "/api/v1/quarantine", {}),
    ("PUT", f"/api/v1/quarantine/{0:032x}", {}),
    ("DELETE", f"/api/v1/quarantine/{0:032x}", {}),
    ("GET", "/api/v1/workers", {}),
    ("GET", "/api/v1/duties", {}),
    ("GET", "/api/v1/meta", {}),
)
OTHERS = {"GET /readyz", "GET /metrics", "POST /api/v1/periodic/bulk"}
"""Which say so in words of their own."""


def test_every_route_that_needs_the_store_is_among_them() -> None:
    asked = {f"{method} {re.sub(TAIL, '', path)}" for method, path, _ in REQUESTS}
    needed = {f"{route.method} {re.sub('{.*?}', '*', route.path)}" for route in ROUTES if route.store}
    known = {re.sub("/(s|j|default|0{32})(?=/|$)", "/*", text) for text in asked}
    assert needed - OTHERS == known


TAIL = r"\?.*"


@pytest.fixture
async def lone(own_server: PrivateServer) -> AsyncIterator[World]:
    """A namespace on a server of its own, with a short deadline."""
    world = World(own_server.url, "lone", settings=Settings(call_timeout_ms=DEADLINE_MS))
    yield world
    await world.close()


@pytest.fixture
async def lone_api(lone: World) -> AsyncIterator[Client]:
    async with serving(lone.store) as client:
        yield client


async def check_all_unavailable(api: Client) -> None:
    for method, path, options in REQUESTS:
        started = time.monotonic()
        response = await api.request(method, path, **options)
        # A harmless call is sent twice, and each may first have to connect.
        assert time.monotonic() - started < DEADLINE_MS / 1000 * 4 + 0.5
        await problem_of(response, 503, "store_unavailable")
        assert response.headers["Retry-After"] == "1"
    response = await api.get("/readyz")
    unknown = {"ready": False, "checks": {"store": "store_unavailable", "scheduler": "unknown"}}
    assert await body_of(response, 503) == unknown
    assert (await api.get("/healthz")).status == 200


async def test_a_stopped_store_is_unavailable_and_comes_back(own_server: PrivateServer, lone_api: Client) -> None:
    await body_of(await lone_api.put(periodic("s"), json=SCHEDULE), 201)
    own_server.signal(signal.SIGSTOP)
    try:
        await check_all_unavailable(lone_api)
    finally:
        own_server.signal(signal.SIGCONT)

    async def back() -> bool:  # it still has what was asked of it meanwhile to answer
        checks = (await body_of(await lone_api.get("/readyz"), 503))["checks"]
        return bool(checks == {"store": "ok", "scheduler": "vacant"})

    await wait_until(back)


async def test_a_killed_store_is_unavailable_and_comes_back(own_server: PrivateServer, lone_api: Client) -> None:
    await body_of(await lone_api.put(periodic("s"), json=SCHEDULE), 201)
    own_server.kill()
    await check_all_unavailable(lone_api)
    own_server.start()
    assert (await body_of(await lone_api.get("/api/v1/duties")))["store_time_ms"] > 0


async def test_a_full_store_refuses_writes_and_answers_reads(lone: World, lone_api: Client) -> None:
    await body_of(await lone_api.put(periodic("s"), json=SCHEDULE), 201)
    await enqueue(lone_api, "j")
    await lone.own_the_duty(lone.scheduler())
    await lone.client.config_set("maxmemory", "1")
    for method, path, options in (
        ("PUT", periodic("t"), {"json": SCHEDULE}),
        ("POST", periodic("s", "/run"), {"headers": key()}),
        ("POST", periodic("s", "/pause"), {}),
        ("POST", "/api/v1/jobs", {"json": JOB, "headers": key()}),
        ("POST", "/api/v1/jobs/batch", {"json": {"jobs": [JOB]}, "headers": key()}),
    ):
        response = await lone_api.request(method, path, **options)
        await problem_of(response, 503, "store_full")
        assert response.headers["Retry-After"] == "1"
    for method, path, _ in REQUESTS:
        if method == "GET":
            await body_of(await lone_api.get(path))
    for word in ("cancel", "retry", "cancel"):
        await body_of(await lone_api.post(job_url("j", f"/{word}")))
    assert (await lone_api.delete(job_url("j"))).status == 204
    full = {"ready": False, "checks": {"store": "store_full", "scheduler": "held"}}
    assert await body_of(await lone_api.get("/readyz"), 503) == full
    await lone.client.config_set("maxmemory", "0")
    assert (await lone_api.get("/readyz")).status == 200
