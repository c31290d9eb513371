"""What is no HTTP request: a problem like any other, which repeats nothing of it, and then the connection ends."""

from __future__ import annotations

import json
import logging

import pytest

from tests.http.served import ended, serving_on_a_port
from tests.metrics.conftest import counted
from tests.support.worlds import World

SECRET = "words-of-a-head"
REQUESTS = [
    b"GET /api/v1/periodic?cursor=" + b"a" * 9_000 + SECRET.encode() + b" HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\nX-A: " + SECRET.encode() + b"\x00\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: h\r\n" + SECRET.encode() + b"\r\n\r\n",
    b"\x16\x03\x01" + SECRET.encode() + b"\r\n\r\n",
    b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: " + SECRET.encode() + b"\r\n\r\n",
]


@pytest.mark.parametrize("request_bytes", REQUESTS, ids=["long", "NUL", "no header", "TLS", "no length"])
async def test_it_is_a_problem_that_repeats_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, request_bytes: bytes
) -> None:
    caplog.set_level(logging.DEBUG)
    before = unreadable_heads()
    async with serving_on_a_port(world, monkeypatch) as served:
        reader, writer = await served.connect()
        writer.write(request_bytes)
        answer = await ended(reader)
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.0 400 Bad Request"
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    assert headers["content-type"].startswith("application/problem+json")
    assert (headers["server"], headers["cache-control"]) == ("headgate", "no-store")
    problem = json.loads(body)
    assert (problem["status"], problem["code"]) == (400, "invalid_syntax")
    assert problem["request_id"] == headers["x-request-id"]
    assert SECRET not in answer.decode()
    assert SECRET not in caplog.text
    assert unreadable_heads() == before + 1, "it came before any route, and counts"


def unreadable_heads() -> float:
    return counted("headgate_http_requests_total", method="other", route="", status="400")
