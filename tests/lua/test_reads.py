"""Lists, histories and single records: complete, bounded, right while others write, and possible on a full store."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from headgate.errors import InvalidCursor, InvalidRequest, JobNotFound, ScheduleNotFound, StoreError
from headgate.models import Event, JobRequest, Schedule
from headgate.scheduler import Scheduler
from headgate.store.listing import SchedulePage
from headgate.store.paging import read_cursor, write_cursor
from tests.support.check import commands
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

MINUTE = 60_000
LAST_MS = 253_402_300_799_999


async def on_duty(world: World) -> Scheduler:
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    return scheduler


async def pages(world: World, limit: int) -> AsyncIterator[SchedulePage]:
    cursor: str | None = None
    while True:
        page = await world.store.schedules.list(limit=limit, cursor=cursor)
        yield page
        if page.next_cursor is None:
            return
        cursor = page.next_cursor


async def listed(world: World, limit: int = 200) -> list[str]:
    return [schedule.id async for page in pages(world, limit) for schedule in page.schedules]


async def history(world: World, limit: int, schedule_id: str = "a") -> list[Event]:
    events: list[Event] = []
    cursor: str | None = None
    while True:
        page = await world.store.events.list(schedule_id, limit=limit, cursor=cursor)
        assert len(page.events) <= limit
        events += page.events
        if page.next_cursor is None:
            return events
        cursor = page.next_cursor


async def fire(world: World, count: int, schedule_id: str = "a") -> Scheduler:
    """So many ticks of a schedule become events."""
    await world.put(schedule_id, "@every:1000", on_missed="backfill", backfill_limit=1000)
    scheduler = await on_duty(world)
    await world.advance(1000 * count)
    while await scheduler.sweep() == 0:
        pass
    return scheduler


# one schedule


async def test_a_schedule_is_read_with_its_payload(moved: World) -> None:
    await moved.put("a", payload={"n": 2**70, "empty": [], "none": None})
    assert (await moved.store.schedules.get("a")).payload == {"n": 2**70, "empty": [], "none": None}


@pytest.mark.parametrize("schedule_id", ["b", "A", "a:b"])
async def test_an_unknown_schedule_is_not_found(moved: World, schedule_id: str) -> None:
    """Ids are compared as they are."""
    await moved.put("a")
    with pytest.raises(ScheduleNotFound):
        await moved.store.schedules.get(schedule_id)


async def test_a_foreign_record_is_a_store_error(moved: World) -> None:
    """Not a missing schedule: somebody has to look."""
    await moved.client.sadd(moved.keys("schedule", "a"), "foreign")
    with pytest.raises(StoreError):
        await moved.store.schedules.get("a")
    await moved.client.delete(moved.keys("schedule", "a"))
    await moved.put("a")
    await moved.client.hset(moved.keys("schedule", "a"), "priority", "high")
    with pytest.raises(StoreError, match="a stored schedule has a field that headgate did not write"):
        await moved.store.schedules.get("a")


@pytest.mark.damages_store("a foreign type")
async def test_a_failure_is_told_with_its_schedule(moved: World) -> None:
    """Which tick, why, how often, since when, and when it is tried again."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    await moved.client.set(moved.keys("state", "default", "available"), "foreign")
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    await moved.advance(1000)
    await scheduler.sweep()
    failure = (await moved.store.schedules.get("a")).failure
    assert failure is not None
    assert (failure.tick_ms, failure.reason, failure.attempts) == (tick, "store_error", 2)
    assert (failure.since_ms, failure.retry_at_ms) == (tick, tick + 3000)
    assert (await moved.store.schedules.list()).schedules[0].failure == failure


# the list of schedules


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 200])
async def test_pages_of_any_size_list_every_schedule_once_in_order(moved: World, limit: int) -> None:
    """By the bytes of the id: digits, upper case, lower case."""
    ids = ["0", "9", "A.b", "a", "a-b", "a:b", "b@c", "{x}"]
    for schedule_id in reversed(ids):
        await moved.put(schedule_id)
    assert await listed(moved, limit) == ids
    async for page in pages(moved, limit):
        assert len(page.schedules) <= limit


async def test_an_empty_list_is_one_empty_page(moved: World) -> None:
    assert await moved.store.schedules.list() == SchedulePage(schedules=[], next_cursor=None, examined=0)


