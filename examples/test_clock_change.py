"""Your schedules across a clock change, in a second and without waiting: ``pytest test_clock_change.py``."""

from datetime import UTC, datetime, timedelta

import pytest

import headgate
from headgate.testing import MovedWorld, world_fixture

pytestmark = pytest.mark.asyncio

app = headgate.Headgate()
ran: list[str] = []


@app.actor("report")
async def report(job: headgate.Job) -> None:
    assert job.tick is not None
    ran.append(f"{job.tick:%a %H:%M %Z}")


app.periodic("at-nine", "CRON_TZ=Europe/Berlin 0 9 * * *", kind="report")
app.periodic("at-half-past-two", "CRON_TZ=Europe/Berlin 30 2 * * *", kind="report", on_missed="run_once")

# Berlin's clocks go from 02:00 to 03:00 on Sunday, 28 March 2027. It is Saturday, noon in UTC.
world = world_fixture(app, start=datetime(2027, 3, 27, 12, tzinfo=UTC))


async def test_half_past_two_does_not_exist_on_the_sunday(world: MovedWorld) -> None:
    ran.clear()
    await world.advance(days=2, run=True)
    assert ran == ["Sun 09:00 CEST", "Mon 02:30 CEST", "Mon 09:00 CEST"]


async def test_nine_stays_nine_on_the_wall(world: MovedWorld) -> None:
    await world.advance(days=2)
    monday, sunday = [event.tick_ms for event in await world.events("at-nine")]
    assert timedelta(milliseconds=monday - sunday) == timedelta(hours=24)
    assert datetime.fromtimestamp(sunday / 1000, UTC).hour == 7


async def test_after_an_outage_one_report_makes_up_for_all(world: MovedWorld) -> None:
    ran.clear()
    await world.outage(days=5)
    assert await world.run_jobs() == 2
    assert ran == ["Thu 02:30 CEST", "Thu 09:00 CEST"]
    newest = (await world.events("at-half-past-two"))[0]
    assert newest.discarded is not None
