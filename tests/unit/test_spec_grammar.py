"""The grammar's traps, what its messages say, and what is kept between calls."""

from __future__ import annotations

import sys
import zoneinfo
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, call

import pytest

from headgate.errors import InvalidSpec
from headgate.settings import MAX_INSTANT_MS, MAX_SPEC
from headgate.spec import Spec, parse_spec, zones
from headgate.spec.cron import CronSpec
from headgate.spec.grammar import parse_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

NOON = 1_715_774_400_000
DAY = 86_400_000


def _ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


def _refusal(text: Any) -> str:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(text)
    assert caught.value.field == "spec"
    assert caught.value.code == "invalid_spec"
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("5-5", (5,)),
        ("9-9/1", (9,)),
        ("7-7/5", (7,)),
        ("57/1", (57, 58, 59)),
        ("50/4", (50, 54, 58)),
        ("59/15", (59,)),
        ("*/59", (0, 59)),
        ("*/1", None),
        ("0-59", None),
        ("*,15", None),
        ("0-29,30-59", None),
        ("3,1,3,2-3", (1, 2, 3)),
        ("0000000007", (7,)),
        ("10-30/7", (10, 17, 24)),
    ],
)
def test_minutes(text: str, minutes: tuple[int, ...] | None) -> None:
    """An equal range is one value, N/s runs to the field's end for every s, a full list restricts nothing."""
    assert parse_fields(f"{text} * * * *").minute == minutes


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("7", (0,)),
        ("7-7", (0,)),
        ("SUN-SUN", (0,)),
        ("0-7", None),
        ("1-7", None),
        ("5-7", (0, 5, 6)),
        ("2-7/2", (2, 4, 6)),
        ("0-7/7", (0,)),
        ("1/2", (1, 3, 5)),
        ("mOn/2", (1, 3, 5)),
        ("7/2", (0, 2, 4, 6)),
        ("*/7", (0,)),
        ("FRI-MON", (0, 1, 5, 6)),
        ("5-1", (0, 1, 5, 6)),
        ("5-1/1", (0, 1, 5, 6)),
        ("7-2", (0, 1, 2)),
        ("6-5", None),
        ("tue-4,SAT", (2, 3, 4, 6)),
    ],
)
def test_days_of_the_week(text: str, days: tuple[int, ...] | None) -> None:
    """Ranges go round the week; 7 is Sunday, yet stays 7 until its range is spread out."""
    assert parse_fields(f"0 0 * * {text}").weekday == days


@pytest.mark.parametrize(
    ("text", "day", "weekday"),
    [
        ("0 0 ? * ?", None, None),
        ("0 0 ? * 5", None, (5,)),
        ("0 0 13 * ?", (13,), None),
        ("0 0 13 * 5", (13,), (5,)),
        ("0 0 */15 * 0-6", None, None),
        ("0 0 1-31 * MON", None, None),
        ("0 0 */1 * MON", None, None),
        ("0 0 *,15 * MON", None, None),
        ("0 0 31 2 MON", None, (1,)),
        ("0 0 29,30,31 2 MON", (29,), (1,)),
        ("0 0 1-29 2 *", None, None),
        ("0 0 30,31 2,4 *", (30,), None),
    ],
)
def test_two_restricted_day_fields_are_a_union(
    text: str, day: tuple[int, ...] | None, weekday: tuple[int, ...] | None
) -> None:
    """Only a bare * or ? leaves a day field unrestricted; days that no chosen month has do not count."""
    fields = parse_fields(text)
    assert (fields.day, fields.weekday) == (day, weekday)


def test_five_fields_fire_at_second_zero() -> None:
    assert parse_fields("* * * * *").second == (0,)
    assert parse_fields("* * * * * *").second is None


