"""The public testing kit, and with it a year of real scripts: one job per tick, by an independent enumeration."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headgate import Headgate, Job
from headgate.errors import InvalidRequest
from headgate.models import JobState, QueueLimits, RateLimit
from headgate.testing import START, MovedWorld, moved_world

MINUTE = timedelta(minutes=1)
NEW_YORK, LORD_HOWE = "America/New_York", "Australia/Lord_Howe"


def enumerate_ticks(zone: str, every: int, start: datetime, days: int) -> list[int]:
    """Minute by minute: each wall time whose minute divides, the first time that a clock shows it."""
    wall, shown, ticks = ZoneInfo(zone), set(), []
    # A day before, a repeated wall time may have been shown already.
    for minute in range(-1440, days * 1440 + 1):
        instant = start + minute * MINUTE
        seen = instant.astimezone(wall).replace(tzinfo=None)
        if seen not in shown and seen.minute % every == 0 and minute > 0:
            ticks.append(int(instant.timestamp() * 1000))
        shown.add(seen)
    return ticks


def app_with(*schedules: tuple[str, str], **options: Any) -> Headgate:
    """Each schedule's jobs in a queue of its own, where they stay."""
    app = Headgate()
    for name, spec in schedules:
        app.periodic(name, spec, kind="none", queue=name, **options)
    return app


async def check_one_job_a_tick(world: MovedWorld, schedule_id: str, ticks: list[int]) -> None:
    """The jobs are exactly those of the ticks, each recorded on time and in its place, and no range was passed over."""
    keys, client = world.app.store.keys, world._client
    jobs = await client.zrange(keys("state", schedule_id, "available"), 0, -1)
    assert sorted(jobs) == sorted(f"sched-{schedule_id}-{tick}" for tick in ticks)
    events = (await world.events(schedule_id))[::-1]
    assert [event.tick_ms for event in events] == ticks[-100:]
    assert events[-1].event_id == len(ticks)
    assert {f"{event.outcome}/{event.reason}" for event in events} == {"enqueued/accepted"}
    assert {event.recorded_at_ms - event.tick_ms for event in events} == {0}
    assert not await client.exists(keys("gaps", schedule_id))


@pytest.mark.timeout(240)
async def test_a_year_of_half_hours_makes_one_job_a_tick() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    app = app_with(("utc", "*/30 * * * *"), ("ny", f"CRON_TZ={NEW_YORK} */30 * * * *"))
    async with moved_world(app, start=start) as world:
        await world.advance(days=365)
        assert world.now == datetime(2027, 1, 1, tzinfo=UTC)
        utc, ny = enumerate_ticks("UTC", 30, start, 365), enumerate_ticks(NEW_YORK, 30, start, 365)
        assert (len(utc), len(ny)) == (17_520, 17_518)  # New York's second 01:00 and 01:30 do not fire again
        await check_one_job_a_tick(world, "utc", utc)
        await check_one_job_a_tick(world, "ny", ny)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("start", "ny_lost", "lord_howe_lost"),
    [(datetime(2006, 3, 31, tzinfo=UTC), 0, 30), (datetime(2006, 10, 27, tzinfo=UTC), 60, 0)],
    ids=["april", "october"],
)
async def test_minutes_around_a_clock_change_make_one_job_a_tick(
    start: datetime, ny_lost: int, lord_howe_lost: int
) -> None:
    """In 2006 both zones changed on one Sunday, in April and in October: each once by an hour, once by half of one."""
    app = app_with(("ny", f"CRON_TZ={NEW_YORK} * * * * *"), ("lh", f"CRON_TZ={LORD_HOWE} * * * * *"))
    async with moved_world(app, start=start) as world:
        await world.advance(days=3)
        ny, lord_howe = enumerate_ticks(NEW_YORK, 1, start, 3), enumerate_ticks(LORD_HOWE, 1, start, 3)
        assert (len(ny), len(lord_howe)) == (4_320 - ny_lost, 4_320 - lord_howe_lost)
        assert len({datetime.fromtimestamp(t / 1000, ZoneInfo(NEW_YORK)).utcoffset() for t in ny}) == 2
        assert len({datetime.fromtimestamp(t / 1000, ZoneInfo(LORD_HOWE)).utcoffset() for t in lord_howe}) == 2
        await check_one_job_a_tick(world, "ny", ny)
        await check_one_job_a_tick(world, "lh", lord_howe)


