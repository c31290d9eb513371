"""What fires next: of one schedule, of a spec, of all schedules; store time is the present, and nothing is written."""

from __future__ import annotations

import time

import pytest

from headgate.app import Headgate
from headgate.errors import InvalidRequest, InvalidSpec, ScheduleNotFound
from headgate.settings import MAX_INSTANT_MS
from headgate.spec import parse_spec
from headgate.upcoming import MAX_UPCOMING
from tests.support.worlds import START_MS, World

MINUTE = 60_000
DAY = 86_400_000
ENDED = pytest.mark.damages_store("records written by hand")


async def write_by_hand(world: World, schedules: dict[str, int]) -> None:
    """What the script reads of schedules, by id and next run: quicker than putting each."""
    rows = list(schedules.items())
    for start in range(0, len(rows), 500):
        pipe = world.client.pipeline(transaction=False)
        for schedule_id, at in rows[start : start + 500]:
            record = {"id": schedule_id, "spec": "@every:1000", "next_run_ms": at, "anchor_ms": START_MS}
            pipe.hset(world.keys("schedule", schedule_id), mapping=record)
            pipe.zadd(world.keys("due"), {schedule_id: at})
        await pipe.execute()


# of one schedule


async def test_a_schedules_next_ticks_are_those_after_store_time(moved: World) -> None:
    await moved.put("a", "CRON_TZ=Europe/Berlin 0 9 * * *")
    found = await moved.store.upcoming.of("a", 3)
    spec = parse_spec("CRON_TZ=Europe/Berlin 0 9 * * *")
    assert (found.schedule_id, found.reason, found.store_time_ms) == ("a", None, START_MS)
    assert (found.zone, found.description) == ("Europe/Berlin", spec.describe())
    assert found.ticks[0].local == "2027-01-16T09:00:00+01:00"
    assert found.ticks[0].utc == "2027-01-16T08:00:00+00:00"
    ticks = [tick.tick_ms for tick in found.ticks]
    assert ticks == [spec.next_after(START_MS), *map(spec.next_after, ticks[:-1])]


async def test_what_is_due_already_is_not_to_come(moved: World) -> None:
    await moved.put("a", "@every:60000")
    now_ms = await moved.advance(3 * MINUTE)
    assert [tick.tick_ms for tick in (await moved.store.upcoming.of("a", 2)).ticks] == [
        now_ms + MINUTE,
        now_ms + 2 * MINUTE,
    ]


async def test_behind_the_anchor_nothing_comes_again(moved: World) -> None:
    """The store's clock went back."""
    await moved.put("a", "@every:60000")
    await moved.advance(-10 * MINUTE)
    assert (await moved.store.upcoming.of("a", 1)).ticks[0].tick_ms == START_MS + MINUTE


async def test_a_thousand_ticks_are_the_most(moved: World) -> None:
    await moved.put("a", "@every:1000")
    assert len((await moved.store.upcoming.of("a", 1000)).ticks) == 1000
    for n in (0, -1, 1001, True, 1.5):
        with pytest.raises(InvalidRequest) as caught:
            await moved.store.upcoming.of("a", n)  # type: ignore[arg-type]
        assert caught.value.field == "n"


async def test_a_paused_schedule_has_none_and_says_why(moved: World) -> None:
    await moved.put("a")
    await moved.store.control.pause("a", reason="audit")
    found = await moved.store.upcoming.of("a")
    assert (found.ticks, found.reason) == ([], "paused")
    assert found.description, "what it means can still be said"


async def test_a_pause_that_ends_by_itself_has_ticks_after_its_end(moved: World) -> None:
    """The tick at the end is still one of the pause, which is what becomes of it in the end."""
    await moved.put("a", "@every:60000", on_missed="backfill", backfill_limit=9)
    ends_ms = START_MS + 5 * MINUTE
    await moved.store.control.pause("a", until_ms=ends_ms)
    found = await moved.store.upcoming.of("a", 2)
    assert [tick.tick_ms for tick in found.ticks] == [ends_ms + MINUTE, ends_ms + 2 * MINUTE]
    assert (found.reason, found.paused_until_ms) == ("paused", ends_ms)
    now_ms = await moved.advance(9 * MINUTE + 1)
    found = await moved.store.upcoming.of("a", 1)
    assert ([tick.tick_ms for tick in found.ticks], found.reason) == ([now_ms - 1 + MINUTE], "paused")
    await moved.store.control.resume("a")
    found = await moved.store.upcoming.of("a", 1)
    assert (found.ticks[0].tick_ms, found.reason, found.paused_until_ms) == (now_ms - 1 + MINUTE, None, None)


