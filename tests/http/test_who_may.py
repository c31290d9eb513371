"""Who may use which route: nobody known, a viewer, an operator, and anybody where nothing may be written."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse
from yarl import URL

from headgate.errors import Code
from headgate.http import make_api
from headgate.http.access import Access, Role, Tokens
from headgate.http.problems import STATUS
from headgate.http.route import IF_MATCH, Route
from headgate.http.table import ROUTES
from headgate.store.hints import Heed, Hint
from tests.http.client import (
    SCHEDULE,
    Client,
    body_of,
    enqueue,
    key,
    periodic,
    problem_of,
    raw,
    serving,
    serving_app,
    stored,
)
from tests.support.worlds import World

VIEWER, OPERATOR = "hg_viewers-own-token-000", "hg_operators-own-token-0"


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


PUBLIC = ["GET /healthz", "GET /readyz", "GET /api/v1/openapi.json", "GET /docs/api"]
PUBLIC += ["POST /api/v1/session", "DELETE /api/v1/session"]
GUARDED = [route for route in ROUTES if route.role is not None]
WRITES = [route for route in ROUTES if route.writes]


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    file, text = tmp_path / "tokens.toml", ""
    for name, role, token in (("vera", "viewer", VIEWER), ("otto", "operator", OPERATOR)):
        digest = hashlib.sha256(token.encode()).hexdigest()
        text += f'[tokens.{name}]\nrole = "{role}"\nsha256 = "{digest}"\n'
    file.write_text(text)
    file.chmod(0o600)
    return Tokens(file=file)


@pytest.fixture
async def api(world: World, tokens: Tokens) -> AsyncIterator[Client]:
    async with serving(world.store, access=Access(tokens=tokens)) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def ask(api: Client, route: Route, headers: dict[str, str]) -> ClientResponse:
    """A request of that route which may well be refused for what it says."""
    path = route.path
    for name, value in (("id", "s"), ("queue", "default"), ("fingerprint", "0" * 32)):
        path = path.replace(f"{{{name}}}", value)
    body: dict[str, Any] = {"json": {}} if route.body else {}
    return await api.request(route.method, path, headers=headers | key(), **body)


async def code_of(response: ClientResponse) -> str | None:
    if response.content_type != "application/problem+json":
        return None
    problem: dict[str, Any] = await response.json(content_type=None)
    assert problem["status"] == response.status
    return str(problem["code"])


def test_few_routes_are_for_everybody() -> None:
    assert sorted(name_of(route) for route in ROUTES if route.role is None) == sorted(PUBLIC)


def test_what_writes_is_for_operators_and_all_that_does_not_is_named() -> None:
    assert all((route.role is Role.OPERATOR) == route.writes for route in GUARDED)
    harmless = {"POST /api/v1/specs/preview", "POST /api/v1/session", "DELETE /api/v1/session"}
    assert {name_of(route) for route in ROUTES if route.method != "GET" and not route.writes} == harmless


@pytest.mark.parametrize("route", GUARDED, ids=name_of)
@pytest.mark.parametrize("headers", [{}, bearer("hg_nobodys-own-token-000"), {"Authorization": f"Basic {OPERATOR}"}])
async def test_nobody_known_may_use_no_route(api: Client, world: World, route: Route, headers: dict[str, str]) -> None:
    before = await stored(world)
    response = await ask(api, route, headers)
    assert response.headers["WWW-Authenticate"] == "Bearer"
    await problem_of(response, 401, "unauthorized")
    assert await stored(world) == before


@pytest.mark.parametrize("route", GUARDED, ids=name_of)
async def test_a_viewer_may_look_and_an_operator_may_do_all(api: Client, world: World, route: Route) -> None:
    before = await stored(world)
    async with AsyncExitStack() as stack:
        for_viewer = await stack.enter_async_context(await ask(api, route, bearer(VIEWER)))
        assert (await code_of(for_viewer) == Code.FORBIDDEN) == route.writes
        assert await stored(world) == before
        for_operator = await stack.enter_async_context(await ask(api, route, bearer(OPERATOR)))
        assert await code_of(for_operator) not in (Code.UNAUTHORIZED, Code.FORBIDDEN, Code.READ_ONLY)


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
@pytest.mark.parametrize("asks", [True, False], ids=["with tokens", "without"])
async def test_where_nothing_may_be_written_nothing_is(world: World, tokens: Tokens, route: Route, asks: bool) -> None:
    await world.store.queues.pause("default")
    access = Access(tokens=tokens if asks else None, read_only=True)
    async with serving(world.store, access=access) as api:
        before = await stored(world)
        async with await ask(api, route, bearer(OPERATOR)) as response:
            code = await code_of(response)
        assert (code == Code.READ_ONLY) == route.writes
        assert await stored(world) == before
        assert (await body_of(await api.get("/api/v1/meta", headers=bearer(OPERATOR))))["read_only"] is True


async def test_who_did_what_stands_in_the_log_of_changes_under_the_tokens_name(api: Client) -> None:
    otto = bearer(OPERATOR)
    assert (await api.put(periodic("s"), json=SCHEDULE, headers=otto)).status == 201
    assert (await api.post(periodic("s", "/pause"), json={"by": "zoe"}, headers=otto)).status == 200
    assert (await api.post(periodic("s", "/resume"), headers=otto | {"X-Headgate-By": "otto"})).status == 200
    bulk = {"action": "pause", "ids": ["s"], "by": "z" * 200}
    assert (await api.post("/api/v1/periodic/bulk", json=bulk, headers=otto)).status == 200
    assert (await api.post(periodic("s", "/run"), headers=otto | key())).status == 202
    changes = (await body_of(await api.get(periodic("s", "/changes"), headers=bearer(VIEWER))))["changes"]
    *others, shortened = [change["by"] for change in reversed(changes)]
    assert others == ["otto", "otto (zoe)", "otto"]
    assert shortened == f"otto ({'z' * 192}…)"
    assert len(shortened) == 200
    [run] = (await body_of(await api.get(periodic("s", "/manual-runs"), headers=otto)))["runs"]
    assert run["by"] == "otto"


async def test_a_session_stands_for_its_token(api: Client) -> None:
    await problem_of(await api.get("/api/v1/session"), 401, "unauthorized")
    refused = await api.post("/api/v1/session", json={"token": "hg_nobodys-own-token-000"})
    await problem_of(refused, 401, "unauthorized", "token")
    response = await api.post("/api/v1/session", json={"token": VIEWER})
    vera = {"name": "vera", "role": "viewer", "asked": True}
    assert await body_of(response) == vera
    cookie = response.headers["Set-Cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/;", "Max-Age=43200"))
    assert "Secure" not in cookie
    assert VIEWER not in cookie
    assert await body_of(await api.get("/api/v1/session")) == vera
    assert (await api.get("/api/v1/periodic")).status == 200
    await problem_of(await api.put(periodic("s"), json=SCHEDULE), 403, "forbidden")
    assert (await api.delete("/api/v1/session")).status == 204
    await problem_of(await api.get("/api/v1/periodic"), 401, "unauthorized")


@pytest.mark.parametrize(("forwarded", "secure"), [("https", True), ("HTTPS, http", True), ("http, https", False)])
async def test_a_session_below_a_path_and_over_https_is_for_there_alone(
    world: World, tokens: Tokens, forwarded: str, *, secure: bool
) -> None:
    """Of several proxies, the first one named is the browser's."""
    async with serving(world.store, access=Access(tokens=tokens), root_path="/headgate") as api:
        headers = {"X-Forwarded-Proto": forwarded}
        cookie = (await api.post("/api/v1/session", json={"token": VIEWER}, headers=headers)).headers["Set-Cookie"]
        assert "Path=/headgate;" in cookie
        assert ("Secure" in cookie) is secure