async def test_a_list_carries_sizes_and_no_payloads(moved: World) -> None:
    """A page of the largest payloads is still small."""
    await moved.put("a", payload="x" * 1000, headers={"token": "xxx"})
    [schedule] = (await moved.store.schedules.list()).schedules
    assert schedule.payload_bytes == 1002
    assert "xxx" not in repr(schedule)
    assert set(Schedule.__struct_fields__) - {"payload", "headers"} == {
        name
        for name in Schedule.__struct_fields__
        if getattr(schedule, name) == getattr(await moved.store.schedules.get("a"), name)
    }


async def test_a_list_is_stable_while_others_write_create_and_delete(moved: World) -> None:
    """A schedule that stays is listed once; one that comes before the cursor waits for the next reading."""
    for schedule_id in "bdfhjl":
        await moved.put(schedule_id)
    found: list[str] = []
    changes: list[Callable[[], Awaitable[Any]]] = [
        lambda: moved.put("a"),  # before the cursor
        lambda: moved.put("d", payload="new"),  # the last one of the page
        lambda: moved.store.schedules.delete("f"),  # the cursor itself
        lambda: moved.put("i"),  # after the cursor
    ]
    async for page in pages(moved, 1):
        found += [schedule.id for schedule in page.schedules]
        if changes:
            await changes.pop(0)()
    assert found == ["b", "d", "f", "h", "i", "j", "l"]


@pytest.mark.damages_store("entries without a record")
async def test_a_dangling_entry_is_passed_over(moved: World) -> None:
    """Without a record, or with a foreign one; the page goes on behind it."""
    for schedule_id in "aceg":
        await moved.put(schedule_id)
    await moved.client.zadd(moved.keys("schedules"), {"b": 0})
    await moved.client.delete(moved.keys("schedule", "c"), moved.keys("schedule", "g"))
    await moved.client.sadd(moved.keys("schedule", "c"), "foreign")
    for limit in (1, 2, 3, 200):
        assert await listed(moved, limit) == ["a", "e"]


