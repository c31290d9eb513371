"""Why an instant is a tick or is not, around the clock changes of London in 2026."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headgate.settings import MAX_INSTANT_MS
from headgate.spec import InstantKind, bounded, explain_instant, parse_spec

MINUTE = 60_000
HALF_PAST_ONE = parse_spec("CRON_TZ=Europe/London 30 1 * * *")


def _ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def _wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_tick_and_its_neighbours() -> None:
    facts = explain_instant(HALF_PAST_ONE, _ms("2026-06-10T00:30"))
    assert facts.kind is InstantKind.TICK
    assert (facts.before_ms, facts.after_ms) == (_ms("2026-06-09T00:30"), _ms("2026-06-11T00:30"))
    assert [facts.wall, facts.start, facts.end, facts.first_ms] == [None] * 4


@pytest.mark.parametrize("at", ["2026-06-10T00:29:59.999", "2026-06-10T00:30:00.001", "2026-06-10T01:30"])
def test_not_a_tick_has_the_nearest_two(at: str) -> None:
    facts = explain_instant(HALF_PAST_ONE, _ms(at))
    assert facts.kind is InstantKind.NOT_A_TICK
    assert facts.before_ms is not None
    assert facts.after_ms is not None
    assert facts.before_ms < _ms(at) < facts.after_ms
    assert facts.after_ms - facts.before_ms == 24 * 60 * MINUTE


def test_a_time_that_the_clock_skipped() -> None:
    """Asked about by the instant it would have been: 01:30 GMT, when the clock showed 02:30."""
    facts = explain_instant(HALF_PAST_ONE, _ms("2026-03-29T01:30"))
    assert facts.kind is InstantKind.IN_GAP
    assert facts.wall == _wall("2026-03-29T01:30")
    assert (facts.start, facts.end) == (_wall("2026-03-29T01:00"), _wall("2026-03-29T02:00"))
    assert (facts.before_ms, facts.after_ms) == (_ms("2026-03-28T01:30"), _ms("2026-03-30T00:30"))
    assert facts.first_ms is None


@pytest.mark.parametrize(
    ("at", "kind"),
    [
        ("2026-03-29T01:30:00.001", "not_a_tick"),
        ("2026-03-29T01:31", "not_a_tick"),
        ("2026-03-29T00:30", "not_a_tick"),
        ("2026-03-29T02:30", "not_a_tick"),
        ("2026-03-30T01:30", "not_a_tick"),
        ("2026-10-25T01:30:00.001", "not_a_tick"),
        ("2026-10-25T01:31", "not_a_tick"),
        ("2026-10-25T02:30", "not_a_tick"),
        ("2026-10-25T00:30", "tick"),
        ("2026-10-25T01:30", "repeated"),
    ],
)
def test_only_the_very_time_is_explained_by_the_change(at: str, kind: str) -> None:
    assert explain_instant(HALF_PAST_ONE, _ms(at)).kind == kind


@pytest.mark.parametrize("at", ["2026-03-29T02:30", "2026-10-25T03:30"])
def test_a_change_takes_nothing_after_its_stretch(at: str) -> None:
    """02:30 is shown on both days, and fires; an hour too late is only an hour too late."""
    spec = parse_spec("CRON_TZ=Europe/London 30 2 * * *")
    assert explain_instant(spec, _ms(at)).kind is InstantKind.NOT_A_TICK


def test_a_time_shown_twice() -> None:
    """The second one did not fire, as the first did."""
    facts = explain_instant(HALF_PAST_ONE, _ms("2026-10-25T01:30"))
    assert facts.kind is InstantKind.REPEATED
    assert facts.first_ms == facts.before_ms == _ms("2026-10-25T00:30")
    assert facts.wall == _wall("2026-10-25T01:30")
    assert (facts.start, facts.end) == (_wall("2026-10-25T01:00"), _wall("2026-10-25T02:00"))


def test_what_fires_is_a_tick_whatever_the_change_took() -> None:
    """At 02:30 after the change a spec of every half hour fires: nobody asks about its 01:30."""
    every = parse_spec("CRON_TZ=Europe/London */30 * * * *")
    assert explain_instant(every, _ms("2026-03-29T01:30")).kind is InstantKind.TICK
    assert explain_instant(every, _ms("2026-10-25T01:30")).kind is InstantKind.REPEATED


def test_a_day_that_never_was() -> None:
    noon = parse_spec("CRON_TZ=Pacific/Apia 0 12 30 12 *")
    facts = explain_instant(noon, _ms("2011-12-30T22:00"))
    assert facts.kind is InstantKind.IN_GAP
    assert facts.wall == _wall("2011-12-30T12:00")
    assert (facts.start, facts.end) == (_wall("2011-12-30T00:00"), _wall("2011-12-31T00:00"))


def test_outside_its_bounds_no_change_is_to_blame() -> None:
    at = _ms("2026-03-29T01:30")
    for starts, ends in ((at + 1, None), (None, at - 1)):
        assert explain_instant(bounded(HALF_PAST_ONE, starts, ends), at).kind is InstantKind.NOT_A_TICK
    assert explain_instant(bounded(HALF_PAST_ONE, at, at), at).kind is InstantKind.NOT_A_TICK
    assert explain_instant(bounded(HALF_PAST_ONE, at - 60 * MINUTE, at), at).kind is InstantKind.IN_GAP


def test_an_interval_knows_no_clock() -> None:
    every = parse_spec("@every:1000")
    assert explain_instant(every, 5000).kind is InstantKind.TICK
    facts = explain_instant(every, 5001)
    assert (facts.kind, facts.before_ms, facts.after_ms) == (InstantKind.NOT_A_TICK, 5000, 6000)


def test_the_ends_of_the_calendar() -> None:
    """No tick before the first and none after the last; a clock ahead of UTC ends before it."""
    assert explain_instant(parse_spec("0 0 * * *"), 0).before_ms is None
    assert explain_instant(parse_spec("@every:1000"), MAX_INSTANT_MS).after_ms is None
    assert explain_instant(parse_spec("CRON_TZ=Asia/Tokyo 0 0 * * *"), MAX_INSTANT_MS).after_ms is None