async def test_where_nobody_is_asked_everybody_is_an_operator(world: World) -> None:
    async with serving(world.store) as api:
        session = await body_of(await api.get("/api/v1/session"))
        assert session == {"name": "", "role": "operator", "asked": False}
        response = await api.post("/api/v1/session", json={"token": VIEWER})
        await problem_of(response, 400, "invalid_request", "token")


async def test_log_ins_are_limited_and_tokens_are_not(api: Client) -> None:
    for _ in range(10):
        await api.post("/api/v1/session", json={"token": "hg_nobodys-own-token-000"})
    limited = await api.post("/api/v1/session", json={"token": OPERATOR})
    await problem_of(limited, 429, "too_many_attempts")
    assert 1 <= int(limited.headers["Retry-After"]) <= 60
    assert (await api.get("/api/v1/periodic", headers=bearer(OPERATOR))).status == 200


@pytest.mark.parametrize("route", WRITES, ids=name_of)
async def test_no_other_sites_page_makes_a_browser_write(world: World, route: Route) -> None:
    async with serving(world.store) as api:
        await enqueue(api, "s")
        before = await stored(world)
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://elsewhere.example"}, {"Origin": "null"}):
            await problem_of(await ask(api, route, headers), 403, "cross_site")
        assert await stored(world) == before
        async with await ask(api, route, {"Sec-Fetch-Site": "same-origin"}) as response:
            assert await code_of(response) != Code.CROSS_SITE


