"""What answers, store time on every answer, and an API that stands below a path or inside another application."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

import headgate
from headgate.connect import connect
from headgate.errors import InvalidRequest
from headgate.http import create_app, make_api
from headgate.http.storetime import StoreTime
from headgate.settings import Settings
from headgate.store import Store
from tests.http.client import JOB, SCHEDULE, Client, body_of, key, periodic, problem_of, quiet, serving, serving_app
from tests.http.contract import watch
from tests.http.served import Gate
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

TIME = "X-Headgate-Store-Time"


async def test_meta_says_what_answers(moved: World, server: PrivateServer) -> None:
    async with serving(moved.store, environment="staging") as api:
        meta = await body_of(await api.get("/api/v1/meta"))
    store, limits = meta.pop("store"), meta.pop("limits")
    assert meta == {
        "version": headgate.__version__,
        "namespace": moved.namespace,
        "environment": "staging",
        "read_only": False,
        "store_time_ms": START_MS,
        "lease_ttl_ms": 5_000,
    }
    assert store["kind"] == server.kind
    assert store["version"][0].isdecimal()
    assert all(isinstance(warning, str) for warning in store["warnings"])
    assert limits == {
        "body_bytes": 2_097_152,
        "payload_bytes": 1_048_576,
        "json_levels": 64,
        "page": 200,
        "batch": 200,
        "backfill_ticks": 1_000,
        "events": 100,
    }


async def test_every_answer_has_store_time(moved_api: Client) -> None:
    for response in (
        await moved_api.get("/api/v1/workers"),
        await moved_api.put(periodic("s"), json=SCHEDULE),
        await moved_api.put(periodic("s"), json={}),
        await moved_api.get(periodic("none")),
        await moved_api.delete(periodic("s")),
        await moved_api.get("/healthz"),
        await moved_api.get("/no/such/route"),
        await moved_api.get("/docs/api"),
    ):
        assert START_MS <= int(response.headers[TIME]) < START_MS + 60_000, response


async def test_store_time_is_asked_for_once_a_second_and_carried_on() -> None:
    clock, store, asked = 100.0, 5_000_000, 0

    async def ask() -> int:
        nonlocal asked
        asked += 1
        return store

    times = StoreTime(ask, lambda: clock)
    seen = [times.now_ms]
    for _ in range(3):
        if task := times.refresh():
            await task
    seen.append(times.now_ms)
    clock += 0.9
    assert times.refresh() is None
    seen.append(times.now_ms)
    clock, store = clock + 0.1, 7_000_000  # a failover to a store whose clock is ahead
    task = times.refresh()
    assert task is not None
    assert times.refresh() is task, "one question at a time"
    await task
    seen.append(times.now_ms)
    assert seen == [None, 5_000_000, 5_000_900, 7_000_000]
    assert asked == 2


async def test_only_the_first_answer_waits_for_store_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """From then on there is one to carry on, and a question that takes long keeps no answer back."""
    monkeypatch.setattr("headgate.http.storetime._FRESH_SECONDS", 0.0)
    monkeypatch.setattr(world.store, "time_ms", gate := Gate(world.store.time_ms))
    async with asyncio.timeout(10), serving(world.store) as api:
        first = asyncio.create_task(api.get("/api/v1/periodic"))
        await gate.holds(1)
        gate.open()
        assert TIME in (await first).headers
        gate.close()
        assert TIME in (await api.get("/api/v1/periodic")).headers
        assert gate.inside == 1
        gate.open()


async def test_a_store_that_was_never_heard_gives_no_time() -> None:
    client = connect("redis://127.0.0.1:1", Settings())
    async with serving(Store(client)) as api:
        response = await api.get("/api/v1/workers")
        await problem_of(response, 503, "store_unavailable")
        assert TIME not in response.headers
        assert (await api.get("/healthz")).status == 200
    await client.aclose()


async def test_links_name_the_path_below_which_a_proxy_has_it(world: World) -> None:
    async with serving(world.store, root_path="/headgate") as api:
        response = await api.post("/api/v1/jobs", json=JOB | {"id": "a{b"}, headers=key())
        assert response.headers["Location"] == "/headgate/api/v1/jobs/a%7Bb"


@pytest.mark.parametrize("root_path", ["headgate", "/headgate/", "/", "/a\n", "/a b", "//a", "/a?b", "/a/../b"])
def test_a_root_path_is_a_path(root_path: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        make_api(lambda: pytest.fail("no store is needed"), quiet, root_path=root_path)
    assert caught.value.field == "root_path"


async def test_an_application_mounts_it_behind_its_own_authentication(world: World) -> None:
    @web.middleware
    async def own(request: web.Request, handler: Handler) -> web.StreamResponse:
        return await handler(request) if request.headers.get("X-Pass") == "yes" else web.Response(status=418)

    app = headgate.Headgate(world.url, namespace=world.namespace)
    api = create_app(app)
    host = web.Application(middlewares=[own])
    broken = watch(api)
    host.add_subapp("/admin/headgate", api)
    yes = {"X-Pass": "yes"}
    async with serving_app(host, None) as client:
        prefix = "/admin/headgate"
        assert (await client.get(f"{prefix}/api/v1/workers")).status == 418
        await problem_of(await client.get(f"{prefix}/api/v1/workers", headers=yes), 503, "store_unavailable")
        async with app:
            assert (await client.get(f"{prefix}/api/v1/workers", headers=yes)).status == 200
            response = await client.post(f"{prefix}/api/v1/jobs", json=JOB, headers=yes | key())
            job_id = (await body_of(response, 201))["job_id"]
            assert response.headers["Location"] == f"{prefix}/api/v1/jobs/{job_id}"
            found: dict[str, Any] = await body_of(await client.get(response.headers["Location"], headers=yes))
            assert found["id"] == job_id
            document = await (await client.get(f"{prefix}/api/v1/openapi.json", headers=yes)).json()
            assert document["servers"] == [{"url": prefix}]
            await problem_of(await client.get(f"{prefix}/no/such/route", headers=yes), 404, "route_not_found")
    assert broken == []


async def test_hooks_of_the_application_have_their_say(world: World) -> None:
    app = headgate.Headgate(world.url, namespace=world.namespace)

    @app.before_enqueue
    async def refuse(_: headgate.Enqueueing) -> None:
        raise headgate.SkipTick("not today")

    async with app, serving_app(create_app(app), None) as client:
        assert (await client.put(periodic("s"), json=SCHEDULE)).status == 201
        await problem_of(await client.post(periodic("s", "/run"), headers=key()), 409, "hook_skipped")
