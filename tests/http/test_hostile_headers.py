"""Headers that begin as good ones and were then spoilt, byte by byte: never a 500, and nobody is let in by one."""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator

import pytest

from headgate.http.access import Access, Tokens, allowed_hosts
from tests.http.client import SCHEDULE, Client, raw, serving
from tests.support.worlds import World

TOKEN = "hg_of-an-operator-in-these-tests-0123456789"
SPOILT = 40
"""How many spoilt values of each header each request is sent with."""

ODD = [
    *(b"", b" ", b"\t", b"\x00", b"\x0b", b"\x7f", b"\x80", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xe2\x80\xae"),
    *(
        b'"',
        b"'",
        b"\\",
        b"*",
        b",",
        b";",
        b"=",
        b":",
        b"/",
        b"%",
        b"%00",
        b"%zz",
        b"[",
        b"]",
        b"@",
        b"null",
        b"-1",
        b"0",
    ),
    *(b"9" * 30, b"a" * 3_000, b"\xc2\xb2", b"\xd9\xa3", b"W/", b"Bearer ", b"basic ", b"https://", b"::1", b"."),
]
GOOD: dict[str, list[bytes]] = {
    "If-Match": [b'"1"', b"1", b"*", b'W/"1"', b'"1", "2"'],
    "If-None-Match": [b"*", b'"1"'],
    "Idempotency-Key": [b"key-1", b"k" * 200],
    "Host": [b"127.0.0.1:8420", b"localhost", b"[::1]:8420", b"headgate.example.org", b"a.b:65535"],
    "Origin": [b"http://localhost:8420", b"https://headgate.example.org", b"null", b"http://[::1]:80"],
    "Sec-Fetch-Site": [b"same-origin", b"none", b"cross-site"],
    "Authorization": [b"Bearer " + TOKEN.encode(), b"Basic YTpi"],
    "X-Request-Id": [b"abc-1", b"r" * 64],
    "X-Forwarded-Proto": [b"https", b"http, https"],
    "X-Headgate-By": [b"ann", b"w" * 200],
    "Content-Type": [b"application/json", b"application/json; charset=utf-8"],
    "Content-Encoding": [b"identity", b"gzip"],
    "Expect": [b"100-continue"],
    "Accept-Encoding": [b"gzip, br;q=0.5"],
}
BODY = json.dumps(SCHEDULE).encode()
LOG_IN = json.dumps({"token": TOKEN}).encode()
REQUESTS = [
    (b"GET /api/v1/periodic", b""),
    (b"GET /healthz", b""),
    (b"PUT /api/v1/periodic/s", BODY),
    (b"POST /api/v1/periodic/s/pause", b""),
    (b"POST /api/v1/periodic/s/run", b"{}"),
    (b"POST /api/v1/periodic/bulk", b'{"action": "run", "ids": ["s"]}'),
    (b"POST /api/v1/session", LOG_IN),
    (b"DELETE /api/v1/session", b""),
    (b"GET /api/v1/session", b""),
]


def spoil(value: bytes, by: random.Random) -> bytes:
    """One to three small changes."""
    for _ in range(by.randint(1, 3)):
        place = by.randint(0, len(value))
        match by.randrange(5):
            case 0:
                value = value[:place] + by.choice(ODD) + value[place:]
            case 1:
                value = value[:place] + bytes([by.randrange(256)]) + value[place + 1 :]
            case 2:
                value = value[:place]
            case 3:
                value = value[place:] + value[:place]
            case _:
                value = value + by.choice((b", ", b"; ", b"")) + value
    return value.replace(b"\r", b"").replace(b"\n", b"")


async def ask(api: Client, start: bytes, body: bytes, headers: dict[str, bytes]) -> tuple[int, bytes]:
    """Status and head of what is answered."""
    sent = {"Host": b"localhost", "Authorization": b"Bearer " + TOKEN.encode(), "Idempotency-Key": b"k"}
    sent |= {"Content-Type": b"application/json", "Content-Length": b"%d" % len(body), "Connection": b"close"} | headers
    lines = [start + b" HTTP/1.1", *(name.encode() + b": " + value for name, value in sent.items()), b"", body]
    answer = await raw(api, b"\r\n".join(lines))
    return int(answer.split(b" ", 2)[1]), answer.partition(b"\r\n\r\n")[0]


@pytest.fixture
async def guarded(world: World) -> AsyncIterator[Client]:
    access = Access(tokens=Tokens(TOKEN), allowed_hosts=allowed_hosts(["headgate.example.org"]))
    async with serving(world.store, access=access) as client:
        yield client


async def test_each_request_is_heard_as_it_is_sent_here(guarded: Client) -> None:
    """Else the rest of this file would be about refusals alone."""
    statuses = [(await ask(guarded, start, body, {}))[0] for start, body in REQUESTS]
    assert statuses == [200, 200, 201, 200, 202, 200, 200, 204, 200]


@pytest.mark.parametrize("name", GOOD)
async def test_no_spoilt_header_is_a_500(guarded: Client, name: str) -> None:
    by = random.Random(name)
    for start, body in REQUESTS:
        for _ in range(SPOILT):
            value = spoil(by.choice(GOOD[name]), by)
            status, head = await ask(guarded, start, body, {name: value})
            assert 100 <= status < 500, (start, value, head)


async def test_no_spoilt_token_lets_anybody_in(guarded: Client) -> None:
    by = random.Random("token")
    right = b"Bearer " + TOKEN.encode()
    for _ in range(500):
        value = spoil(right, by)
        status, _ = await ask(guarded, b"GET /api/v1/periodic", b"", {"Authorization": value})
        assert status in (400, 401) or value.split() == right.split(), value


async def test_no_spoilt_session_lets_anybody_in(guarded: Client) -> None:
    """Letters of no base64, and the last bits of the last one, mean nothing: spelt so, it is the same session."""
    _, head = await ask(guarded, b"POST /api/v1/session", LOG_IN, {})
    (set_cookie,) = (line for line in head.split(b"\r\n") if line.lower().startswith(b"set-cookie: "))
    cookie = set_cookie.partition(b": ")[2].partition(b";")[0]
    assert (await session_of(guarded, cookie)) == 200
    by = random.Random("session")
    for _ in range(500):
        spoilt = spoil(cookie, by)
        assert await session_of(guarded, spoilt) in (400, 401) or letters(cookie)[:-1] in letters(spoilt), spoilt


async def session_of(api: Client, cookie: bytes) -> int:
    start = b"GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: "
    return int((await raw(api, start + cookie + b"\r\n\r\n")).split(b" ", 2)[1])


def letters(text: bytes) -> bytes:
    return re.sub(rb"[^A-Za-z0-9_.=-]", b"", text)


async def test_no_spoilt_name_of_a_request_comes_back(guarded: Client) -> None:
    """Headers of an answer are never made of what cannot stand in one."""
    by = random.Random("name")
    for _ in range(300):
        sent = spoil(b"abc-1", by)
        status, head = await ask(guarded, b"GET /healthz", b"", {"X-Request-Id": sent})
        assert status == 400 or len(re.findall(rb"\r\nX-Request-Id: [\w.-]{1,64}(?=\r\n|$)", head)) == 1, (sent, head)
