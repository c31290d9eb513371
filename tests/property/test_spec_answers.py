"""What is said about any instant, and of what is to come, agrees with the ticks themselves."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headgate.preview import preview_ticks
from headgate.spec import InstantKind, Spec, explain_instant, parse_spec, warnings
from tests.property.specs import CHANGES, INSTANTS, LAWS, SPECS, cron_texts

CODES = {
    "every_second",
    "day_fields_union",
    "leap_day",
    "short_months",
    "clock_gap",
    "clock_repeat",
    "clock_pause",
}


@LAWS
@given(spec=SPECS, at=INSTANTS)
def test_an_instant_is_a_tick_or_lies_between_two(spec: Spec, at: int) -> None:
    for ms in (at, spec.next_after(at) or at):
        facts = explain_instant(spec, ms)
        assert (facts.kind is InstantKind.TICK) == (spec.next_after(ms - 1) == ms)
        assert (facts.before_ms, facts.after_ms) == (spec.latest_at_or_before(ms - 1), spec.next_after(ms))


@LAWS
@given(text=cron_texts(zoned=True), change=st.sampled_from(CHANGES), minute=st.integers(-30, 1500))
def test_a_change_is_blamed_exactly_for_the_times_it_took(text: str, change: tuple[str, int], minute: int) -> None:
    """The same fields read in UTC say which wall times are meant."""
    zone, at = change
    cron = text.split(" ", 1)[1]
    spec, plain = parse_spec(f"CRON_TZ={zone} {cron}"), parse_spec(cron)
    (found,) = spec.changes(at - 1, at)
    ms = at + minute * 60_000
    facts = explain_instant(spec, ms)
    wall_ms = int(found.start.replace(tzinfo=UTC).timestamp()) * 1000 + ms - at
    meant = 0 <= ms - at < found.length_ms and plain.count(wall_ms - 1, wall_ms) == 1
    if meant and facts.kind is not InstantKind.TICK:
        assert facts.kind is (InstantKind.IN_GAP if found.skips else InstantKind.REPEATED)
        assert facts.wall == datetime.fromtimestamp(wall_ms // 1000, UTC).replace(tzinfo=None)
    else:
        assert facts.kind in {InstantKind.TICK, InstantKind.NOT_A_TICK}
    assert (facts.first_ms is not None) == (facts.kind is InstantKind.REPEATED)
    assert facts.first_ms is None or spec.latest_at_or_before(facts.first_ms) == facts.first_ms


@LAWS
@given(spec=SPECS, at=INSTANTS, n=st.integers(1, 20))
def test_a_preview_has_the_next_ticks(spec: Spec, at: int, n: int) -> None:
    """In each form; a mark stands where the fields name more times between two ticks than fired."""
    ticks = preview_ticks(spec, at, n)
    assert [tick.tick_ms for tick in ticks[:1]] == [tick for tick in (spec.next_after(at),) if tick is not None]
    assert all(spec.next_after(before.tick_ms) == after.tick_ms for before, after in pairwise(ticks))
    assert len(ticks) == n or spec.next_after(ticks[-1].tick_ms if ticks else at) is None
    for tick in ticks:
        shown = [datetime.fromisoformat(text) for text in (tick.utc, tick.local)]
        assert shown[0] == shown[1]
        assert int(shown[0].replace(microsecond=0).timestamp()) == tick.tick_ms // 1000
        before = spec.latest_at_or_before(tick.tick_ms - 1)
        changes = spec.changes(at if before is None else before, tick.tick_ms)
        taken = {change.skips for change in changes if spec.names(change.start, change.end)}
        assert tick.mark == ("skipped" if True in taken else "merged" if taken else None)


@LAWS
@given(spec=SPECS, now=INSTANTS)
def test_any_spec_is_warned_about_in_sentences(spec: Spec, now: int) -> None:
    """Of known codes, each once."""
    found = warnings(spec, now)
    assert {warning.code for warning in found} <= CODES
    assert len({warning.code for warning in found}) == len(found)
    assert all(warning.message.endswith(".") and len(warning.message) < 250 for warning in found)
