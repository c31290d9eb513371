"""What is refused of schedules: a typed problem that names the field and the rule; nothing stored changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.client import SCHEDULE, SECRET, Client, body_of, key, periodic
from tests.http.refusals import Refusal, check_sent
from tests.support.worlds import START_MS, World

FIRES, STANDS = periodic("fires"), periodic("stands")
LATER = START_MS + 600_000


def bad(method: str, url: str, field: str, rule: str, body: Any = None, **headers: str) -> Refusal:
    name = f"{method} {url.removeprefix('/api/v1')} {str(body)[:60]} {str(headers)[:40]}"
    return Refusal(name, 400, "invalid_request", field, rule, method, url, body, headers)


def bad_type(url: str, field: str, value: object, rule: str, **others: Any) -> Refusal:
    name = f"{url.removeprefix('/api/v1')} {field}:{str(value)[:20]}"
    return Refusal(name, 422, "invalid_shape", field, rule, "POST", url, others | {field: value})


def bad_put(field: str, value: object, rule: str, **others: Any) -> Refusal:
    return bad("PUT", FIRES, field, rule, SCHEDULE | others | {field: value})


def bad_range(field: str, rule: str, **values: Any) -> Refusal:
    wanted = {"after_ms": START_MS - 600_000, "until_ms": START_MS, "dry_run": False}
    return bad("POST", f"{FIRES}/backfill", field, rule, wanted | values)


def bad_query(url: str, field: str, rule: str) -> Refusal:
    return bad("GET", url, field, rule)


def not_found(method: str, rest: str, body: Any = None) -> Refusal:
    url = periodic("none") + rest
    return Refusal(f"{method} {url}", 404, "schedule_not_found", None, "not exist", method, url, body)


REFUSALS = [
    bad_put("ends_at_ms", START_MS, "before starts_at_ms", starts_at_ms=LATER),
    *(bad_put(field, value, "0 to") for field in ("starts_at_ms", "ends_at_ms") for value in (-1, 10**15)),
    *(bad_put("jitter_ms", value, "interval 60000") for value in (60_000, 90_000)),
    *(bad_put("jitter_ms", value, "0 to") for value in (-1, 10**15)),
    *(bad_put(field, value, "1 to") for field in ("max_lateness_ms", "deadline_ms") for value in (0, -1, 10**15)),
    bad_put("labels", {str(number): "x" for number in range(17)}, "16 pairs"),
    *(bad_put("labels", value, "1 to 63") for value in ({"": "x"}, {"x": ""}, {"x" * 64: "y"}, {"y": "\ud800"})),
    bad_put("overlap", "skip", "excludes on_missed backfill", on_missed="backfill"),
    bad_put("overlap", "never", "allow, skip"),
    *(bad_put("description", value, "") for value in ("x" * 1_001, "\ud800")),
    *(bad_put("owner", value, "") for value in ("x" * 201, "\ud800")),
    *(bad_put("unique_key", value, "") for value in ("", "u" * 256, "\n", "\ud800")),
    bad_put("headers", {str(number): "" for number in range(65)}, "64"),
    bad_put("headers", {"a": "\ud800"}, ""),
    *(bad_put("by", value, "printable") for value in ("x" * 201, "a\nb", "\ud800", "\x7f")),
    bad("PUT", FIRES, "X-Headgate-By", "200 printable", SCHEDULE, **{"X-Headgate-By": "x" * 201}),
    bad("DELETE", FIRES, "X-Headgate-By", "printable", **{"X-Headgate-By": "a\tb"}),
    *(
        bad("POST", f"{STANDS}/{what}", "X-Headgate-By", "printable", **{"X-Headgate-By": "x" * 201})
        for what in ("pause", "resume", "run")
    ),
    *(
        bad("POST", f"{STANDS}/{what}", "by", "printable", {"by": value})
        for what in ("pause", "resume", "run")
        for value in ("x" * 201, "\0", "\ud800")
    ),
    bad("POST", f"{FIRES}/pause", "until_ms", "has passed", {"until_ms": START_MS}),
    *(bad("POST", f"{FIRES}/pause", "until_ms", "0 to", {"until_ms": value}) for value in (-1, 10**15, 10**40)),
    *(bad("POST", f"{FIRES}/pause", "reason", "", {"reason": value}) for value in ("x" * 1_001, "\ud800")),
    *(bad_type(f"{FIRES}/pause", "until_ms", value, "int") for value in ("1", 1.5, True, [SECRET])),
    *(bad_type(f"{FIRES}/pause", "reason", value, "str") for value in (1, {"a": SECRET})),
    *(bad_type(f"{FIRES}/{what}", "force", 1, "the fields are") for what in ("pause", "resume", "run")),
    *(bad("POST", f"{STANDS}/resume", "missed", "none, run_once, backfill", {"missed": word}) for word in ("", "all")),
    *(bad_type(f"{STANDS}/resume", "missed", value, "str") for value in (None, 1)),
    Refusal("resume", 409, "not_paused", None, "is not paused", "POST", f"{FIRES}/resume", {"missed": "backfill"}),
    bad_range("until_ms", "is in the future", until_ms=START_MS + 1),
    bad_range("until_ms", "is not after", after_ms=START_MS),
    bad_range("until_ms", "is not after", until_ms=START_MS - 600_001),
    *(bad_range(field, "0 to", **{field: value}) for field in ("after_ms", "until_ms") for value in (-1, 10**15)),
    bad_range("until_ms", "is in the future", until_ms=START_MS + 1, dry_run=True),
    bad_range("by", "printable", by="\n"),
    *(
        bad_type(f"{FIRES}/backfill", field, value, "", **{"after_ms": 0, "until_ms": 1} | {field: value})
        for field, value in (("after_ms", None), ("until_ms", "1"), ("dry_run", 1), ("force", "true"), ("x", 1))
    ),
    Refusal(
        "backfill of what", 422, "invalid_shape", "until_ms", "required", "POST", f"{FIRES}/backfill", {"after_ms": 1}
    ),
    *(bad_query(f"{FIRES}/upcoming?n={n}", "n", "1 to 1000") for n in (0, 1001, -1)),
    *(bad_query(f"{FIRES}/upcoming?n={n}", "n", "whole number") for n in ("", "x", "1.0", "9" * 5_000)),
    *(bad_query(f"{FIRES}/{what}?limit=101", "limit", "1 to") for what in ("manual-runs", "changes")),
    *(bad_query(f"{FIRES}/{what}?x=1", "x", "unknown") for what in ("manual-runs", "changes", "gaps", "upcoming")),
    *(bad_query(f"/api/v1/periodic?{flag}=1", flag, "true or false") for flag in ("paused", "failing")),
    *(bad_query(f"/api/v1/periodic?prefix={prefix}", "prefix", "schedule id") for prefix in ("a%20b", "%ff", "a*")),
    *(bad_query(f"/api/v1/periodic?label={label}", "label", "1 to 63") for label in ("a=", "=a", "%00", "a" * 64)),
    bad_query("/api/v1/upcoming", "until_ms", "required"),
    bad_query(f"/api/v1/upcoming?until_ms={START_MS}", "until_ms", "after"),
    *(bad_query(f"/api/v1/upcoming?until_ms={value}", "until_ms", "0 to") for value in (-1, 10**15)),
    *(bad_query(f"/api/v1/upcoming?until_ms={LATER}&limit={limit}", "limit", "1 to 1000") for limit in (0, 1001)),
    *(not_found("POST", f"/{what}") for what in ("pause", "resume", "run")),
    not_found("POST", "/backfill", {"after_ms": 0, "until_ms": 1}),
    not_found("GET", "/upcoming"),
    not_found("GET", "/explain?tick_ms=0"),
    bad_query(f"{FIRES}/explain", "tick_ms", "required"),
    *(bad_query(f"{FIRES}/explain?tick_ms={value}", "tick_ms", "whole number") for value in ("", "x", "1.0")),
    *(bad_query(f"{FIRES}/explain?tick_ms={value}", "tick_ms", "0 to") for value in (-1, 10**15)),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
async def test_a_refusal_names_field_and_rule_and_changes_nothing(
    moved_api: Client, moved: World, refusal: Refusal
) -> None:
    await body_of(await moved_api.put(FIRES, json=SCHEDULE), 201)
    await body_of(await moved_api.put(STANDS, json=SCHEDULE | {"paused": True}), 201)
    await check_sent(moved_api, moved, refusal)


@pytest.mark.parametrize(
    ("headers", "code"),
    [({}, "idempotency_key_missing"), (key(""), "idempotency_key_missing"), (key("a b"), "invalid_request")],
)
async def test_a_backfill_needs_a_key_unless_it_only_looks(
    moved_api: Client, moved: World, headers: dict[str, str], code: str
) -> None:
    await body_of(await moved_api.put(FIRES, json=SCHEDULE), 201)
    wanted = {"after_ms": 0, "until_ms": START_MS}
    refused = await moved_api.post(f"{FIRES}/backfill", json=wanted, headers=headers)
    assert (refused.status, (await refused.json(content_type=None))["code"]) == (400, code)
    await body_of(await moved_api.post(f"{FIRES}/backfill", json=wanted | {"dry_run": True}, headers=headers))
    assert await moved.queued() == []