def test_months_by_name_in_any_case() -> None:
    assert parse_fields("0 0 1 jan-Mar,DEC *").month == (1, 2, 3, 12)


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4,6 *", "0 0 31 2-6/2,9-9,11 ?", "0 0 30-31 FEB *"])
def test_what_can_never_fire_is_refused(text: str) -> None:
    """Decided from the months' longest lengths, without a search; one day that exists is enough."""
    assert "never fire" in _refusal(text)
    assert parse_spec(text.replace("3", "1,3", 1)).next_after(NOON) is not None


@pytest.mark.parametrize("value", [None, 5, 1.5, b"0 9 * * *", ["0 9 * * *"], {}, True])
def test_only_text_is_a_spec(value: object) -> None:
    """Whatever comes from a request body is refused with the same error, hashable or not."""
    assert _refusal(value) == "spec must be text"


@pytest.mark.parametrize(
    "text",
    [
        *("1_0 * * * *", "\u0663 * * * *", "\u00b2 * * * *", "0 0 * * \u017fun", "+5 * * * *", "-1 * * * *"),
        *(
            "0\u00a09 * * *",
            "0\u30009 * * *",
            "0\x1c9 * * *",
            "0\x1f9 * * *",
            "0\x859 * * *",
            "0 9 * * *\u2028",
        ),
        *("0 9 * * *\x00", "\ufeff0 9 * * *", "\ud800 9 * * *", "0 9 * * *\x7f"),
        *("@every:\u0663", "@every:1_0", "@every: 5", "@every:5 ", "@every:5\n", "@every:+5", "@every:"),
        *("CRON_TZ=UTC\n", "CRON_TZ=UTC/ 0 9 * * *", "CRON_TZ=/UTC 0 9 * * *", "CRON_TZ=utc 0 9 * * *"),
        *("CRON_TZ=localtime 0 9 * * *", "CRON_TZ=posixrules 0 9 * * *", "CRON_TZ=Europe/../UTC 0 9 * * *"),
        *("5- * * * *", "-5 * * * *", "5-* * * * *", "*5 * * * *", "5/ * * * *", "/5 * * * *", ", * * * *"),
        *("0 0 ?,1 * *", "0 0 1,? * *", "0 0 ?/1 * *", "0 ? * * *", "0 0 * ? *", "0 0 ?? * *"),
        *("0 0 * JANUARY *", "0 0 * MO *", "0 0 * * JAN", "JAN * * * *", "0 0 * * 6-3/2", "0 0 * * SUN-8"),
        *("0 0 L * *", "0 0 LW * *", "0 0 * * 5L", "R/15 * * * *", "R(0-10) * * * *", "H(0-9) * * * *"),
    ],
)
def test_python_and_croniter_would_take_it_but_the_grammar_does_not(text: str) -> None:
    _refusal(text)


