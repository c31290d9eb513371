"""What is refused of queues, quarantine and workers: a typed problem; nothing stored changes."""

from __future__ import annotations

import pytest

from tests.http.client import Client
from tests.http.refusals import Refusal, bad_path, check_refused
from tests.support.worlds import World

LIMITS = "/api/v1/queues/default/limits"
FINGERPRINT = "0123456789abcdef" * 2


def bad_limit(field: str, rule: str, **limits: object) -> Refusal:
    return Refusal(f"limits {limits}", 400, "invalid_request", field, rule, "PUT", LIMITS, limits)


def bad_limits(field: str, rule: str, **limits: object) -> Refusal:
    return Refusal(f"shape of limits {limits}", 422, "invalid_shape", field, rule, "PUT", LIMITS, limits)


REFUSALS = [
    *(
        bad_limit(name, "0 to", **{name: value})
        for name in ("max_concurrent", "max_unfinished")
        for value in (-1, 10**10)
    ),
    bad_limit("rate_limit.limit", "1 to", rate_limit={"limit": 0}),
    bad_limit("rate_limit.limit", "1 to", rate_limit={"limit": -1}),
    bad_limit("rate_limit.window_ms", "1 to", rate_limit={"limit": 1, "window_ms": -1}),
    bad_limit("rate_limit.burst", "1 to", rate_limit={"limit": 1, "burst": 0}),
    bad_limits("rate_limit", "object", rate_limit=5),
    bad_limits("rate_limit", "object", rate_limit=[]),
    bad_limits("rate_limit.limit", "required", rate_limit={}),
    bad_limits("rate_limit.limit", "int", rate_limit={"limit": "1"}),
    bad_limits("rate_limit.per", "limit, window_ms, burst", rate_limit={"limit": 1, "per": "s"}),
    bad_limits("max_concurrent", "int", max_concurrent="1"),
    bad_limits("max_running", "max_concurrent, max_unfinished, rate_limit", max_running=1),
    *(
        bad_path("GET", f"/api/v1/{name}?limit=201", "limit", "1 to 200")
        for name in ("queues", "quarantine", "workers")
    ),
    *(
        bad_path(method, f"/api/v1/queues/a%2Fb{rest}", "queue", "queue")
        for method, rest in (("GET", ""), ("POST", "/pause"), ("POST", "/resume"), ("PUT", "/limits"))
    ),
    *(
        bad_path(method, f"/api/v1/quarantine/{text}", "fingerprint", "32")
        for method in ("PUT", "DELETE")
        for text in ("x", FINGERPRINT.upper(), FINGERPRINT + "0", "%00")
    ),
    Refusal(
        *("long note", 400, "invalid_request", "note", "1000 characters"),
        *("PUT", f"/api/v1/quarantine/{FINGERPRINT}", {"note": "x" * 1_001}),
    ),
    Refusal(
        "half", 400, "invalid_request", "note", "JSON", "PUT", f"/api/v1/quarantine/{FINGERPRINT}", {"note": "\ud800"}
    ),
    Refusal("note", 422, "invalid_shape", "note", "str", "PUT", f"/api/v1/quarantine/{FINGERPRINT}", {"note": 1}),
    Refusal("no queue", 404, "queue_not_found", None, "not exist", "GET", "/api/v1/queues/none"),
    Refusal("not barred", 404, "quarantine_not_found", None, "", "DELETE", f"/api/v1/quarantine/{FINGERPRINT}"),
    *(
        Refusal(
            f"{what} with a field",
            422,
            "invalid_shape",
            "force",
            "none",
            "POST",
            f"/api/v1/queues/q/{what}",
            {"force": 1},
        )
        for what in ("pause", "resume")
    ),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
async def test_a_refusal_names_field_and_rule_and_changes_nothing(api: Client, world: World, refusal: Refusal) -> None:
    await check_refused(api, world, refusal)
