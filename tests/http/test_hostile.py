"""Requests nobody means well with: never a 500, never words of a body in a log, never a connection held for ever."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from headgate.http import body
from tests.http.client import SCHEDULE, SECRET, Client, periodic, raw
from tests.support.worlds import World

BODY = json.dumps(SCHEDULE).encode()
PUT = b"PUT /api/v1/periodic/s HTTP/1.1\r\nHost: h\r\n"

TARGETS = [
    b"/api/v1/periodic/%",
    b"/api/v1/periodic/%zz",
    b"/api/v1/periodic/\xff\xfe",
    b"/api/v1/periodic/\xc3\xa9",
    b"/api/v1/periodic/..%2f..%2fetc%2fpasswd",
    b"/api/v1/periodic/../../readyz",
    b"/api/v1/periodic/%ed%a0%80",
    b"/api/v1/periodic/a;b=c",
    b"/api/v1/periodic?cursor=%ed%a0%80",
    b"/api/v1/periodic?cursor=\xff",
    b"/api/v1/periodic?%ff=%00",
    b"/api/v1/periodic?&&&=&limit",
    b"/api/v1/periodic#fragment",
    b"http://elsewhere:99999/api/v1/periodic",
    b"http://[::1/api/v1/periodic",
    b"*",
    b"//[/x",
    b"?",
    b"/" + b"a/" * 3_000,
]
HEADERS = [
    b"Idempotency-Key: \xff\xfe",
    b"X-Request-Id: \xff",
    b"Content-Type: application/json; charset*=x''%ff; charset=\"",
    b"Content-Type: \xff/\xff; boundary=",
    b"Content-Length: 99999999999999999999",
    b"Content-Length: -1",
    b"Transfer-Encoding: nonsense",
    b"Content-Encoding: nonsense",
    b"Expect: \xff",
    b"Host: \xff:x",
    b"Host: [",
    b"Cookie: \xff=\xff; ;;=",
    b"Range: bytes=x-",
    b"If-Modified-Since: \xff",
    b"Upgrade: websocket\r\nConnection: upgrade",
    b"Accept-Encoding: \xff",
    b"Authorization: " + b"x" * 5_000,
    b"If-Match: \xff",
    b'If-Match: "' + b"9" * 5_000,
    b"If-Match: *\r\nIf-Match: *",
    b"If-None-Match: *\r\nIf-None-Match: \xff",
    b"X-Headgate-By: \xff\xfe",
    b"X-Headgate-By: \xe2\x80\xae\xed\xa0\x80",
]


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize("target", TARGETS, ids=range(len(TARGETS)))
@pytest.mark.parametrize("method", [b"GET", b"PUT", b"CONNECT"])
async def test_no_target_is_a_500(api: Client, method: bytes, target: bytes) -> None:
    answer = await raw(api, method + b" " + target + b" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert 200 <= status_of(answer) < 500


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
@pytest.mark.parametrize(
    "start",
    [
        b"GET /api/v1/periodic",
        b"POST /api/v1/periodic/s/run",
        b"PUT /api/v1/periodic/s",
        b"DELETE /api/v1/periodic/s",
        b"POST /api/v1/periodic/s/pause",
        b"POST /api/v1/periodic/s/resume",
        b"POST /api/v1/periodic/s/backfill",
    ],
)
async def test_no_header_is_a_500(api: Client, start: bytes, header: bytes) -> None:
    request = start + b" HTTP/1.1\r\nConnection: close\r\n" + header + b"\r\n\r\n"
    assert 200 <= status_of(await raw(api, request)) < 500


@pytest.mark.parametrize(
    "request_text",
    [
        PUT + b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n" + BODY,
        PUT + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n" + BODY + b"\r\n0\r\n\r\n",
        PUT + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + BODY,
        PUT + b"Content-Type: application/json\r\nContent-Length: 99999\r\n\r\n" + BODY,
        BODY + b"\r\n\r\n",
        PUT + BODY + b"\r\n\r\n",
        b"\x16\x03\x01" + BODY,
    ],
    ids=["short length", "short chunk", "no chunk", "long length", "no request", "no header", "TLS"],
)
async def test_wrong_framing_is_refused_and_logs_no_body(
    api: Client, world: World, caplog: pytest.LogCaptureFixture, request_text: bytes
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = await raw(api, request_text, close=True)
    assert answer == b"" or status_of(answer) in (400, 422)
    assert SECRET not in caplog.text
    assert "Traceback" not in caplog.text
    assert await world.client.keys(f"{world.keys.root}*") == []


async def test_a_body_that_does_not_arrive_is_given_up(
    api: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "_READ_SECONDS", 0.02)
    head = PUT + b"Content-Type: application/json\r\nContent-Length: 999\r\n\r\n"
    answer = await raw(api, head + BODY)
    assert status_of(answer) == 408
    assert b'"code":"request_timeout"' in answer
    assert await world.client.keys(f"{world.keys.root}*") == []


async def test_many_at_once_are_each_answered(api: Client) -> None:
    responses = await asyncio.gather(*(api.put(periodic(f"s{number}"), json=SCHEDULE) for number in range(100)))
    assert {response.status for response in responses} == {201}
