"""Counts agree with stepping from tick to tick, and cost the same however many ticks there are."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headgate.settings import MAX_INSTANT_MS
from headgate.spec import Spec, bounded, parse_spec
from tests.property.specs import CHANGES, INSTANTS, LAWS, SPECS, cron_texts, utc_ms

DAY = 86_400_000
MANY = 500
FAR_INSTANTS = st.one_of(INSTANTS, st.sampled_from((-1, 0, utc_ms("2100-01-01"), MAX_INSTANT_MS, MAX_INSTANT_MS + 1)))


def _stepped(spec: Spec, after: int, until: int) -> int:
    """How many ticks stepping finds; too many are no example."""
    count, at = 0, after
    while (tick := spec.next_after(at)) is not None and tick <= until:
        count, at = count + 1, tick
        assume(count < MANY)
    return count


@LAWS
@given(spec=SPECS, after=FAR_INSTANTS, span=st.integers(-DAY, 45 * DAY))
def test_a_count_is_what_stepping_finds(spec: Spec, after: int, span: int) -> None:
    assert spec.count(after, after + span) == _stepped(spec, after, after + span)


@LAWS
@given(
    text=cron_texts(zoned=True),
    change=st.sampled_from(CHANGES),
    before=st.integers(0, 60 * 3600),
    later=st.integers(0, 60 * 3600),
)
def test_a_count_around_a_clock_change_is_what_stepping_finds(
    text: str, change: tuple[str, int], before: int, later: int
) -> None:
    """What the clock skips is no tick, what it repeats is one; to the second on both sides."""
    zone, at = change
    spec = parse_spec(f"CRON_TZ={zone} {text.split(' ', 1)[1]}")
    for after, until in (
        (at - before * 1000, at + later * 1000),
        (at - 1, at + later * 1000),
        (at - before * 1000, at),
    ):
        assert spec.count(after, until) == _stepped(spec, after, until)


@LAWS
@given(spec=SPECS, instants=st.lists(FAR_INSTANTS, min_size=3, max_size=6).map(sorted))
def test_counts_add_up(spec: Spec, instants: list[int]) -> None:
    """Wherever a range is cut, over any number of years, and nothing lies outside the calendar."""
    parts = sum(spec.count(after, until) for after, until in pairwise(instants))
    assert parts == spec.count(instants[0], instants[-1])
    assert spec.count(instants[-1], instants[0]) == 0
    assert spec.count(-(10**20), 10**20) == spec.count(-1, MAX_INSTANT_MS)


@LAWS
@given(spec=SPECS, at=FAR_INSTANTS, bounds=st.tuples(FAR_INSTANTS, FAR_INSTANTS), span=st.integers(0, 30 * DAY))
def test_a_bounded_spec_has_the_ticks_within_its_bounds(
    spec: Spec, at: int, bounds: tuple[int, int], span: int
) -> None:
    """Both bounds included; whatever is asked, as if the ticks outside had never been there."""
    starts, ends = bounds
    within = bounded(spec, starts, ends)
    following, latest = within.next_after(at), within.latest_at_or_before(at)
    expected = spec.next_after(max(at, starts - 1))
    assert following == (expected if expected is not None and expected <= ends else None)
    expected = spec.latest_at_or_before(min(at, ends))
    assert latest == (expected if expected is not None and expected >= starts else None)
    assert within.count(at, at + span) == max(0, spec.count(max(at, starts - 1), min(at + span, ends)))
    assert within.latest_n(3, at, at + span) == spec.latest_n(3, max(at, starts - 1), min(at + span, ends))


@pytest.mark.parametrize(
    ("text", "after", "until", "count"),
    [
        ("* * * * *", "2026-01-01", "2076-01-01", 26_297_280),
        ("* * * * * *", "1999-12-31", "2000-12-31", 366 * 86_400),
        ("CRON_TZ=Europe/London 30 1 * * *", "2025-12-31T12:00", "2026-12-31T12:00", 364),
        ("CRON_TZ=Europe/London * * * * *", "2026-10-24T23:00", "2026-10-26T00:00", 24 * 60),
        ("CRON_TZ=Australia/Lord_Howe * * * * *", "2024-10-05T13:30", "2024-10-06T13:00", 23 * 60 + 30),
        ("CRON_TZ=Pacific/Apia 0 12 30 12 *", "2010-12-01", "2013-01-01", 2),
        ("0 0 29 2 *", "1999-01-01", "2401-01-01", 98),
        ("0 0 13 * 5", "2026-01-01", "2027-01-01", 12 + 53 - 3),
    ],
)
def test_counts_worked_out_by_hand(text: str, after: str, until: str, count: int) -> None:
    assert parse_spec(text).count(utc_ms(after), utc_ms(until)) == count


def test_a_count_steps_nowhere() -> None:
    """Every second of the calendar takes no longer than a few hundred years of clock changes."""
    spec = parse_spec("CRON_TZ=Africa/Casablanca * * * * * *")
    begun = time.perf_counter()
    assert spec.count(-1, MAX_INSTANT_MS) > 250_000_000_000
    assert time.perf_counter() - begun < 2
