"""Specs that surprise say so; ordinary ones say nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headgate.spec import bounded, parse_spec, warnings

NOW = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1000
DAY = 86_400_000


def _warned(text: str) -> dict[str, str]:
    found = warnings(parse_spec(text), NOW)
    assert len({warning.code for warning in found}) == len(found)
    return {warning.code: warning.message for warning in found}


@pytest.mark.parametrize(
    "text",
    [
        "0 9 * * *",
        "* * * * *",
        "*/5 * * * MON-FRI",
        "0 0 1 * *",
        "0 0 28 * *",
        "0 0 31 1,3,12 *",
        "0 0 15,31 * *",
        "0 0 29 3 *",
        "@every:1001",
        "@every:86400000",
        "CRON_TZ=Europe/London 0 9 * * *",
        "CRON_TZ=Asia/Tokyo * * * * *",
        "CRON_TZ=UTC 30 1 * * *",
        "CRON_TZ=Europe/London 30 1 * 6 *",
    ],
)
def test_nothing_to_say(text: str) -> None:
    assert _warned(text) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0 31 * *", "It does not fire in Feb, Apr, Jun, Sep, Nov: no day 31 there."),
        ("0 0 30,31 * *", "It does not fire in Feb: no day 30 there."),
        ("0 0 29 * *", "It does not fire in Feb outside leap years: no day 29 there."),
        ("0 0 31 3,4 *", "It does not fire in Apr: no day 31 there."),
    ],
)
def test_months_without_the_day(text: str, message: str) -> None:
    assert _warned(text) == {"short_months": message}


def test_the_leap_day() -> None:
    assert _warned("0 0 29 2 *") == {"leap_day": "It fires on 29 February only, in leap years."}
    assert _warned("0 0 29,30 FEB ?").keys() == {"leap_day"}


@pytest.mark.parametrize(
    "text", ["0 0 13 * 5", "0 0 */2 * MON", "0 0 1-31 * MON", "0 0 31 2 MON", "0 0 31 * MON", "CRON_TZ=UTC\t0 0 1 * 1 "]
)
def test_both_day_fields(text: str) -> None:
    """As written: also where the union comes to every day, or one of the two to none."""
    assert _warned(text).keys() == {"day_fields_union"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("* * * * * *", "It fires every second."),
        ("0-59 * * * * MON", "It fires every second."),
        (
            "* 30 9 * * *",
            "It fires every second of every minute it names; a leading 0 would make it the first one only.",
        ),
        ("@every:1000", "It fires every second or more often."),
        ("@every:1", "It fires every second or more often."),
    ],
)
def test_every_second(text: str, message: str) -> None:
    assert _warned(text) == {"every_second": message}


def test_a_time_inside_a_gap() -> None:
    assert _warned("CRON_TZ=America/New_York 30 2 * * *") == {
        "clock_gap": "On 2026-03-08 the clock of America/New_York skips 02:00 to 03:00: "
        "one of its times will not fire that day."
    }
    assert "4 of its times" in _warned("CRON_TZ=America/New_York */15 2 * * *")["clock_gap"]


def test_a_time_in_a_repeated_stretch() -> None:
    assert _warned("CRON_TZ=America/New_York 30 1 * * *") == {
        "clock_repeat": "On 2026-11-01 the clock of America/New_York repeats 01:00 to 02:00: "
        "one of its times will be shown twice and fire the first time only."
    }


def test_one_hour_may_be_both() -> None:
    """London skips and repeats the same hour."""
    assert _warned("CRON_TZ=Europe/London 30 1 * * *").keys() == {"clock_gap", "clock_repeat"}


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("America/New_York * * * * *", 61),
        ("America/New_York */15 * * * *", 75),
        ("America/New_York 0 * * * *", 120),
        ("Australia/Lord_Howe * * * * *", 31),
        ("Antarctica/Troll * * * * *", 121),
    ],
)
def test_a_job_that_pauses_while_the_clock_repeats(text: str, minutes: int) -> None:
    """A skipped hour makes no difference to it: nothing is said about that."""
    (message,) = _warned(f"CRON_TZ={text}").values()
    assert f"it pauses for {minutes} minutes while they are repeated." in message
    assert _warned(f"CRON_TZ={text}").keys() == {"clock_pause"}


def test_only_the_next_two_years_count() -> None:
    spec = parse_spec("CRON_TZ=Europe/London 30 1 31 3 *")
    assert warnings(spec, NOW) == []
    assert [warning.code for warning in warnings(spec, NOW + 3 * 365 * DAY)] == ["clock_gap"]
    assert warnings(parse_spec("CRON_TZ=Europe/London 30 1 * * *"), 10**20) == []


def test_changes_outside_its_bounds_do_not_matter() -> None:
    spec = parse_spec("CRON_TZ=Europe/London 30 1 * * *")
    assert warnings(bounded(spec, NOW, NOW + 60 * DAY), NOW) == []
    assert [warning.code for warning in warnings(bounded(spec, NOW, NOW + 100 * DAY), NOW)] == ["clock_gap"]
    assert [warning.code for warning in warnings(bounded(parse_spec("@every:500"), NOW, None), NOW)] == ["every_second"]
