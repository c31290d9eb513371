"""What holds for every spec and every instant, and an oracle that counts minutes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from unittest.mock import Mock
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.spec import Spec, parse_spec
from headgate.spec.cron import CronSpec
from headgate.spec.grammar import parse_fields
from headgate.spec.zones import split_zone
from tests.property.specs import CHANGES, INSTANTS, LAWS, MINUTE, SPECS, YEAR, cron_texts, refusal_of, utc_ms


@LAWS
@given(spec=SPECS, at=INSTANTS)
def test_next_is_the_first_tick_strictly_after(spec: Spec, at: int) -> None:
    """It is a tick, it is later, and looking back from just before it leads to `at` or earlier."""
    tick = spec.next_after(at)
    if tick is None:
        return
    assert tick > at
    assert spec.latest_at_or_before(tick) == tick
    before = spec.latest_at_or_before(tick - 1)
    assert before is None or before <= at


@LAWS
@given(spec=SPECS, at=INSTANTS)
def test_latest_is_the_last_tick_not_after(spec: Spec, at: int) -> None:
    """It is a tick, it is not later, and no tick lies between it and `at`."""
    tick = spec.latest_at_or_before(at)
    if tick is None:
        assert (spec.next_after(-1) or at + 1) > at
        return
    assert tick <= at
    assert spec.next_after(tick - 1) == tick
    assert (spec.next_after(tick) or at + 1) > at


@LAWS
@given(spec=SPECS, until=INSTANTS, n=st.integers(0, 12), span=st.integers(0, YEAR))
def test_latest_n_are_consecutive_ticks_up_to_the_end(spec: Spec, until: int, n: int, span: int) -> None:
    """Stepping forward from the first gives the others; fewer than `n` means there were no more."""
    after = until - span
    ticks = spec.latest_n(n, after, until)
    assert len(ticks) <= n
    assert all(after < tick <= until for tick in ticks)
    assert all(spec.next_after(tick) == following for tick, following in pairwise(ticks))
    if ticks:
        assert (spec.next_after(ticks[-1]) or until + 1) > until
    if len(ticks) < n:
        first = spec.next_after(after)
        assert first == ticks[0] if ticks else first is None or first > until


@LAWS
@given(text=cron_texts(), instants=st.lists(st.integers(0, 20), min_size=2, max_size=6), start=INSTANTS)
def test_answers_do_not_depend_on_what_was_asked_before(text: str, instants: list[int], start: int) -> None:
    """What a spec remembers never shows: a used one and a new one agree."""
    zone, cron = split_zone(text)
    fields = parse_fields(cron)
    used = CronSpec(text, fields, zone)
    for at in (start + offset * MINUTE for offset in instants):
        assert used.next_after(at) == CronSpec(text, fields, zone).next_after(at)


@LAWS
@given(text=cron_texts(), at=st.integers(0, utc_ms("2200-01-01T00:00")))
def test_what_is_accepted_fires(text: str, at: int) -> None:
    assert parse_spec(text).next_after(at) is not None


@dataclass(frozen=True)
class Wanted:
    """A cron spec as plain sets, so that the oracle shares nothing with the parser."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    weekdays: frozenset[int] | None

    @property
    def text(self) -> str:
        parts = (self.minutes, self.hours, self.days, None, self.weekdays)
        return " ".join("*" if part is None else ",".join(map(str, part)) for part in parts)

    def matches(self, wall: datetime) -> bool:
        in_days = self.days is not None and wall.day in self.days
        in_weekdays = self.weekdays is not None and wall.isoweekday() % 7 in self.weekdays
        any_day = self.days is None and self.weekdays is None
        return wall.minute in self.minutes and wall.hour in self.hours and (in_days or in_weekdays or any_day)


def _sets(first: int, last: int, fewest: int = 1) -> st.SearchStrategy[frozenset[int]]:
    return st.one_of(
        st.just(frozenset(range(first, last + 1))),
        st.frozensets(st.integers(first, last), min_size=fewest, max_size=6),
    )


WANTED = st.builds(
    Wanted, _sets(0, 59), _sets(0, 23), st.one_of(st.none(), _sets(1, 31)), st.one_of(st.none(), _sets(0, 6))
)