@pytest.mark.parametrize(
    ("options", "fired"),
    [({"on_missed": "skip"}, 1), ({"on_missed": "run_once"}, 1), ({"on_missed": "backfill", "backfill_limit": 30}, 30)],
    ids=["skip", "run_once", "backfill"],
)
async def test_an_outage_shows_what_the_policy_does(options: dict[str, Any], fired: int) -> None:
    """The latest ticks fire, at the end of the outage; the older ones are one range on the first event."""
    app = app_with(("hourly", f"CRON_TZ={NEW_YORK} 0 * * * *"), **options)
    start = datetime(2026, 10, 30, tzinfo=UTC)
    async with moved_world(app, start=start) as world:
        await world.outage(days=3, minutes=30)  # over the end of summer time
        ticks = [tick for tick in enumerate_ticks(NEW_YORK, 60, start, 4) if tick <= world.now_ms]
        assert len(ticks) == 71
        events = (await world.events("hourly"))[::-1]
        assert [event.tick_ms for event in events] == ticks[-fired:]
        assert {event.recorded_at_ms for event in events} == {world.now_ms}
        passed = ticks[:-fired]
        assert events[0].discarded is not None
        assert (events[0].discarded.from_ms, events[0].discarded.until_ms) == (passed[0], passed[-1])
        assert all(event.discarded is None for event in events[1:])


async def test_a_backfill_longer_than_one_sweep_is_made_up_for_at_once() -> None:
    app = app_with(("often", "@every:60000"), on_missed="backfill", backfill_limit=1000)
    async with moved_world(app) as world:
        await world.outage(days=1)
        assert await world._client.zcard(app.store.keys("state", "often", "available")) == 1000


async def test_jobs_run_when_time_reaches_them_and_retries_too() -> None:
    """A retry waits at most a second after the first failure; store time stands still while an actor runs."""
    app = Headgate()
    seen: list[tuple[datetime | None, int, int]] = []

    @app.actor("flaky")
    async def flaky(job: Job) -> None:
        seen.append((job.tick, job.attempt, world.now_ms))
        if job.attempt == 1:
            raise RuntimeError

    app.periodic("daily", "CRON_TZ=Europe/Berlin 0 9 * * *", kind="flaky")
    async with moved_world(app) as world:
        assert await world.advance(days=2, run=True) == 4
        assert [(tick and f"{tick:%d %H:%M %Z}", attempt) for tick, attempt, _ in seen] == [
            ("01 09:00 CET", 1),
            ("01 09:00 CET", 2),
            ("02 09:00 CET", 1),
            ("02 09:00 CET", 2),
        ]
        for (tick, _, first_ms), (_, _, second_ms) in zip(seen[::2], seen[1::2], strict=True):
            assert tick is not None
            assert first_ms == tick.timestamp() * 1000
            assert 0 < second_ms - first_ms <= 1000
        job = await app.jobs.get((await world.events("daily"))[0].job_id or "")
        assert job.state is JobState.COMPLETED
        assert job.finished_at_ms == seen[-1][2]


async def test_run_jobs_runs_what_jobs_enqueue_until_none_is_left() -> None:
    app = Headgate()
    order: list[int] = []

    @app.actor("count")
    async def count(left: int) -> None:
        order.append(left)
        if left:
            await app.enqueue("count", {"left": left - 1})

    async with moved_world(app) as world:
        await app.enqueue("count", {"left": 3})
        assert await world.advance(hours=1) == 0
        assert await world.run_jobs() == 4
        assert order == [3, 2, 1, 0]
        assert await world.run_jobs() == 0