async def test_a_finished_schedule_has_none_and_says_why(moved: World) -> None:
    await moved.put("a", "@every:60000", ends_at_ms=START_MS + 2 * MINUTE)
    assert [tick.tick_ms for tick in (await moved.store.upcoming.of("a")).ticks] == [
        START_MS + MINUTE,
        START_MS + 2 * MINUTE,
    ]
    await moved.advance(2 * MINUTE)
    found = await moved.store.upcoming.of("a")
    assert (found.ticks, found.reason) == ([], "finished")


async def test_ticks_begin_with_the_schedules_first_instant(moved: World) -> None:
    await moved.put("a", "@every:60000", starts_at_ms=START_MS + DAY)
    assert (await moved.store.upcoming.of("a", 1)).ticks[0].tick_ms == START_MS + DAY


async def test_a_schedule_that_is_not_there_is_a_typed_error(moved: World) -> None:
    with pytest.raises(ScheduleNotFound):
        await moved.store.upcoming.of("none")
    with pytest.raises(InvalidRequest):
        await moved.store.upcoming.of("not an id")


@ENDED
async def test_a_stored_spec_that_is_refused_now_is_a_typed_error(moved: World) -> None:
    await moved.put("a")
    await moved.client.hset(moved.keys("schedule", "a"), "spec", "CRON_TZ=Gone/Away 0 9 * * *")
    with pytest.raises(InvalidSpec):
        await moved.store.upcoming.of("a")


# of a spec


async def test_a_preview_stores_nothing(moved: World) -> None:
    before = await moved.client.keys(f"{moved.keys.root}*")
    found = await moved.store.upcoming.preview("0 0 31 * *", 2)
    assert [tick.utc for tick in found.ticks] == ["2027-01-31T00:00:00+00:00", "2027-03-31T00:00:00+00:00"]
    assert [warning.code for warning in found.warnings] == ["short_months"]
    assert (found.store_time_ms, found.zone) == (START_MS, "")
    assert await moved.client.keys(f"{moved.keys.root}*") == before


async def test_a_preview_keeps_within_bounds(moved: World) -> None:
    found = await moved.store.upcoming.preview(
        "@every:60000", 9, starts_at_ms=START_MS + DAY, ends_at_ms=START_MS + DAY + MINUTE
    )
    assert [tick.tick_ms for tick in found.ticks] == [START_MS + DAY, START_MS + DAY + MINUTE]


