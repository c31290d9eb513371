"""Previews over HTTP: when a spec, a schedule and all of them fire, in words and instants, and what may surprise."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.http.client import SCHEDULE, SECRET, Client, body_of, periodic, problem_of, stored
from tests.support.worlds import START_MS, World

MINUTE = 60_000
PREVIEW = "/api/v1/specs/preview"
UPCOMING = periodic("s", "/upcoming")


async def preview(api: Client, **body: Any) -> Any:
    return await body_of(await api.post(PREVIEW, json=body))


async def test_a_preview_has_words_warnings_and_ticks(moved: World, moved_api: Client) -> None:
    before = await stored(moved)
    found = await preview(moved_api, spec="CRON_TZ=Europe/Berlin 30 2 * * *", n=80)
    assert (found["spec"], found["zone"]) == ("CRON_TZ=Europe/Berlin 30 2 * * *", "Europe/Berlin")
    assert "02:30" in found["description"]
    assert "Europe/Berlin" in found["description"]
    assert [warning["code"] for warning in found["warnings"]] == ["clock_gap", "clock_repeat"]
    assert len(found["ticks"]) == 80
    first = found["ticks"][0]
    assert first == {
        "tick_ms": START_MS + 63_000_000,
        "utc": "2027-01-16T01:30:00+00:00",
        "local": "2027-01-16T02:30:00+01:00",
        "mark": None,
    }
    [marked] = [tick for tick in found["ticks"] if tick["mark"]]
    assert (marked["local"], marked["mark"]) == ("2027-03-29T02:30:00+02:00", "skipped")
    assert await stored(moved) == before


async def test_a_preview_keeps_within_its_bounds(moved_api: Client) -> None:
    bounds = {"starts_at_ms": START_MS + 5 * MINUTE, "ends_at_ms": START_MS + 7 * MINUTE}
    found = await preview(moved_api, spec="@every:60000", **bounds)
    assert [tick["tick_ms"] for tick in found["ticks"]] == [START_MS + minute * MINUTE for minute in (5, 6, 7)]
    assert len((await preview(moved_api, spec="@every:60000", jitter_ms=59_999))["ticks"]) == 10
    past = await preview(moved_api, spec="@every:60000", n=2, after_ms=0)
    assert [tick["tick_ms"] for tick in past["ticks"]] == [MINUTE, 2 * MINUTE]


@pytest.mark.parametrize(
    ("status", "code", "field", "body"),
    [
        (400, "invalid_spec", "spec", {"spec": "0 0 30 2 *"}),
        (400, "invalid_spec", "spec", {"spec": "CRON_TZ=Mars/Olympus 0 9 * * *"}),
        (422, "invalid_shape", "spec", {}),
        (422, "invalid_shape", "spec", {"spec": None}),
        (422, "invalid_shape", "payload", {"spec": "@every:1", "payload": SECRET}),
        (422, "invalid_shape", "n", {"spec": "@every:1", "n": "1"}),
        *((400, "invalid_request", "n", {"spec": "@every:1", "n": n}) for n in (0, 1001, 10**40)),
        *(
            (400, "invalid_request", field, {"spec": "@every:1", field: value})
            for field in ("starts_at_ms", "ends_at_ms", "after_ms", "jitter_ms")
            for value in (-1, 10**15)
        ),
        (400, "invalid_request", "jitter_ms", {"spec": "@every:60000", "jitter_ms": 60_000}),
        (400, "invalid_request", "ends_at_ms", {"spec": "@every:1", "starts_at_ms": 2, "ends_at_ms": 1}),
    ],
    ids=str,
)
async def test_a_preview_is_refused_as_a_schedule_would_be(
    api: Client, status: int, code: str, field: str, body: dict[str, Any]
) -> None:
    await problem_of(await api.post(PREVIEW, json=body), status, code, field)


async def test_a_schedule_has_its_next_ticks(moved: World, moved_api: Client) -> None:
    await body_of(await moved_api.put(periodic("s"), json=SCHEDULE), 201)
    await moved.advance(1)
    found = await body_of(await moved_api.get(UPCOMING, params={"n": "3"}))
    assert [tick["tick_ms"] for tick in found["ticks"]] == [START_MS + minute * MINUTE for minute in (1, 2, 3)]
    assert (found["schedule_id"], found["reason"], found["store_time_ms"]) == ("s", None, START_MS + 1)
    assert SECRET not in str(found)
    assert len((await body_of(await moved_api.get(UPCOMING)))["ticks"]) == 10
    await body_of(await moved_api.post(periodic("s", "/pause")))
    paused = await body_of(await moved_api.get(UPCOMING))
    assert (paused["ticks"], paused["reason"]) == ([], "paused")


async def test_all_schedules_have_their_next_ticks(moved_api: Client) -> None:
    for number in range(12):
        spec = f"@every:{MINUTE * (1 + number // 11)}"
        await body_of(await moved_api.put(periodic(f"s{number:02}"), json=SCHEDULE | {"spec": spec}), 201)
    until_ms = START_MS + 2 * MINUTE
    found = await body_of(await moved_api.get("/api/v1/upcoming", params={"until_ms": str(until_ms)}))
    assert [(each["tick_ms"], each["count"]) for each in found["instants"]] == [
        (START_MS + MINUTE, 11),
        (until_ms, 12),
    ]
    assert "12 schedules at" in found["instants"][1]["herd"]
    assert (found["complete_until_ms"], found["schedules"]) == (until_ms, 12)
    cut = await body_of(await moved_api.get("/api/v1/upcoming", params={"until_ms": str(until_ms), "limit": "11"}))
    assert [each["count"] for each in cut["instants"]] == [11]
    assert cut["complete_until_ms"] < until_ms


async def test_the_dearest_preview_holds_nobody_up(api: Client) -> None:
    """A thousand leap days reach over four thousand years, with all their clock changes between."""
    dear = asyncio.create_task(preview(api, spec="CRON_TZ=Europe/Berlin 0 0 29 2 *", n=1000))
    await asyncio.sleep(0.05)
    assert (await api.get("/healthz")).status == 200
    assert not dear.done()
    assert len((await dear)["ticks"]) == 1000
