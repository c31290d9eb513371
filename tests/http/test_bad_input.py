"""Bad input: a typed problem that names the field and the rule; nothing stored, no payload logged."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from yarl import URL

from tests.http.client import JOB, SCHEDULE, SECRET, Client, key, periodic, problem_of
from tests.support.worlds import World

SCHEDULE_URL = "/api/v1/periodic/s"
EVENTS_URL = "/api/v1/periodic/s/enqueue-events"
TYPE = {"Content-Type": "application/json"}
MIB = 1_048_576


class Case(NamedTuple):
    """A request, and the problem it must get."""

    name: str
    status: int
    code: str
    field: str
    rule: str
    """Words of the detail that state the rule."""
    method: str
    url: str
    options: dict[str, Any]


def put(name: str, status: int, code: str, field: str, rule: str, **change: Any) -> Case:
    """A good schedule with one thing wrong."""
    return Case(name, status, code, field, rule, "PUT", SCHEDULE_URL, {"json": SCHEDULE | change})


def bad_spec(name: str, spec: str, rule: str) -> Case:
    return put(name, 400, "invalid_spec", "spec", rule, spec=spec)


def bad_value(field: str, value: object, rule: str) -> Case:
    return put(f"{field}={str(value)[:20]}", 400, "invalid_request", field, rule, **{field: value})


def bad_shape(field: str, value: object, rule: str) -> Case:
    return put(f"{field}:{str(value)[:20]}", 422, "invalid_shape", field, rule, **{field: value})


def bad_body(name: str, status: int, code: str, field: str, *, rule: str, data: object, **headers: str) -> Case:
    return Case(name, status, code, field, rule, "PUT", SCHEDULE_URL, {"data": data, "headers": TYPE | headers})


def bad_id(name: str, quoted: str, method: str, rest: str = "") -> Case:
    url = URL(f"/api/v1/periodic/{quoted}{rest}", encoded=True)
    options = {"json": SCHEDULE} if method == "PUT" else {"headers": key()}
    return Case(f"id {name} {method}", 400, "invalid_request", "id", "", method, str(url), options)


def bad_query(name: str, code: str, field: str, rule: str, url: str) -> Case:
    return Case(name, 400, code, field, rule, "GET", url, {})


def bad_job(name: str, status: int, code: str, field: str, rule: str, **options: Any) -> Case:
    return Case(name, status, code, field, rule, "POST", "/api/v1/jobs", {"json": JOB} | options)


def nested(levels: int) -> str:
    return f'{{"kind":"k","spec":"@every:1","payload":{"[" * levels}"{SECRET}"{"]" * levels}}}'


def text(payload: str) -> str:
    return f'{{"kind":"k","spec":"@every:1","payload":{{"a":"{SECRET}","b":{payload}}}}}'


CASES = [
    bad_spec("unknown zone", "CRON_TZ=Mars/Olympus 0 9 * * *", "time zone"),
    bad_spec("no interval", "@every:0", "must be 1 to"),
    bad_spec("negative", "@every:-5", "digits only"),
    bad_spec("overflow", "@every:99999999999999999999999", "must be 1 to"),
    bad_spec("huge", "@every:" + "9" * 900, "must be 1 to"),
    bad_spec("seven fields", "0 0 9 * * * 2027", "7 fields"),
    bad_spec("never fires", "0 0 30 2 *", "never fire"),
    bad_spec("control character", "0 9 * *\u0000*", "U+0000"),
    bad_spec("lone surrogate", "0 9 * * \ud800", "U+D800"),
    bad_spec("10 kB", "0 9 * * " + "1," * 5_000 + "1", "the limit is 1024"),
    bad_spec("empty", "", "fields"),
    *(bad_value("kind", value, "") for value in ("", "a b", "k" * 129, "é", "a\nb", "\ud800")),
    *(bad_value("queue", value, "") for value in ("", "a/b", "q" * 129)),
    *(bad_value("backfill_limit", value, "1 to 1000") for value in (0, 1001, -1, 10**30)),
    *(bad_value("priority", value, "-100 to 100") for value in (-101, 101)),
    *(bad_value("max_attempts", value, "1 to 100") for value in (0, 101)),
    *(bad_value("timeout_ms", value, "1 to") for value in (0, -1, 10**15)),
    *(bad_value("retention_ms", value, "0 to") for value in (-1, 10**15)),
    *(bad_value("on_missed", value, "skip, run_once, backfill") for value in ("never", "", "\ud800", SECRET)),
    bad_value("payload", "\ud800", "JSON"),
    *(bad_shape("kind", value, "str") for value in (1, None, [1])),
    *(bad_shape("spec", value, "str") for value in (1, None, {"a": 1})),
    *(bad_shape("priority", value, "int") for value in ("1", 1.5, True, None)),
    *(bad_shape("on_missed", value, "str") for value in (1, None, [SECRET])),
    *(bad_shape("paused", value, "bool") for value in ("true", 1, None)),
    *(bad_shape(field, "\ud800", "surrogate") for field in ("priority", "paused")),
    put("unknown field", 422, "invalid_shape", "retries", "the fields are", retries=1),
    put("unknown field, strange name", 422, "invalid_shape", "\\ud800", "the fields are", **{"\ud800": 1}),
    put("unknown field, long name", 422, "invalid_shape", "x" * 60 + "…", "the fields are", **{"x" * 1000: 1}),
    put("payload over 1 MiB", 413, "too_large", "payload", "1048576", payload=SECRET + "x" * MIB),
    bad_body("missing kind", 422, "invalid_shape", "kind", rule="required", data='{"spec":"@every:1"}'),
    bad_body("missing spec", 422, "invalid_shape", "spec", rule="required", data='{"kind":"k"}'),
    bad_body("not an object", 422, "invalid_shape", "body", rule="object", data=f'["{SECRET}"]'),
    bad_body("not JSON", 400, "invalid_syntax", "body", rule="JSON", data=f"kind={SECRET}"),
    bad_body("empty", 400, "invalid_syntax", "body", rule="JSON", data=b""),
    bad_body("cut off", 400, "invalid_syntax", "body", rule="JSON", data=f'{{"kind":"k","payload":"{SECRET}'),
    bad_body("not UTF-8", 400, "invalid_syntax", "body", rule="JSON", data=b'{"kind":"\xff"}'),
    bad_body("byte order mark", 400, "invalid_syntax", "body", rule="JSON", data=b"\xef\xbb\xbf{}"),
    *(
        bad_body(word, 400, "invalid_syntax", "body", rule="JSON", data=text(word))
        for word in ("NaN", "Infinity", "-Infinity")
    ),
    bad_body("too large a number", 400, "invalid_request", "payload", rule="JSON", data=text("1e999")),
    bad_body("5,000 digits", 400, "invalid_syntax", "body", rule="JSON", data=text("9" * 5_000)),
    bad_body("100 levels", 400, "invalid_request", "body", rule="67 levels", data=nested(100)),
    bad_body("100,000 levels", 400, "invalid_request", "body", rule="67 levels", data=nested(100_000)),
    bad_body("body over 2 MiB", 413, "too_large", "body", rule="2097152", data=SECRET.encode() * 150_000),
    bad_body(
        "text",
        415,
        "unsupported_media_type",
        "Content-Type",
        rule="application/json",
        data="{}",
        **{"Content-Type": "text/x"},
    ),
    bad_body(
        "gzip",
        415,
        "unsupported_media_type",
        "Content-Encoding",
        rule="compressed",
        data=b"x",
        **{"Content-Encoding": "gzip"},
    ),
    *(
        bad_id(name, quoted, *route)
        for name, quoted in (
            ("blank", "a%20b"),
            ("slash", "a%2Fb"),
            ("not ASCII", "%C3%A9"),
            ("not UTF-8", "%ff"),
            ("NUL", "%00"),
            ("line end", "a%0D%0Ab"),
            ("percent", "a%2525"),
            ("201 bytes", "a" * 201),
            ("5 kB", "a" * 5_000),
        )
        for route in (
            *(("PUT",), ("GET",), ("DELETE",)),
            *(("POST", f"/{what}") for what in ("run", "pause", "resume", "backfill")),
            *(("GET", f"/{what}") for what in ("enqueue-events", "manual-runs", "changes", "gaps")),
            *(("GET", f"/{what}") for what in ("explain", "upcoming")),
        )
    ),
    *(
        bad_query(f"limit={limit}", "invalid_request", "limit", "1 to 100", f"{EVENTS_URL}?limit={limit}")
        for limit in (0, 101, -1)
    ),
    *(
        bad_query(f"limit={limit[:9]}", "invalid_request", "limit", "whole number", f"{EVENTS_URL}?limit={limit}")
        for limit in ("", "1.0", "1_0", "%2B1", "1e1", "%D9%A1", "x", "9" * 5_000)
    ),
    *(
        bad_query(f"list limit={limit}", "invalid_request", "limit", "1 to 200", f"/api/v1/periodic?limit={limit}")
        for limit in (0, 201)
    ),
    bad_query("limit twice", "invalid_request", "limit", "twice", f"{EVENTS_URL}?limit=1&limit=2"),
    *(
        bad_query(f"cursor={cursor[:9]} {url}", "invalid_cursor", "cursor", "gave out", f"{url}?cursor={cursor}")
        for url in ("/api/v1/periodic", EVENTS_URL, "/api/v1/periodic/s/manual-runs", "/api/v1/periodic/s/changes")
        for cursor in ("x", "MTI", "%00", "%F0%9F%98%80", "A" * 4_000, "c2NoZWR1bGVzCg", "ZXZlbnRzL3MKLTE")
    ),
    bad_query("unknown parameter", "invalid_request", "limits", "takes: limit, cursor", f"{EVENTS_URL}?limits=1"),
    bad_query(
        "unknown flag", "invalid_request", "include_payload", "true or false", "/api/v1/jobs/j?include_payload=1"
    ),
    bad_query("unknown parameter of none", "invalid_request", "x", "none", "/api/v1/duties?x=1"),
    bad_query("job id", "invalid_request", "id", "job id", "/api/v1/jobs/a%20b"),
    bad_job("no key", 400, "idempotency_key_missing", "Idempotency-Key", "required"),
    bad_job("empty key", 400, "idempotency_key_missing", "Idempotency-Key", "required", headers=key("")),
    bad_job("blank in key", 400, "invalid_request", "Idempotency-Key", "printable", headers=key("a b")),
    bad_job("key not ASCII", 400, "invalid_request", "Idempotency-Key", "printable", headers=key("é")),
    bad_job("long key", 400, "invalid_request", "Idempotency-Key", "1 to 200", headers=key("k" * 201)),
    bad_job(
        "two keys", 400, "invalid_request", "Idempotency-Key", "twice", headers=[*key("a").items(), *key("b").items()]
    ),
    bad_job(
        "spec of a job", 422, "invalid_shape", "spec", "not a field", json=JOB | {"spec": "@every:1"}, headers=key()
    ),
    bad_job("kind of a job", 400, "invalid_request", "kind", "kind", json=JOB | {"kind": " "}, headers=key()),
    Case(
        "run without key", 400, "idempotency_key_missing", "Idempotency-Key", "", "POST", "/api/v1/periodic/s/run", {}
    ),
    Case(
        *("run with a field", 422, "invalid_shape", "payload", "the fields are: by"),
        *("POST", "/api/v1/periodic/s/run", {"json": {"payload": SECRET}, "headers": key()}),
    ),
]


LARGE = pytest.mark.filterwarnings("ignore:Sending a large body directly")


@LARGE
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_bad_input_is_refused(api: Client, world: World, caplog: pytest.LogCaptureFixture, case: Case) -> None:
    caplog.set_level(logging.DEBUG)
    response = await api.request(case.method, URL(case.url, encoded=True), **case.options)
    problem = await problem_of(response, case.status, case.code, case.field)
    assert case.rule in problem["detail"]
    assert len(problem["detail"]) < 500
    assert SECRET not in json.dumps(problem)
    assert await world.client.keys(f"{world.keys.root}*") == []
    assert SECRET not in caplog.text


async def test_a_chunked_body_over_2_mib_is_refused(
    api: Client, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield SECRET.encode() * 4_000

    caplog.set_level(logging.DEBUG)
    response = await api.put(SCHEDULE_URL, data=pieces(), headers=TYPE)
    await problem_of(response, 413, "too_large", "body")
    assert await world.client.keys(f"{world.keys.root}*") == []
    assert SECRET not in caplog.text


@LARGE
async def test_the_largest_payload_is_taken(api: Client) -> None:
    largest = SCHEDULE | {"payload": "x" * (MIB - 2)}
    assert (await api.put(periodic("s"), json=largest)).status == 201


async def test_a_content_type_may_have_parameters(api: Client) -> None:
    data = json.dumps(SCHEDULE)
    for content_type in ("application/json; charset=utf-8", "Application/JSON;x=y", "application/json ; ;"):
        response = await api.put(SCHEDULE_URL, data=data, headers={"Content-Type": content_type})
        assert response.status in (200, 201)


async def test_refused_input_leaves_a_schedule_as_it_was(api: Client) -> None:
    await api.put(SCHEDULE_URL, json=SCHEDULE)
    before = await (await api.get(SCHEDULE_URL)).json()
    for change in ({"spec": "@every:0"}, {"backfill_limit": 0}, {"retries": 1}, {"priority": "1"}):
        assert (await api.put(SCHEDULE_URL, json=SCHEDULE | change)).status in (400, 422)
    assert await (await api.get(SCHEDULE_URL)).json() == before