def test_length_is_bounded_before_anything_is_read() -> None:
    """A list may be as long as a spec, and no longer; a million values cost nothing."""
    longest = "0," * ((MAX_SPEC - 9) // 2) + "0 * * * *"
    assert parse_spec(longest + " " * (MAX_SPEC - len(longest))).next_after(NOON) == NOON + 3_600_000
    assert _refusal("0," * 1_000_000 + "0 * * * *") == "spec is 2000009 characters long; the limit is 1024"
    assert "1 to 253402300799999" in _refusal("@every:" + "9" * 1000)
    assert parse_spec(f"@every:{MAX_INSTANT_MS}").next_after(0) == MAX_INSTANT_MS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("61 * * * *", "minute '61': a value must be a number, 0 to 59"),
        ("0 0 * * MONDAY", "day of week 'MONDAY': a value must be a number, 0 to 7 or a name, SUN to SAT"),
        ("0 0 1 x *", "month 'x': a value must be a number, 1 to 12 or a name, JAN to DEC"),
        ("0 9 * * 1, 2", "month has an empty list element"),
        ("*/60 * * * *", "minute '*/60': a step must be 1 to 59; "),
        ("0 */24 * * *", "only the first value would be left"),
        ("*/0 * * * *", "minute '*/0': a step must be 1 to 59"),
        ("0 22-2 * * *", "hour '22-2': a range must not run backwards"),
        ("0 0 * * 6-3/2", "takes no step"),
        ("0 0 * * *  0 0", "spec has 7 fields"),
        ("@daily", "write 0 0 * * *"),
        ("@Hourly", "write 0 * * * *"),
        ("@weekly", "write 0 0 * * 0"),
        ("@reboot", "five or six cron fields"),
        ("@every 30s", "@every:<milliseconds>"),
        (" @every:5", "nothing around it"),
        ("@every:30s", "digits only"),
        ("TZ=UTC 0 9 * * *", "CRON_TZ=<zone>"),
        ("CRON_TZ= 0 9 * * *", "has no zone"),
        ("CRON_TZ=Mars/Phobos 0 9 * * *", "zone 'Mars/Phobos' is not in the time zone database"),
        (f"CRON_TZ={'A' * 65} 0 9 * * *", "is 65 characters long; the limit is 64"),
        ("CRON_TZ=UTC @every:5", "@every counts from the UTC epoch"),
        ("0\u00a09 * * *", "U+00A0 (NO-BREAK SPACE) at character 2"),
        ("0 9 * * *\x00", "U+0000 (an unnamed character) at character 10"),
        ("0 0 31 4 *", "none of its months has more than 30 days"),
        ("? * * * *", "whole of a day field"),
    ],
)
def test_a_refusal_names_field_value_and_rule(text: str, said: str) -> None:
    assert said in _refusal(text)


def test_a_refusal_quotes_only_a_short_excerpt() -> None:
    for text in ("x" * 1000 + " * * * *", "CRON_TZ=" + "x" * 900 + " 0 9 * * *", "@" + "x" * 900):
        assert len(_refusal(text)) < 250


def test_white_space_is_ascii_and_free_in_amount() -> None:
    spec = parse_spec("CRON_TZ=America/New_York\t\v\f\r\n0  9\t*\n* *  ")
    assert spec.next_after(NOON) == parse_spec("CRON_TZ=America/New_York 0 9 * * *").next_after(NOON)


def test_the_same_text_is_compiled_once() -> None:
    assert parse_spec("1 2 3 4 5") is parse_spec("1 2 3 4 5")
    assert isinstance(parse_spec("@every:5"), Spec)
    assert repr(parse_spec("1 2 3 4 *")) == "<CronSpec '1 2 3 4 *'>"
    assert parse_spec("1 2 3 4 *").text == "1 2 3 4 *"


def test_up_to_the_next_tick_the_answer_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is computed for an instant between the last one asked about and its answer."""
    spec = parse_spec("17 * * * *")
    assert isinstance(spec, CronSpec)
    search = Mock(side_effect=spec._search_forward)
    monkeypatch.setattr(spec, "_search_forward", search)
    tick = NOON + 17 * 60_000
    asked = (NOON, NOON + 1, tick - 1, NOON, tick, tick + 1, NOON)
    assert [spec.next_after(at) for at in asked] == [tick] * 4 + [tick + 3_600_000] * 2 + [tick]
    assert search.call_args_list == [call(NOON), call(tick), call(NOON)]


def test_zones_are_listed_once_and_only_when_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Mock(return_value=zoneinfo.available_timezones())
    monkeypatch.setattr(zoneinfo, "available_timezones", listed)
    zones._known_zones.cache_clear()
    parse_spec("3 1 4 1 5")
    listed.assert_not_called()
    for text in (
        "CRON_TZ=Asia/Kolkata 3 1 4 1 5",
        "CRON_TZ=Asia/Tokyo 3 1 4 1 5",
        "CRON_TZ=Asia/Seoul 3 1 4 1 5",
    ):
        parse_spec(text)
    listed.assert_called_once()


@pytest.mark.parametrize("name", ["America", "Gone/Missing"])
def test_a_listed_zone_that_does_not_load_is_an_invalid_spec(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of zones raises OSError in some Pythons, a missing file KeyError; neither may get out."""
    monkeypatch.setattr(zones, "_known_zones", lambda: {name})
    assert "not in the time zone database" in _refusal(f"CRON_TZ={name} 0 9 * * *")


