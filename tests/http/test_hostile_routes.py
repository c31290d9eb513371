"""Every route there is, with segments and bodies that nobody means well with: never a 500, now or at a later look."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headgate.http.table import ROUTES as TABLE
from tests.http.client import SECRET, Client, enqueue, raw

SEGMENTS = [
    *(
        "%",
        "%zz",
        "%00",
        "%ff",
        "%0D%0Aa",
        "%2e%2e%2f",
        "..%2f..%2freadyz",
        "%ed%a0%80",
        "%C3%A9",
        "\xff",
        "a;b=c",
        "~",
    ),
    *("{}", "{id}", "%7B%7D", "%s", "a:b@c", "*", "[", "-1", "None", "a" * 5_000, "%F0%9F%98%80", "%25", "sched-s-1"),
]
JUNK: list[Any] = [
    *(None, True, 0, -0.0, 0.5, -1, 10**40, -(10**400), "", "1", "\0\n", "é" * 1_000, "x" * 100_000, "{u}:*?[a]"),
    *([], [[]], [None], ["\ud800"], [{}], [{"kind": None}], {}, {"": ""}, {"a": {}}, {"\ud800": "a"}, {"a": "\ud800"}),
    *({"__class__": "x"}, {"limit": None}, {"limit": 10**40}, {"limit": 1, "burst": -0.0}, "\ud83d\ude00", "\ud800"),
]
MODELS = {(route.method, route.path): route.body for route in TABLE if route.body}


def bodies(method: str, path: str) -> list[Any]:
    """Junk alone, and in place of each field."""
    model = MODELS.get((method, path))
    required = {"kind": "k", "spec": "@every:60000", "after_ms": 0, "until_ms": 1}
    names = model.__struct_fields__ if model else ()
    good = {name: value for name, value in required.items() if name in names}
    return [*JUNK, *(good | {name: junk} for name in names for junk in JUNK)]


ROUTES = sorted((route.method, route.path) for route in TABLE)


def test_every_resource_is_among_the_routes() -> None:
    resources = {path.split("/")[3] for _, path in ROUTES if path.startswith("/api/v1/")}
    assert resources == {
        *("periodic", "specs", "upcoming", "jobs", "queues", "quarantine", "workers", "duties"),
        *("meta", "session", "stream", "openapi.json"),
    }


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path in ROUTES if "{" in path])
async def test_no_segment_is_a_500(api: Client, method: str, path: str) -> None:
    before, _, rest = path.partition("{")
    end = b" HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\nConnection: close\r\n\r\n"
    for segment in SEGMENTS:
        target = f"{before}{segment}{rest.partition('}')[2]}".encode("latin-1")
        answer = await raw(api, method.encode() + b" " + target + end)
        assert 200 <= int(answer.split(b" ", 2)[1]) < 500, segment


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if route[0] in ("POST", "PUT", "DELETE")])
async def test_no_body_is_a_500(api: Client, method: str, path: str, caplog: pytest.LogCaptureFixture) -> None:
    await enqueue(api, "j")
    url = path.replace("{id}", "j").replace("{queue}", "q").replace("{fingerprint}", "0" * 32)
    assert "{" not in url
    for number, value in enumerate([*bodies(method, path), {"payload": SECRET, "priority": SECRET}]):
        headers = {"Content-Type": "application/json", "Idempotency-Key": f"k-{number}"}
        response = await api.request(method, url, data=json.dumps(value), headers=headers)
        assert response.status < 500, value
    for look in ("jobs?queue=default&state=available", "queues", "quarantine", "workers", "periodic"):
        assert (await api.get(f"/api/v1/{look}")).status == 200
    assert SECRET not in caplog.text
