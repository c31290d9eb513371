"""Every code of the API comes up in a situation of its own, with its documented status. A new code needs a row here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientResponse

from headgate import SkipTick
from headgate.connect import connect
from headgate.errors import Code, Conflict
from headgate.hooks import Hooks
from headgate.http import body, make_api, turns
from headgate.http.access import Access, Caller, Role, Tokens
from headgate.http.listener import Limits
from headgate.http.problems import STATUS
from headgate.http.stream import add_hub
from headgate.models import QueueLimits
from headgate.settings import Settings
from headgate.store import Store
from tests.http.client import JOB, SCHEDULE, Client, enqueue, job_url, key, periodic, quiet, raw, serving, serving_app
from tests.support.servers import PrivateServer
from tests.support.worlds import World

TOKEN = "hg_" + "0" * 30
JOBS, S = "/api/v1/jobs", periodic("s")
Ask = Callable[[Client], Awaitable[ClientResponse]]


def put(**change: Any) -> Ask:
    return lambda api: api.put(S, json=SCHEDULE | change)


def get(path: str, **headers: str) -> Ask:
    return lambda api: api.get(path, headers=headers)


def post(path: Any, json: Any = None, **headers: str) -> Ask:
    return lambda api: api.post(path, json=json, headers=headers)


async def reused(api: Client) -> ClientResponse:
    await api.post(JOBS, json=JOB, headers=key())
    return await api.post(JOBS, json=JOB | {"kind": "other"}, headers=key())


async def with_other_content(api: Client) -> ClientResponse:
    await enqueue(api, "j")
    return await api.post(JOBS, json=JOB | {"id": "j", "kind": "other"}, headers=key())


async def not_paused(api: Client) -> ClientResponse:
    await put()(api)
    return await api.post(f"{S}/resume")


async def key_held(api: Client) -> ClientResponse:
    await enqueue(api, "first", unique_key="k")
    await api.post(job_url("first", "/cancel"))
    await enqueue(api, "second", unique_key="k")
    return await api.post(job_url("first", "/retry"))


async def in_another_state(api: Client) -> ClientResponse:
    await enqueue(api, "j")
    return await api.post(job_url("j", "/retry"))


async def stale(api: Client) -> ClientResponse:
    await put()(api)
    return await api.put(S, json=SCHEDULE, headers={"If-Match": '"7"'})


async def barred(api: Client) -> ClientResponse:
    await enqueue(api, "j")
    fingerprint = (await (await api.get(job_url("j"))).json())["fingerprint"]
    await api.put(f"/api/v1/quarantine/{fingerprint}")
    return await api.post(JOBS, json=JOB, headers=key("other"))


ORDINARY: dict[Code, Ask] = {
    Code.INVALID_REQUEST: put(priority=101),
    Code.INVALID_SPEC: put(spec="0 9 * *"),
    Code.INVALID_SYNTAX: lambda api: api.put(S, data="{", headers={"Content-Type": "application/json"}),
    Code.INVALID_SHAPE: put(unknown=1),
    Code.INVALID_CURSOR: get("/api/v1/periodic?cursor=x"),
    Code.IDEMPOTENCY_KEY_MISSING: post(JOBS, JOB),
    Code.IDEMPOTENCY_KEY_REUSED: reused,
    Code.CROSS_SITE: post(f"{S}/pause", Origin="http://elsewhere.example"),
    Code.SCHEDULE_NOT_FOUND: get(S),
    Code.JOB_NOT_FOUND: get(f"{JOBS}/j"),
    Code.QUEUE_NOT_FOUND: get("/api/v1/queues/q"),
    Code.QUARANTINE_NOT_FOUND: lambda api: api.delete(f"/api/v1/quarantine/{0:032x}"),
    Code.ROUTE_NOT_FOUND: get("/api/v1/nothing"),
    Code.METHOD_NOT_ALLOWED: get(f"{S}/run"),
    Code.ID_CONFLICT: with_other_content,
    Code.NOT_PAUSED: not_paused,
    Code.UNIQUE_KEY_HELD: key_held,
    Code.JOB_STATE: in_another_state,
    Code.REVISION_MISMATCH: stale,
    Code.TOO_LARGE: put(payload="x" * 1_048_576),
    Code.UNSUPPORTED_MEDIA_TYPE: lambda api: api.put(S, data="{}", headers={"Content-Type": "text/plain"}),
    Code.EXPECTATION_FAILED: get(S, Expect="miracles"),
    Code.QUARANTINED: barred,
}


async def answered(ask: Ask, store: Store, hooks: Hooks | None = None, **options: Any) -> tuple[int, str]:
    async with serving(store, hooks, **options) as api:
        return await told(await ask(api))


async def told(response: ClientResponse) -> tuple[int, str]:
    problem = await response.json(content_type="application/problem+json")
    return response.status, problem["code"]


async def many_jobs(world: World, _: pytest.MonkeyPatch) -> tuple[int, str]:
    await world.store.queues.set_limits("default", QueueLimits(max_unfinished=0))
    return await answered(post(JOBS, JOB, **key()), world.store)


async def hook(world: World, error: Exception) -> tuple[int, str]:
    async def before(_: object) -> None:
        raise error

    hooks = Hooks()
    hooks.before.append(before)

    async def ask(api: Client) -> ClientResponse:
        await put()(api)
        return await api.post(f"{S}/run", headers=key())

    return await answered(ask, world.store, hooks)


async def skips(world: World, _: pytest.MonkeyPatch) -> tuple[int, str]:
    return await hook(world, SkipTick("no"))


async def raises(world: World, _: pytest.MonkeyPatch) -> tuple[int, str]:
    return await hook(world, RuntimeError("no"))


async def no_token(world: World, _: pytest.MonkeyPatch) -> tuple[int, str]:
    return await answered(get("/api/v1/workers"), world.store, access=Access(tokens=Tokens(TOKEN)))


async def nothing_to_write(world: World, _: pytest.MonkeyPatch) -> tuple[int, str]:
    return await answered(put(), world.store, access=Access(read_only=True))


async def another_host(world: World, _: pytest.MonkeyPatch) -> tuple[int, str]:
    access = Access(allowed_hosts=frozenset())
    return await answered(get("/api/v1/workers", Host="rebound.example"), world.store, access=access)


async def guesses(world: World, _: pytest.MonkeyPatch) -> tuple[int, str]:
    async with serving(world.store, access=Access(tokens=Tokens(TOKEN))) as api:
        answers = [await api.post("/api/v1/session", json={"token": "wrong"}) for _attempt in range(11)]
        return await told(answers[-1])


async def slow_body(world: World, patch: pytest.MonkeyPatch) -> tuple[int, str]:
    patch.setattr(body, "_READ_SECONDS", 0.02)
    head = b"PUT /api/v1/periodic/s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    async with serving(world.store) as api:
        answer = await raw(api, head)
    assert b'"code":"request_timeout"' in answer
    return int(answer.split(b" ", 2)[1]), "request_timeout"


async def too_busy(world: World, patch: pytest.MonkeyPatch) -> tuple[int, str]:
    patch.setattr(turns, "MAX_AT_ONCE", 0)
    patch.setattr(turns, "MAX_WAITING", 0)
    return await answered(get("/api/v1/workers"), world.store)


async def lost_races(world: World, patch: pytest.MonkeyPatch) -> tuple[int, str]:
    async def put_in_vain(*_: object, **__: object) -> None:
        raise Conflict("others changed it each time")

    patch.setattr(world.store.schedules, "put", put_in_vain)
    return await answered(put(), world.store)


async def unexpected(world: World, patch: pytest.MonkeyPatch) -> tuple[int, str]:
    async def overview() -> None:
        raise RuntimeError

    patch.setattr(world.store.leases, "overview", overview)
    return await answered(get("/api/v1/duties"), world.store)


async def foreign(world: World, _: pytest.MonkeyPatch) -> tuple[int, str]:
    await world.client.set(world.keys("schedule", "s"), "x")
    try:
        return await answered(get(S), world.store)
    finally:
        await world.client.delete(world.keys("schedule", "s"))


async def nobody_there(_: World, __: pytest.MonkeyPatch) -> tuple[int, str]:
    async with away() as store:
        return await answered(get(S), store)


@asynccontextmanager
async def away() -> AsyncIterator[Store]:
    client = connect("redis://127.0.0.1:1", Settings())
    yield Store(client)
    await client.aclose()


async def a_viewer(world: World, patch: pytest.MonkeyPatch) -> tuple[int, str]:
    patch.setattr(Access, "identify", lambda *_: Caller("vera", Role.VIEWER))
    return await answered(put(), world.store, access=Access(tokens=Tokens(TOKEN)))


async def full_house(world: World, _: pytest.MonkeyPatch) -> tuple[int, str]:
    app = make_api(lambda: world.store, quiet)
    add_hub(app, quiet, world.store.leases.overview, Limits(listeners=1))
    async with serving_app(app, app) as api, api.get("/api/v1/stream"):
        return await told(await api.get("/api/v1/stream"))


STAGED: dict[Code, Callable[[World, pytest.MonkeyPatch], Awaitable[tuple[int, str]]]] = {
    Code.UNAUTHORIZED: no_token,
    Code.FORBIDDEN: a_viewer,
    Code.READ_ONLY: nothing_to_write,
    Code.REQUEST_TIMEOUT: slow_body,
    Code.CONFLICT: lost_races,
    Code.HOOK_SKIPPED: skips,
    Code.HOST_NOT_ALLOWED: another_host,
    Code.BACKPRESSURE: many_jobs,
    Code.TOO_MANY_ATTEMPTS: guesses,
    Code.STORE_ERROR: foreign,
    Code.HOOK_ERROR: raises,
    Code.INTERNAL_ERROR: unexpected,
    Code.STORE_UNAVAILABLE: nobody_there,
    Code.OVERLOADED: too_busy,
    Code.TOO_MANY_STREAMS: full_house,
}


def test_each_code_has_a_situation() -> None:
    assert {*ORDINARY, *STAGED, Code.STORE_FULL} == set(STATUS)


@pytest.mark.filterwarnings("ignore:Sending a large body directly")
@pytest.mark.parametrize("code", ORDINARY)
async def test_a_code_of_a_request(api: Client, code: Code) -> None:
    assert await told(await ORDINARY[code](api)) == (STATUS[code], code)


@pytest.mark.parametrize("code", STAGED)
async def test_a_code_of_a_situation(world: World, monkeypatch: pytest.MonkeyPatch, code: Code) -> None:
    assert await STAGED[code](world, monkeypatch) == (STATUS[code], code)


async def test_the_code_of_a_full_store(own_server: PrivateServer) -> None:
    world = World(own_server.url, "full")
    await world.client.config_set("maxmemory", "1")
    assert await answered(put(), world.store) == (STATUS[Code.STORE_FULL], Code.STORE_FULL)
    await world.close()