async def test_a_limited_queue_goes_on_as_its_tokens_come() -> None:
    """One at once, and one a minute from then on; retries and ticks have their own instants between them."""
    app = Headgate()
    at: list[float] = []

    @app.actor("test")
    async def test() -> None:
        at.append((world.now - START) / MINUTE)

    app.periodic("other", "@every:90000", kind="none", queue="other")
    async with moved_world(app) as world:
        rate = RateLimit(limit=1, window_ms=60_000, burst=1)
        await app.queues.set_limits("default", QueueLimits(rate_limit=rate))
        await app.enqueue_many([app.request("test") for _ in range(10)])
        assert await world.advance(minutes=4.5, run=True) == 5
        assert await world.advance(minutes=2) == 0, "nothing runs unless asked to"
        assert world.now == START + 6.5 * MINUTE
        assert await world.advance(hours=1, run=True) == 5
        assert world.now == START + 66.5 * MINUTE
        assert at == [0, 1, 2, 3, 4, 6.5, 7.5, 8.5, 9.5, 10.5]
        assert len(await world.events("other")) == 44


async def test_advances_add_up_to_one() -> None:
    """A tick at the end of an advance fires in it, and not again in the next; one at the start is not due."""
    app = app_with(("hourly", "0 * * * *"))
    async with moved_world(app) as world:
        fired = []
        for minutes in (59, 1, 0, 60, 60.5):
            await world.advance(minutes=minutes)
            fired.append(len(await world.events("hourly")))
        assert fired == [0, 1, 1, 2, 3]
        assert world.now == START + timedelta(minutes=180.5)


async def test_what_is_written_meanwhile_counts_from_store_time() -> None:
    app = Headgate()
    async with moved_world(app, start=1_800_000_000_000) as world:
        await world.advance(days=1)
        await app.schedules.put("late", "@every:86400000", kind="none")
        assert (await app.schedules.get("late")).next_run_ms == 1_800_057_600_000 + 86_400_000
        await world.advance(days=1)
        assert [event.tick_ms for event in await world.events("late")] == [1_800_144_000_000]


async def test_the_application_is_its_own_again_afterwards() -> None:
    """Each world is new, and what the application was declared with is untouched, even by a failing test."""
    app = app_with(("hourly", "0 * * * *"))
    app._url = "redis://127.0.0.1:1/0"

    async def fail_in_a_world() -> None:
        async with moved_world(app) as world:
            await world.advance(hours=1)
            assert len(await world.events("hourly")) == 1
            raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await fail_in_a_world()
        assert (app._url, app._pieces) == ("redis://127.0.0.1:1/0", None)
    with pytest.raises(InvalidRequest, match="open the application first"):
        _ = app.store


async def test_hooks_see_the_ticks_of_a_moved_clock() -> None:
    app = app_with(("hourly", "0 * * * *"))
    ticks: list[int | None] = []

    @app.before_enqueue
    async def note(job: Any) -> None:
        ticks.append(job.tick_ms)

    async with moved_world(app) as world:
        await world.advance(hours=3)
        assert ticks == [event.tick_ms for event in (await world.events("hourly"))[::-1]]
        assert len(ticks) == 3


@pytest.mark.parametrize("start", [START.replace(tzinfo=None), -1, 10**15], ids=["naive", "negative", "year 33658"])
async def test_a_start_that_is_no_instant_is_refused(start: datetime | int) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        async with moved_world(Headgate(), start=start):
            pass
    assert refusal.value.field == "start"


async def test_time_does_not_go_back_nor_past_the_calendar() -> None:
    async with moved_world(Headgate()) as world:
        for days in (-1, 10_000_000, 10**12, float("nan")):
            with pytest.raises(InvalidRequest):
                await world.advance(days=days)
            with pytest.raises(InvalidRequest):
                await world.outage(days=days)
        assert world.now == START


async def test_an_application_that_is_open_is_not_moved() -> None:
    app = Headgate()
    async with moved_world(app) as world:
        with pytest.raises(InvalidRequest, match="open already"):
            async with moved_world(app):
                pass
        await world.advance(days=1)  # and the first world goes on