@pytest.mark.parametrize("limit", [0, -1, 201, 10**9])
async def test_a_page_has_1_to_200_schedules(moved: World, limit: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await moved.store.schedules.list(limit=limit)
    assert (caught.value.field, caught.value.message) == ("limit", f"limit {limit} is outside 1 to 200")


async def test_the_work_of_a_page_does_not_grow_with_the_number_of_schedules(moved: World) -> None:
    """Nor with how far back the page lies."""
    counts = []
    for number in range(60):
        await moved.put(f"s{number:02}")
        if number in (10, 59):
            cursor = write_cursor("schedules", f"s{number - 6:02}")
            before = await commands(moved)
            assert len((await moved.store.schedules.list(limit=5, cursor=cursor)).schedules) == 5
            counts.append(await commands(moved) - before)
    assert counts[0] == counts[1]


# the history


async def test_a_schedule_without_history_has_an_empty_page(moved: World) -> None:
    """Also an id that never was: its history may have outlived it, or not."""
    await moved.put("a")
    for schedule_id in ("a", "never"):
        page = await moved.store.events.list(schedule_id)
        assert (page.events, page.next_cursor) == ([], None)


@pytest.mark.parametrize("limit", [1, 7, 30, 99, 100])
async def test_pages_of_any_size_show_the_newest_hundred_events_once(moved: World, limit: int) -> None:
    """Newest first, without holes; what is older has been cut off."""
    await fire(moved, 150)
    events = await history(moved, limit)
    assert [event.event_id for event in events] == list(range(150, 50, -1))
    assert [event.tick_ms for event in events] == [START_MS + 1000 * number for number in range(150, 50, -1)]


@pytest.mark.parametrize(
    ("count", "limit", "more"), [(5, 5, False), (5, 4, True), (100, 100, False), (101, 100, False)]
)
async def test_a_page_says_whether_older_events_are_kept(moved: World, count: int, limit: int, more: bool) -> None:
    """No cursor leads to an empty page."""
    await fire(moved, count)
    page = await moved.store.events.list("a", limit=limit)
    assert len(page.events) == limit
    assert (page.next_cursor is not None) == more


async def test_a_history_is_stable_while_new_events_arrive(moved: World) -> None:
    """A page begun goes on where it stopped, though every place in the list has moved."""
    scheduler = await fire(moved, 20)
    found: list[int] = []
    cursor: str | None = None
    while True:
        page = await moved.store.events.list("a", limit=6, cursor=cursor)
        found += [event.event_id for event in page.events]
        cursor = page.next_cursor
        if cursor is None:
            break
        await moved.advance(3000)
        await scheduler.sweep()
    assert found == list(range(20, 0, -1))


async def test_a_cursor_whose_events_were_cut_off_meanwhile_comes_to_an_end(moved: World) -> None:
    """What is gone is gone; nothing newer is shown in its place."""
    scheduler = await fire(moved, 20)
    page = await moved.store.events.list("a", limit=5)
    await moved.advance(1000 * 95)
    await scheduler.sweep()
    rest = await moved.store.events.list("a", limit=5, cursor=page.next_cursor)
    assert ([event.event_id for event in rest.events], rest.next_cursor) == ([], None)


async def test_a_history_goes_on_after_its_schedule_was_deleted_and_made_again(moved: World) -> None:
    """A cursor of before is a cursor of after: event ids are dense for as long as the history is kept."""
    scheduler = await fire(moved, 10)
    page = await moved.store.events.list("a", limit=4)
    await moved.store.schedules.delete("a")
    assert [event.event_id for event in await history(moved, 3)] == list(range(10, 0, -1))
    await moved.put("a", "@every:1000")
    await moved.advance(1000)
    await scheduler.sweep()
    rest = await moved.store.events.list("a", limit=100, cursor=page.next_cursor)
    assert [event.event_id for event in rest.events] == [6, 5, 4, 3, 2, 1]
    assert (await moved.store.events.list("a", limit=1)).events[0].event_id == 11


@pytest.mark.parametrize("limit", [0, -1, 101, 10**9])
async def test_a_page_has_1_to_100_events(moved: World, limit: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await moved.store.events.list("a", limit=limit)
    assert (caught.value.field, caught.value.message) == ("limit", f"limit {limit} is outside 1 to 100")


@pytest.mark.damages_store("an event of others")
async def test_a_foreign_event_is_a_store_error_that_quotes_nothing(moved: World) -> None:
    await moved.client.lpush(moved.keys("events", "a"), "secret")
    with pytest.raises(StoreError) as caught:
        await moved.store.events.list("a")
    assert "secret" not in str(caught.value)


# cursors


def raw_cursor(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def test_a_cursor_stands_for_a_place_in_its_list_and_nowhere_else() -> None:
    """What was given out is understood by the same list only."""
    cursor = write_cursor("events/a", "17")
    assert read_cursor("events/a", cursor) == "17"
    for scope in ("events/b", "events", "events/a/", "schedules", ""):
        with pytest.raises(InvalidCursor):
            read_cursor(scope, cursor)


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "=", "a", "!!!!", "é", "\ud800", " ", "\n", "YQ==", "x" * 100_000),
        raw_cursor(b"schedules"),
        raw_cursor(b"schedules\n"),
        raw_cursor(b"\na"),
        raw_cursor(b"events/a\n5"),
        raw_cursor(b"schedules\n\xff"),
        raw_cursor(b"schedules\na") + "=",
        raw_cursor(b"schedules\nab") + " ",
        "c2NoZWR1bGVzCmF",
        "c2NoZWR1bGVzCmF+",
    ],
    ids=lambda it: ascii(it[:30]),
)
async def test_a_forged_cursor_of_schedules_is_refused(moved: World, cursor: str) -> None:
    """Whatever it is, by one error and one field."""
    await moved.put("a")
    with pytest.raises(InvalidCursor) as caught:
        await moved.store.schedules.list(cursor=cursor)
    assert caught.value.field == "cursor"
    assert caught.value.message == "cursor is not one that this list gave out"


@pytest.mark.parametrize("position", ["", "-1", "1.5", "1e3", " 5", "5\n", "0x5", "1" * 16, "a", "+5"])
async def test_a_forged_cursor_of_events_is_refused(moved: World, position: str) -> None:
    """Only digits that a number holds exactly reach the script."""
    with pytest.raises(InvalidCursor):
        await moved.store.events.list("a", cursor=write_cursor("events/a", position))


async def test_a_cursor_of_another_history_is_refused(moved: World) -> None:
    """Each schedule's history is a list of its own, and the list of schedules another."""
    await fire(moved, 3)
    cursor = (await moved.store.events.list("a", limit=1)).next_cursor
    assert cursor is not None
    with pytest.raises(InvalidCursor):
        await moved.store.events.list("b", cursor=cursor)
    with pytest.raises(InvalidCursor):
        await moved.store.schedules.list(cursor=cursor)