@pytest.mark.parametrize(
    ("spec", "options", "field"),
    [
        ("every minute", {}, "spec"),
        ("@every:1000", {"n": 1001}, "n"),
        ("@every:1000", {"starts_at_ms": -1}, "starts_at_ms"),
        ("@every:1000", {"ends_at_ms": MAX_INSTANT_MS + 1}, "ends_at_ms"),
        ("@every:1000", {"starts_at_ms": 2, "ends_at_ms": 1}, "ends_at_ms"),
    ],
)
async def test_a_bad_preview_names_its_field(moved: World, spec: str, options: dict[str, int], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await moved.store.upcoming.preview(spec, **options)
    assert caught.value.field == field


# of all schedules


async def test_all_schedules_are_merged_by_instant(moved: World) -> None:
    for number in range(12):
        await moved.put(f"herd-{number:02}", "0 9 * * *")
    await moved.put("lone", "30 8 * * *")
    await moved.put("paused", "30 8 * * *")
    await moved.store.control.pause("paused")
    await moved.put("ended", "30 8 * * *", ends_at_ms=START_MS + 1)
    until_ms = START_MS + DAY // 2
    found = await moved.store.upcoming.all(until_ms)
    assert (found.store_time_ms, found.until_ms, found.complete_until_ms) == (START_MS, until_ms, until_ms)
    assert [(each.tick_ms - START_MS, each.count, each.herd) for each in found.instants] == [
        (30 * MINUTE, 1, None),
        (60 * MINUTE, 12, "12 schedules at 09:00:00"),
    ]
    assert found.instants[1].schedule_ids == [f"herd-{number:02}" for number in range(10)]
    assert found.schedules == 13


async def test_pauses_that_end_by_themselves_count_from_their_end(moved: World) -> None:
    for schedule_id in ("a", "b", "over", "for-ever", "later"):
        await moved.put(schedule_id, "@every:60000")
    ends_ms = START_MS + 5 * MINUTE
    await moved.store.control.pause("a", until_ms=ends_ms)
    await moved.store.control.pause("over", until_ms=START_MS + 1)
    await moved.store.control.pause("for-ever")
    await moved.store.control.pause("later", until_ms=START_MS + DAY)
    await moved.advance(30_000)
    found = await moved.store.upcoming.all(ends_ms + MINUTE)
    by_tick = {each.tick_ms: each.schedule_ids for each in found.instants}
    assert by_tick == {
        **{START_MS + n * MINUTE: ["b", "over"] for n in range(1, 6)},
        ends_ms + MINUTE: ["a", "b", "over"],
    }
    assert (found.complete_until_ms, found.schedules) == (ends_ms + MINUTE, 3)


async def test_what_comes_is_what_is_foretold(moved: World) -> None:
    await moved.put("a", "@every:60000")
    await moved.store.control.pause("a", until_ms=START_MS + 2 * MINUTE)
    foretold = [each.tick_ms for each in (await moved.store.upcoming.all(START_MS + 6 * MINUTE)).instants]
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    for _ in range(6):
        await moved.advance(MINUTE)
        while await scheduler.sweep() == 0:
            pass
    ran = [event["tick_ms"] for event in await moved.events("a") if event["outcome"] == "enqueued"]
    assert sorted(ran) == foretold


@ENDED
async def test_pauses_that_were_not_read_end_what_is_complete(moved: World) -> None:
    """Due and paused schedules count together, and the earliest of both that was not read is the limit."""
    await write_by_hand(moved, {f"s{number:05}": START_MS + DAY + number for number in range(MAX_UPCOMING - 1)})
    await moved.put("a", "@every:1000")
    await moved.put("b", "@every:1000")
    await moved.store.control.pause("a", until_ms=START_MS + DAY // 2)
    await moved.store.control.pause("b", until_ms=START_MS + 2 * DAY)
    found = await moved.store.upcoming.all(START_MS + DAY // 2 + 500)
    assert (found.schedules, found.complete_until_ms) == (1, START_MS + DAY // 2 + 500)
    call = moved.store.upcoming._scripts.call
    _, cut, *rows = await call("upcoming", START_MS + 3 * DAY, MAX_UPCOMING, "id")
    assert (int(cut), len(rows), rows[0][1]) == (START_MS + 2 * DAY, MAX_UPCOMING, "a")


@ENDED
async def test_what_the_indexes_of_pauses_hold_wrongly_does_no_harm(moved: World) -> None:
    await moved.put("a", "@every:60000")
    await moved.put("b", "@every:60000")
    await moved.store.control.pause("b")
    await moved.client.zadd(moved.keys("resumes"), {"a": START_MS, "b": START_MS, "gone": START_MS})
    found = await moved.store.upcoming.all(START_MS + MINUTE)
    assert [(each.count, each.schedule_ids) for each in found.instants] == [(1, ["a"])]
    await moved.client.set(moved.keys("resumes"), "foreign")
    found = await moved.store.upcoming.all(START_MS + MINUTE)
    assert [each.schedule_ids for each in found.instants] == [["a"]]


async def test_overdue_schedules_count_from_now_and_failing_ones_from_their_next_attempt(moved: World) -> None:
    await moved.put("late", "@every:60000")
    await moved.put("fails", "@every:1000")
    now_ms = await moved.advance(5 * MINUTE)
    await moved.client.zadd(moved.keys("due"), {"fails": now_ms + 2_500})
    found = await moved.store.upcoming.all(now_ms + 4_000)
    assert [(each.tick_ms - now_ms, each.schedule_ids) for each in found.instants] == [
        (3_000, ["fails"]),
        (4_000, ["fails"]),
    ]
    found = await moved.store.upcoming.all(now_ms + MINUTE)
    assert found.instants[-1].tick_ms == now_ms + MINUTE
    assert found.instants[-1].schedule_ids == ["fails", "late"]


async def test_an_until_that_is_not_to_come_is_refused(moved: World) -> None:
    for until_ms in (-1, 0, START_MS, MAX_INSTANT_MS + 1, True):
        with pytest.raises(InvalidRequest) as caught:
            await moved.store.upcoming.all(until_ms)
        assert caught.value.field == "until_ms"
    for limit in (0, MAX_UPCOMING + 1):
        with pytest.raises(InvalidRequest) as caught:
            await moved.store.upcoming.all(START_MS + 1, limit=limit)
        assert caught.value.field == "limit"


@ENDED
async def test_damaged_records_are_passed_over(moved: World, caplog: pytest.LogCaptureFixture) -> None:
    for schedule_id in ("a", "b", "c", "d"):
        await moved.put(schedule_id)
    await moved.client.hset(moved.keys("schedule", "a"), "next_run_ms", "nonsense")
    await moved.client.delete(moved.keys("schedule", "b"))
    await moved.client.hset(moved.keys("schedule", "c"), "spec", "nonsense")
    await moved.client.zadd(moved.keys("due"), {"gone": "-inf", "c": "1.5"})
    found = await moved.store.upcoming.all(START_MS + MINUTE)
    assert [each.schedule_ids for each in found.instants] == [["d"]]
    assert [record.getMessage() for record in caplog.records] == [
        "schedule.unreadable schedule=c",
        "schedule.unreadable schedule=a",
    ]


@ENDED
async def test_ten_thousand_schedules_cost_what_a_thousand_do(moved: World) -> None:
    """It says up to where it is complete, and is right about it."""
    await write_by_hand(moved, {f"s{number:05}": START_MS + 1_000 * (number // 100 + 1) for number in range(10_000)})
    await moved.store.upcoming.all(START_MS + DAY)
    await moved.client.config_resetstat()
    started = time.perf_counter()
    found = await moved.store.upcoming.all(START_MS + DAY)
    assert time.perf_counter() - started < 0.5
    stats = await moved.client.info("commandstats")
    assert stats["cmdstat_hmget"]["calls"] == MAX_UPCOMING
    assert stats["cmdstat_evalsha"]["usec"] < 50_000
    assert found.schedules == MAX_UPCOMING
    # A hundred more begin in each second: a thousand ticks are reached with the fourth.
    assert [each.count for each in found.instants] == [100, 200, 300, 400]
    assert found.complete_until_ms == START_MS + 4_999


@ENDED
async def test_what_was_not_read_ends_what_is_complete(moved: World) -> None:
    """Sparse ones: the thousand and first is where nothing more is known."""
    await write_by_hand(moved, {f"s{number:05}": START_MS + DAY + number for number in range(MAX_UPCOMING + 5)})
    found = await moved.store.upcoming.all(START_MS + 2 * DAY)
    assert found.complete_until_ms == START_MS + DAY + MAX_UPCOMING - 1
    assert len(found.instants) == MAX_UPCOMING


@ENDED
async def test_more_overdue_schedules_than_are_read_leave_nothing_to_say(moved: World) -> None:
    """And it says so: complete until now."""
    await moved.client.zadd(moved.keys("due"), {f"s{number}": number for number in range(MAX_UPCOMING + 1)})
    found = await moved.store.upcoming.all(START_MS + DAY)
    assert (found.instants, found.complete_until_ms) == ([], START_MS)


# from an application


async def test_an_application_asks_by_the_same_names(world: World) -> None:
    async with Headgate(world.url, namespace=world.namespace) as app:
        await app.schedules.put("a", "@every:3600000", kind="k")
        following = (await app.schedules.upcoming("a", 2)).ticks
        assert following[1].tick_ms - following[0].tick_ms == 3_600_000
        assert len((await app.schedules.preview("0 9 * * *", 3)).ticks) == 3
        found = await app.upcoming_all(following[0].tick_ms)
        assert [each.schedule_ids for each in found.instants] == [["a"]]
