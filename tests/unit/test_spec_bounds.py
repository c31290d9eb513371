"""A spec between two instants."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from headgate.settings import MAX_INSTANT_MS
from headgate.spec import bounded, parse_spec
from headgate.spec.clock import Clock

DAY = 86_400_000
NOON = 1_715_774_400_000


def test_without_bounds_it_is_the_spec_itself() -> None:
    spec = parse_spec("0 9 * * *")
    assert bounded(spec, None, None) is spec


def test_both_bounds_are_inclusive() -> None:
    spec = bounded(parse_spec("@every:1000"), 5000, 8000)
    assert [spec.next_after(at) for at in (-1, 4999, 5000, 7999, 8000, 10**20)] == [5000, 5000, 6000, 8000, None, None]
    assert [spec.latest_at_or_before(at) for at in (4999, 5000, 8000, 10**20)] == [None, 5000, 8000, 8000]
    assert spec.latest_n(10, 0, 10**20) == [5000, 6000, 7000, 8000]
    assert (spec.count(-1, 10**20), spec.count(5000, 7999), spec.count(8000, 9000)) == (4, 2, 0)


def test_one_bound_leaves_the_other_side_open() -> None:
    spec = parse_spec("@every:1000")
    assert bounded(spec, 5000, None).next_after(MAX_INSTANT_MS - 1000) == spec.next_after(MAX_INSTANT_MS - 1000)
    assert bounded(spec, 5000, None).latest_at_or_before(4999) is None
    assert bounded(spec, None, 5000).next_after(-1) == 0
    assert bounded(spec, None, 5000).next_after(5000) is None


def test_bounds_that_leave_nothing() -> None:
    """Between two ticks, or the wrong way round: it never fires, and says so without an error."""
    for starts, ends in ((5001, 5999), (8000, 5000)):
        spec = bounded(parse_spec("@every:1000"), starts, ends)
        assert spec.next_after(-1) is spec.latest_at_or_before(10**20) is None
        assert spec.latest_n(5, -1, 10**20) == []
        assert spec.count(-1, 10**20) == 0
        assert spec.changes(-1, 10**20) == []


def test_bounds_within_bounds_narrow_them() -> None:
    spec = bounded(bounded(parse_spec("@every:1000"), 2000, 8000), None, 9000)
    assert (spec.starts_at_ms, spec.ends_at_ms) == (2000, 8000)
    assert bounded(spec, 3000, 4000).latest_n(9, -1, 10**20) == [3000, 4000]


def test_it_is_its_spec_in_everything_else() -> None:
    inner = parse_spec("CRON_TZ=Europe/London 30 1 * * *")
    spec = bounded(inner, NOON, NOON + 400 * DAY)
    assert (spec.text, spec.zone, spec.fields, spec.interval_ms) == (inner.text, inner.zone, inner.fields, None)
    assert bounded(parse_spec("@every:1000"), 0, None).interval_ms == 1000
    (autumn, spring) = spec.changes(-1, 10**20)
    assert [autumn, spring] == Clock(ZoneInfo("Europe/London")).changes(NOON, NOON + 400 * DAY)
    assert spec.names(spring.start, spring.end) == 1
    assert spec.clock.shown(NOON).isoformat() == "2024-05-15T13:00:00+01:00"


def test_it_says_its_bounds() -> None:
    spec = parse_spec("CRON_TZ=Asia/Tokyo 0 9 * * *")
    said = "At 09:00 (Asia/Tokyo), "
    assert bounded(spec, NOON, None).describe() == said + "from 2024-05-15 12:00:00 UTC"
    assert bounded(spec, None, NOON).describe() == said + "until 2024-05-15 12:00:00 UTC"
    both = "from 2024-05-15 12:00:00 UTC until 2024-05-16 12:00:00 UTC"
    assert bounded(spec, NOON, NOON + DAY).describe() == said + both