@pytest.mark.parametrize(("position", "expected"), [("0", []), ("1", []), ("4", [3, 2, 1]), ("9" * 15, [3, 2, 1])])
async def test_a_well_formed_cursor_shows_what_lies_before_it(moved: World, position: str, expected: list[int]) -> None:
    """A place that the list never had is no harm."""
    await fire(moved, 3)
    page = await moved.store.events.list("a", cursor=write_cursor("events/a", position))
    assert [event.event_id for event in page.events] == expected


# numbers and memory


async def test_instants_of_fifteen_digits_come_back_exactly(moved: World) -> None:
    """No exponent and no rounding, in records, events, jobs and answers."""
    await moved.set_clock(LAST_MS - 1)
    await moved.put("a", f"@every:{LAST_MS}")
    schedule = await moved.store.schedules.get("a")
    assert (schedule.created_at_ms, schedule.next_run_ms) == (LAST_MS - 1, LAST_MS)
    scheduler = await on_duty(moved)
    await moved.set_clock(LAST_MS)
    await scheduler.sweep()
    [schedule] = (await moved.store.schedules.list()).schedules
    assert (schedule.last_tick_ms, schedule.anchor_ms, schedule.next_run_ms) == (LAST_MS, LAST_MS, None)
    [event] = (await moved.store.events.list("a")).events
    assert (event.tick_ms, event.recorded_at_ms) == (LAST_MS, LAST_MS)
    assert event.job_id is not None
    job = await moved.store.jobs.get(event.job_id)
    assert job.periodic_origin is not None
    assert (job.periodic_origin.tick_ms, job.enqueued_at_ms) == (LAST_MS, LAST_MS)
    assert (await moved.store.leases.overview()).store_time_ms == LAST_MS
    manual = await moved.store.producer.run_now("a", idempotency_key="k")
    places = await moved.client.zrange(moved.keys("state", "default", "available"), 0, -1, withscores=True)
    assert sorted(places) == sorted([(manual.job_id, LAST_MS), (job.id, LAST_MS)])
    kept = json.loads(await moved.client.get(moved.keys("idem_run", "a", "k")))
    assert kept["until_ms"] == LAST_MS + 86_400_000


@pytest.mark.parametrize("number", [2**53 + 1, 10**40, -(2**63), 0.1, 1e-300])
async def test_numbers_in_payloads_come_back_exactly(moved: World, number: float) -> None:
    """Through schedule, manual run and tick: no script ever reads them."""
    await moved.put("a", payload=[number])
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    manual = await moved.store.producer.run_now("a", idempotency_key="k")
    assert (await moved.store.schedules.get("a")).payload == [number]
    for job_id in (f"sched-a-{tick}", manual.job_id):
        assert (await moved.store.jobs.get(job_id, include_payload=True)).payload == [number]


async def test_every_read_works_while_the_store_is_full(own_server: PrivateServer) -> None:
    """An operator can look when it matters; and reads write nothing."""
    world = World(own_server.url, "full", moved=True)
    try:
        await world.set_clock(START_MS)
        await fire(world, 5)
        job_id = (await world.store.producer.enqueue(JobRequest(kind="k"), idempotency_key="k")).job_id
        await world.advance(1000)
        await world.client.set(world.keys("duty", "scheduler"), "p/t")
        before = (await world.client.info("persistence"))["rdb_changes_since_last_save"]
        await world.client.config_set("maxmemory", "1")
        store = world.store
        assert [row.id for row in (await store.ticks.due("p/t", 10)).rows] == ["a"]
        sweeps = 1  # each says when it was: one field of one hash
        assert (await store.schedules.get("a")).id == "a"
        assert len((await store.schedules.list()).schedules) == 1
        assert len(await history(world, 2)) == 5
        assert (await store.jobs.get(job_id, include_payload=True)).payload is None
        assert (await store.leases.overview()).schedules == 1
        with pytest.raises(ScheduleNotFound):
            await store.schedules.get("b")
        with pytest.raises(JobNotFound):
            await store.jobs.get("none")
        await world.client.config_set("maxmemory", "0")
        assert (await world.client.info("persistence"))["rdb_changes_since_last_save"] == before + sweeps
        await check_store(world)
    finally:
        await world.close()
