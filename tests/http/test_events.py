"""Histories over HTTP: real ticks, newest first, and pages that stay right while new events arrive."""

from __future__ import annotations

from typing import Any

from headgate.scheduler import Scheduler
from tests.http.client import SCHEDULE, Client, body_of, periodic, problem_of
from tests.support.worlds import START_MS, World

MINUTE = 60_000
URL = periodic("s", "/enqueue-events")


async def fire(world: World, scheduler: Scheduler, ticks: int) -> None:
    """So many ticks, each in its own minute."""
    for _ in range(ticks):
        await world.advance(MINUTE)
        await scheduler.sweep()


async def ready(world: World, api: Client, **options: Any) -> Scheduler:
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    await body_of(await api.put(periodic("s"), json=SCHEDULE | options), 201)
    return scheduler


async def test_an_event_has_all_its_fields(moved: World, moved_api: Client) -> None:
    scheduler = await ready(moved, moved_api)
    await fire(moved, scheduler, 1)
    page = await body_of(await moved_api.get(URL))
    tick_ms = START_MS + MINUTE
    event = {
        "event_id": 1,
        "schedule_id": "s",
        "tick_ms": tick_ms,
        "job_id": f"sched-s-{tick_ms}",
        "outcome": "enqueued",
        "reason": "accepted",
        "recorded_at_ms": tick_ms,
        "attempts": 1,
        "first_attempt_ms": None,
        "discarded": None,
    }
    assert page == {"events": [event], "next_cursor": None}
    job = await body_of(await moved_api.get(f"/api/v1/jobs/{event['job_id']}"))
    assert job["periodic_origin"] == {"schedule_id": "s", "tick_ms": tick_ms}


async def test_an_outage_shows_the_discarded_range(moved: World, moved_api: Client) -> None:
    scheduler = await ready(moved, moved_api)
    await moved.advance(5 * MINUTE)
    await scheduler.sweep()
    (event,) = (await body_of(await moved_api.get(URL)))["events"]
    assert event["tick_ms"] == START_MS + 5 * MINUTE
    assert event["discarded"] == {"from_ms": START_MS + MINUTE, "until_ms": START_MS + 4 * MINUTE}


async def test_pages_stay_right_while_new_events_arrive(moved: World, moved_api: Client) -> None:
    scheduler = await ready(moved, moved_api)
    await fire(moved, scheduler, 7)
    seen: list[int] = []
    params = {"limit": "3"}
    while True:
        page = await body_of(await moved_api.get(URL, params=params))
        seen += [event["event_id"] for event in page["events"]]
        await fire(moved, scheduler, 2)
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert seen == [7, 6, 5, 4, 3, 2, 1]


async def test_a_hundred_events_are_kept_and_fit_one_page(moved: World, moved_api: Client) -> None:
    scheduler = await ready(moved, moved_api, on_missed="backfill", backfill_limit=120)
    await moved.advance(120 * MINUTE)
    await scheduler.sweep()
    page = await body_of(await moved_api.get(URL, params={"limit": "100"}))
    assert [event["event_id"] for event in page["events"]] == list(range(120, 20, -1))
    assert page["next_cursor"] is None
    default = await body_of(await moved_api.get(f"{URL}?cursor="))
    assert len(default["events"]) == 30
    assert default["next_cursor"]


async def test_an_id_that_never_existed_has_an_empty_list(api: Client) -> None:
    response = await api.get(periodic("never", "/enqueue-events"))
    assert await body_of(response) == {"events": [], "next_cursor": None}


async def test_a_history_outlives_its_schedule(moved: World, moved_api: Client) -> None:
    scheduler = await ready(moved, moved_api)
    await fire(moved, scheduler, 2)
    before = await body_of(await moved_api.get(URL))
    assert (await moved_api.delete(periodic("s"))).status == 204
    assert await body_of(await moved_api.get(URL)) == before


async def test_a_cursor_of_another_list_is_refused(moved: World, moved_api: Client) -> None:
    scheduler = await ready(moved, moved_api)
    await body_of(await moved_api.put(periodic("t"), json=SCHEDULE), 201)
    await fire(moved, scheduler, 2)
    of_events = (await body_of(await moved_api.get(URL, params={"limit": "1"})))["next_cursor"]
    of_schedules = (await body_of(await moved_api.get("/api/v1/periodic?limit=1")))["next_cursor"]
    for url, cursor in (
        ("/api/v1/periodic", of_events),
        (URL, of_schedules),
        (periodic("t", "/enqueue-events"), of_events),
        (URL, of_events[:-1]),
        (URL, of_events + "="),
    ):
        response = await moved_api.get(url, params={"cursor": cursor})
        await problem_of(response, 400, "invalid_cursor", "cursor")