@cache
def _minutes_around(zone: str, change: int) -> list[tuple[int, datetime]]:
    """Every minute from three days before a clock change to three days after, if shown for the first time."""
    seen: set[datetime] = set()
    minutes = []
    for ms in range(change - 4320 * MINUTE, change + 4320 * MINUTE, MINUTE):
        wall = (datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)).astimezone(ZoneInfo(zone))
        shown = wall.replace(tzinfo=None, fold=0)
        if shown not in seen:
            seen.add(shown)
            minutes.append((ms, shown))
    return minutes


@LAWS
@given(
    wanted=WANTED,
    change=st.sampled_from(CHANGES),
    offsets=st.lists(st.integers(-1560 * MINUTE, 1560 * MINUTE), min_size=8, max_size=8),
)
def test_an_oracle_that_walks_the_minutes_agrees(wanted: Wanted, change: tuple[str, int], offsets: list[int]) -> None:
    """Around a clock change: a skipped time never fires, a repeated one the first time it is shown."""
    zone, centre = change
    minutes = _minutes_around(zone, centre)
    ticks = [ms for ms, wall in minutes if wanted.matches(wall)]
    spec = parse_spec(f"CRON_TZ={zone} {wanted.text}")
    for at in (centre, centre - 1, *(centre + offset for offset in offsets)):
        following = next((tick for tick in ticks if tick > at), None)
        latest = next((tick for tick in reversed(ticks) if tick <= at), None)
        found = spec.next_after(at)
        assert found == following if following else found is None or found > minutes[-1][0]
        found = spec.latest_at_or_before(at)
        assert found == latest if latest else found is None or found < minutes[0][0]
    assert spec.latest_n(5, minutes[0][0] - 1, minutes[-1][0]) == ticks[-5:]


@pytest.mark.parametrize(("zone", "change"), CHANGES)
def test_every_minute_around_a_change(zone: str, change: int) -> None:
    """The densest spec, asked minute by minute, fires exactly when the clock shows something new."""
    spec = parse_spec(f"CRON_TZ={zone} * * * * *")
    ticks = [ms for ms, _ in _minutes_around(zone, change) if abs(ms - change) <= 240 * MINUTE]
    at = ticks[0]
    for tick in ticks[1:]:
        assert spec.next_after(at) == tick
        assert spec.latest_at_or_before(tick - 1) == at
        at = tick


ALPHABET = "0123456789*/-,?@=#LWHRJANSUMOFri_. \t\n\v\u00a0\u0663\x00"
PREFIXES = st.sampled_from(("", "@every:", "@", "CRON_TZ=", "CRON_TZ=UTC ", "CRON_TZ=Asia/Tokyo\t", "0 0 "))


@settings(LAWS, max_examples=800)
@given(
    prefix=PREFIXES,
    text=st.one_of(st.text(ALPHABET, max_size=30), st.text(), st.text(ALPHABET, min_size=900)),
)
def test_no_text_raises_anything_but_invalid_spec(prefix: str, text: str) -> None:
    """And the refusal is short and printable, whatever was in the text."""
    said = refusal_of(prefix + text)
    if said is None:
        spec = parse_spec(prefix + text)
        spec.next_after(0)
        said = spec.describe()
    assert len(said) < 300
    assert said.isprintable()
    assert said.replace("…", "").isascii()


@pytest.mark.parametrize(
    ("text", "after", "until"),
    [
        ("* * * * * *", 1000, utc_ms("2024-05-15T12:00")),
        ("CRON_TZ=America/New_York * * * * * *", utc_ms("2024-03-10T06:59:59"), utc_ms("2024-11-03T06:59:59")),
        ("CRON_TZ=Pacific/Apia * * 30 12 *", utc_ms("2011-12-29T00:00"), utc_ms("2011-12-31T12:00")),
        ("CRON_TZ=Antarctica/Troll * * * * * *", utc_ms("2024-03-31T00:59:59"), utc_ms("2024-10-27T02:59:59")),
    ],
)
def test_no_answer_enumerates_what_lies_between(
    text: str, after: int, until: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Years of an outage, a skipped day and a repeated stretch each cost a few steps."""
    spec = parse_spec(text)
    assert isinstance(spec, CronSpec)
    steps = Mock(wraps=spec._walls)
    monkeypatch.setattr(spec, "_walls", steps)
    spec.next_after(after)
    spec.latest_at_or_before(until)
    spec.latest_n(3, after, until)
    assert len(steps.method_calls) <= 10
