"""Failures: each error has its status, each answer its headers, and an unexpected exception says only its class."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from headgate import errors
from headgate.errors import HeadgateError
from headgate.http.problems import STATUS
from headgate.models import TickCode
from tests.http.client import SCHEDULE, SECRET, Client, body_of, check_headers, key, periodic, problem_of, serving
from tests.metrics.conftest import counted
from tests.support.worlds import World

TREE = sorted(
    (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, HeadgateError)),
    key=lambda kind: kind.__name__,
)


def failing(monkeypatch: pytest.MonkeyPatch, world: World, error: Exception) -> None:
    async def overview() -> None:
        raise error

    monkeypatch.setattr(world.store.leases, "overview", overview)


def test_the_documentation_lists_every_code_by_its_status() -> None:
    text = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8").partition("## Problems")[2]
    rows = [row.split("|") for row in text.splitlines() if row.startswith("| ")]
    listed = [
        (code, int(status))
        for _, head, tail, _ in rows
        for status in re.findall(r"\d{3}", head)
        for code in codes(tail)
    ]
    assert len(listed) == len(set(listed))
    assert {code for code, _ in listed} == set(STATUS)
    assert all((code, status) in listed for code, status in STATUS.items())


def test_the_documentation_lists_every_code_of_an_explanation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")
    rows = text.partition("## Explanations")[2].partition("\n## ")[0].splitlines()
    listed = [code for row in rows if row.startswith("| `") for code in codes(row.split("|")[1])]
    assert sorted(listed) == sorted({"code", *TickCode})


def codes(cell: str) -> list[str]:
    return re.findall(r"`([a-z_]+)`", cell)


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
async def test_an_error_is_answered_with_its_status(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: type[HeadgateError]
) -> None:
    failing(monkeypatch, world, kind("why", field="some"))
    async with serving(world.store, watched=False) as api:  # a duty has few of these errors
        response = await api.get("/api/v1/duties")
        problem = await problem_of(response, STATUS.get(kind.code, 500), kind.code, "some")
    assert problem["detail"] == "why"
    assert response.headers.get("Retry-After") == ("1" if response.status in (429, 503) else None)


async def test_an_unexpected_exception_shows_its_class_in_the_log_alone(
    api: Client, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    failing(monkeypatch, world, RuntimeError(SECRET))
    problem = await problem_of(await api.get("/api/v1/duties"), 500, "internal_error")
    assert SECRET not in str(problem)
    assert "RuntimeError" not in str(problem)
    assert SECRET not in caplog.text
    (line,) = [record.getMessage() for record in caplog.records if record.name == "headgate"]
    expected = f"http.failed method=GET route=/api/v1/duties request_id={problem['request_id']}"
    assert line == f"{expected} code=internal_error error=RuntimeError"


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/v1/periodic/",
        "/api/v1/jobs/a/b",
        "/api/v1/queues/a/limits/",
        "/api/v1/quarantine/",
        "/healthz/",
        "/api/v2/jobs",
    ],
)
@pytest.mark.parametrize("method", ["GET", "PUT", "OPTIONS"])
async def test_an_unknown_route_is_a_problem(api: Client, method: str, path: str) -> None:
    await problem_of(await api.request(method, path), 404, "route_not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/api/v1/periodic", {"GET", "HEAD"}),
        ("PATCH", "/api/v1/periodic/s", {"GET", "HEAD", "PUT", "DELETE"}),
        ("GET", "/api/v1/periodic/s/run", {"POST"}),
        ("PUT", "/api/v1/periodic/s/pause", {"POST"}),
        ("GET", "/api/v1/periodic/s/backfill", {"POST"}),
        ("POST", "/api/v1/periodic/s/changes", {"GET", "HEAD"}),
        ("POST", "/api/v1/periodic/s/upcoming", {"GET", "HEAD"}),
        ("GET", "/api/v1/specs/preview", {"POST"}),
        ("TRACE", "/healthz", {"GET", "HEAD"}),
        ("OPTIONS", "/api/v1/jobs", {"GET", "HEAD", "POST"}),
        ("PATCH", "/api/v1/jobs/batch", {"GET", "HEAD", "POST", "DELETE"}),
        ("PUT", "/api/v1/jobs/j", {"GET", "HEAD", "DELETE"}),
        ("GET", "/api/v1/jobs/j/retry", {"POST"}),
        ("DELETE", "/api/v1/queues/q", {"GET", "HEAD"}),
        ("POST", "/api/v1/queues/q/limits", {"PUT"}),
        ("GET", "/api/v1/quarantine/f", {"PUT", "DELETE"}),
        ("POST", "/api/v1/workers", {"GET", "HEAD"}),
    ],
)
async def test_another_method_is_a_problem(api: Client, method: str, path: str, allowed: set[str]) -> None:
    response = await api.request(method, path)
    await problem_of(response, 405, "method_not_allowed")
    assert set(response.headers["Allow"].split(",")) == allowed


async def test_an_expectation_is_met_or_refused(api: Client) -> None:
    met = await api.put(periodic("s"), json=SCHEDULE, expect100=True)
    assert met.status == 201
    labels = {"method": "PUT", "route": "", "status": "417"}
    before = counted("headgate_http_requests_total", **labels)
    refused = await api.put(periodic("s"), json=SCHEDULE, headers={"Expect": "the-spanish-inquisition"})
    await problem_of(refused, 417, "expectation_failed")
    assert counted("headgate_http_requests_total", **labels) == before + 1


async def test_every_answer_has_its_headers(api: Client) -> None:
    await body_of(await api.put(periodic("s"), json=SCHEDULE), 201)
    for response in (await api.delete(periodic("s")), await api.head(periodic("s"))):
        check_headers(response)
    assert response.status == 404


async def test_a_request_id_is_the_clients_or_new(api: Client) -> None:
    async def answered(given: str | None) -> str:
        response = await api.get("/healthz", headers={} if given is None else {"X-Request-Id": given})
        return response.headers["X-Request-Id"]

    assert await answered("trace-1.a_B") == "trace-1.a_B"
    new = [await answered(given) for given in (None, "", "a b", "x" * 65, "é", "<script>")]
    assert all(re.fullmatch("[0-9a-f]{32}", text) for text in new)
    assert len(set(new)) == len(new)


@pytest.mark.damages_store("a schedule of a foreign type")
async def test_foreign_data_in_the_store_is_its_own_error(
    api: Client, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await world.client.set(world.keys("schedule", "s"), SECRET)
    for response in (
        await api.get(periodic("s")),
        await api.put(periodic("s"), json=SCHEDULE),
        await api.post(periodic("s", "/run"), headers=key()),
    ):
        await problem_of(response, 500, "store_error")
    assert caplog.text.count("code=store_error") == 3
    assert SECRET not in caplog.text


async def test_lost_races_are_a_conflict(api: Client, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer between each look and each write."""
    await api.put(periodic("s"), json=SCHEDULE)
    scripts = world.store.schedules._scripts
    call = scripts.call

    async def raced(name: str, *args: str | int) -> object:
        if name == "put":
            await world.client.hincrby(world.keys("schedule", "s"), "revision", 1)
        return await call(name, *args)

    monkeypatch.setattr(scripts, "call", raced)
    response = await api.put(periodic("s"), json=SCHEDULE | {"queue": "other"})
    await problem_of(response, 409, "conflict")