@pytest.mark.parametrize("text", ["0 0 1 1 *", "@every:86400000", "CRON_TZ=UTC 0 0 * * *"])
def test_nothing_fires_before_the_epoch(text: str) -> None:
    """An instant before it is answered with the first tick there is; the epoch itself may be one."""
    spec = parse_spec(text)
    assert spec.next_after(-1) == spec.next_after(-(10**20)) == 0
    assert spec.latest_at_or_before(0) == 0
    assert spec.latest_at_or_before(-1) is None
    assert spec.latest_n(5, -(10**20), 0) == [0]


def test_no_latest_tick_before_the_first() -> None:
    assert parse_spec("0 0 29 2 *").latest_at_or_before(DAY) is None
    assert parse_spec("CRON_TZ=Asia/Tokyo 0 12 1 1 *").latest_at_or_before(0) is None


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("* * * * * *", "9999-12-31T23:59:59"),
        ("0 0 1 1 *", "9999-01-01T00:00:00"),
        ("0 0 13 * 5", "9999-12-31T00:00:00"),
        ("0 0 31 2,4,11 MON", "9999-11-29T00:00:00"),
        ("CRON_TZ=Asia/Tokyo 0 * * * *", "9999-12-31T14:00:00"),
        ("CRON_TZ=America/New_York 0 * * * *", "9999-12-31T23:00:00"),
        ("@every:86400000", "9999-12-31T00:00:00"),
    ],
)
def test_the_calendar_ends_with_the_year_9999(text: str, last: str) -> None:
    """UTC's year or the wall clock's, whichever ends first; after the last tick there is no further run."""
    spec = parse_spec(text)
    tick = _ms(last)
    assert spec.next_after(tick - 1) == tick
    assert spec.latest_at_or_before(MAX_INSTANT_MS) == spec.latest_at_or_before(10**20) == tick
    assert spec.next_after(tick) is spec.next_after(MAX_INSTANT_MS) is spec.next_after(10**20) is None


def test_one_of_two_day_fields_may_run_out_before_the_other() -> None:
    """After 13 December 9999 there is no further 13th, but there are Fridays."""
    spec = parse_spec("0 0 13 * 5")
    assert spec.next_after(_ms("9999-12-13")) == _ms("9999-12-17")


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("switching")
def test_threads_may_share_a_spec() -> None:
    """The stepper inside keeps its place; calls from several threads must not move it for one another."""
    spec = parse_spec("CRON_TZ=Europe/Berlin 7 3,15 13 * 5")
    instants = [NOON + number * 31 * DAY // 7 for number in range(400)]
    alone = [(spec.next_after(at), spec.latest_at_or_before(at)) for at in instants]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda at: (spec.next_after(at), spec.latest_at_or_before(at)), instants * 3))
    assert together == alone * 3


@pytest.mark.parametrize("n", [0, -1])
def test_no_ticks_are_no_ticks(n: int) -> None:
    assert parse_spec("* * * * *").latest_n(n, 0, NOON) == []


def test_latest_n_is_open_below_and_closed_above() -> None:
    for text in ("* * * * *", "@every:60000"):
        spec = parse_spec(text)
        assert spec.latest_n(5, NOON, NOON + 120_000) == [NOON + 60_000, NOON + 120_000]
        assert spec.latest_n(1, NOON, NOON + 120_000) == [NOON + 120_000]
        assert spec.latest_n(5, NOON, NOON) == []
        assert spec.latest_n(5, NOON + DAY, NOON) == []