@pytest.mark.parametrize("route", GUARDED, ids=name_of)
async def test_a_name_that_was_pointed_here_leads_nowhere(world: World, route: Route) -> None:
    access = Access(allowed_hosts=frozenset({"headgate.example"}))
    async with serving(world.store, access=access) as api:
        await problem_of(await ask(api, route, {"Host": "rebound.example"}), 421, "host_not_allowed", "Host")
        for host in ("localhost:8420", "127.0.0.1", "[::1]:1", "Headgate.Example."):
            async with await ask(api, route, {"Host": host}) as response:
                assert await code_of(response) != Code.HOST_NOT_ALLOWED


def test_every_refusal_has_its_status() -> None:
    assert [STATUS[code] for code in (Code.UNAUTHORIZED, Code.FORBIDDEN, Code.READ_ONLY)] == [401, 403, 403]


async def test_strangers_hold_no_large_body(api: Client) -> None:
    json_type = {"Content-Type": "application/json"}
    refused = await api.post("/api/v1/session", data=b" " * 5_000, headers=json_type)
    await problem_of(refused, 413, "too_large", "body")
    answer = await raw(
        api,
        b"POST /api/v1/session HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    )
    assert b" 413 " in answer.split(b"\r\n")[0]


async def test_who_may_not_is_not_invited_to_send_a_body(api: Client) -> None:
    for length, wanted in ((9, b" 401 "), (3_000_000, b" 401 ")):
        head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
        answer = await raw(api, head + f"Content-Length: {length}\r\n\r\n".encode())
        assert wanted in answer.split(b"\r\n")[0]
        assert b"100 Continue" not in answer


async def test_what_says_one_thing_is_said_once(api: Client, world: World) -> None:
    twice = [("Authorization", f"Bearer {OPERATOR}"), ("Authorization", f"Bearer {VIEWER}")]
    await problem_of(await api.get("/api/v1/periodic", headers=twice), 400, "invalid_request", "Authorization")
    async with serving(world.store) as open_api:
        sites = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")]
        await problem_of(
            await open_api.put(periodic("s"), json=SCHEDULE, headers=sites), 400, "invalid_request", "Sec-Fetch-Site"
        )


@pytest.mark.parametrize("route", [route for route in WRITES if IF_MATCH not in route.headers], ids=name_of)
async def test_a_condition_that_is_not_heeded_is_refused(world: World, route: Route) -> None:
    """Whoever insists on a revision must not be passed over."""
    async with serving(world.store) as api:
        before = await stored(world)
        for name in ("If-Match", "If-None-Match"):
            await problem_of(await ask(api, route, {name: "*"}), 400, "invalid_request", name)
        assert await stored(world) == before


async def test_a_stream_ends_with_its_token(world: World, tokens: Tokens, tmp_path: Path) -> None:
    follow, told = asyncio.Event(), []

    async def heard(heed: Heed) -> None:
        told.append(heed)
        follow.set()
        await asyncio.Event().wait()

    app = make_api(lambda: world.store, heard, access=Access(tokens=tokens))
    async with serving_app(app, app) as api, api.get("/api/v1/stream", headers=bearer(VIEWER)) as response:
        await follow.wait()
        assert b"event: reset" in await response.content.readuntil(b"reset")
        (tmp_path / "tokens.toml").write_text("")
        tokens._looked_at = float("-inf")
        told[0]([Hint("schedule", "s", 7)])
        assert b"schedule.changed" not in await response.content.read()


async def test_the_head_of_a_stream_is_a_head(world: World) -> None:
    async with serving(world.store) as api:
        for _ in range(3):
            response = await api.head("/api/v1/stream")
            assert (response.status, response.content_type) == (200, "text/event-stream")
            assert await response.read() == b""


async def test_probes_ask_nobody(api: Client) -> None:
    headers = {"Host": "whatever.example", "Authorization": "nonsense"}
    assert (await api.get(URL("/healthz"), headers=headers)).status == 200
