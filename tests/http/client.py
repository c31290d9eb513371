"""What the HTTP tests share: an application on a real port, and what every problem must look like."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from headgate.hooks import Hooks
from headgate.http import SERVER_OPTIONS, make_api
from headgate.store import Store
from tests.http.contract import watch
from tests.support.worlds import World

SECRET = "words-of-a-payload"
"""Part of every payload that is sent; it must never be found in a log."""

SCHEDULE = {"kind": "report", "spec": "@every:60000", "payload": {"note": SECRET}}
JOB = {"kind": "report", "payload": {"note": SECRET}}

Client = TestClient[web.Request, web.Application]


@asynccontextmanager
async def serving(
    store: Store, hooks: Hooks | None = None, *, watched: bool = True, **options: Any
) -> AsyncIterator[Client]:
    """A client of an application that is served as the product serves it; every answer must keep the contract."""
    app = make_api(lambda: store, quiet, hooks, **options)
    async with serving_app(app, app if watched else None) as client:
        yield client


@asynccontextmanager
async def serving_app(app: web.Application, api: web.Application | None) -> AsyncIterator[Client]:
    """The same of any application; `api` is what of it keeps the contract, not mounted yet."""
    broken = watch(api) if api else []
    server = TestServer(app)
    await server.start_server(**SERVER_OPTIONS)
    async with TestClient(server) as client:
        yield client
    assert not broken, broken[:3]


async def quiet(_: object) -> None:
    """Tells of no change."""
    await asyncio.Event().wait()


def periodic(schedule_id: str, rest: str = "") -> str:
    return f"/api/v1/periodic/{quote(schedule_id, safe='')}{rest}"


def job_url(job_id: str, rest: str = "") -> URL:
    return URL(f"/api/v1/jobs/{quote(job_id, safe='')}{rest}", encoded=True)


def queue_url(queue: str, rest: str = "") -> str:
    return f"/api/v1/queues/{queue}{rest}"


def key(text: str = "key-1") -> dict[str, str]:
    return {"Idempotency-Key": text}


async def body_of(response: ClientResponse, status: int = 200) -> Any:
    """The JSON of an answer that must have this status."""
    assert response.status == status, await response.text()
    assert response.content_type == "application/json"
    check_headers(response)
    return await response.json()


async def enqueue(client: Client, job_id: str, **options: Any) -> str:
    """Queue a job under this id."""
    body = JOB | {"id": job_id} | options
    enqueued = await body_of(await client.post("/api/v1/jobs", json=body, headers=key(job_id[:200])), 201)
    assert enqueued == {"job_id": job_id, "replayed": False, "duplicate": False}
    return job_id


async def pages(client: Client, url: str, name: str, **params: str) -> AsyncIterator[list[Any]]:
    """The pages of a list, each asked for when it is wanted; none shows words of a payload."""
    beside = {"next_cursor", "examined"} if name == "schedules" else {"next_cursor"}
    cursor = ""
    while cursor is not None:
        page = await body_of(await client.get(url, params=params | {"cursor": cursor}))
        assert set(page) == {name} | beside
        assert SECRET not in str(page)
        assert all("payload" not in each for each in page[name])
        yield page[name]
        cursor = page["next_cursor"]


async def problem_of(response: ClientResponse, status: int, code: str, field: str | None = None) -> dict[str, Any]:
    """The problem in an answer; its form is checked as well."""
    assert response.status == status, await response.text()
    assert response.content_type == "application/problem+json"
    check_headers(response)
    problem: dict[str, Any] = await response.json(content_type="application/problem+json")
    assert problem["type"] == "about:blank"
    assert problem["title"]
    assert problem["detail"]
    assert problem["status"] == status
    assert problem["request_id"] == response.headers["X-Request-Id"]
    assert problem["code"] == code
    assert problem.get("field") == field
    return problem


async def stored(world: World) -> dict[str, bytes]:
    """Everything of the namespace, to be compared with what is there later."""
    return {name: await world.client.dump(name) for name in sorted(await world.client.keys(f"{world.keys.root}*"))}


def check_headers(response: ClientResponse) -> None:
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["X-Request-Id"]


async def raw(client: Client, request: bytes, *, close: bool = False) -> bytes:
    """What comes back when these bytes are sent; with `close`, the sender ends its side at once."""
    reader, writer = await asyncio.open_connection(client.host, client.port)
    try:
        writer.write(request)
        await writer.drain()
        if close:
            writer.write_eof()
        async with asyncio.timeout(5):
            return await reader.read(65536)
    finally:
        writer.close()
