"""What is shown of the next runs."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from headgate.preview import MAX_PREVIEW, PreviewedTick, preview_ticks
from headgate.settings import MAX_INSTANT_MS
from headgate.spec import bounded, parse_spec


def _ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def _marks(text: str, after: str, n: int) -> list[tuple[str, str | None]]:
    return [(tick.local, tick.mark) for tick in preview_ticks(parse_spec(text), _ms(after), n)]


def test_a_tick_in_three_forms() -> None:
    """In milliseconds, in UTC and on the spec's own clock."""
    spec = parse_spec("CRON_TZ=America/New_York 0 9 * * *")
    assert preview_ticks(spec, _ms("2026-07-01T13:00"), 1) == [
        PreviewedTick(_ms("2026-07-02T13:00"), "2026-07-02T13:00:00+00:00", "2026-07-02T09:00:00-04:00", None)
    ]
    assert [tick.utc for tick in preview_ticks(parse_spec("@every:1250"), 0, 2)] == [
        "1970-01-01T00:00:01.250+00:00",
        "1970-01-01T00:00:02.500+00:00",
    ]


def test_a_skipped_tick_marks_the_one_after() -> None:
    assert _marks("CRON_TZ=Europe/London 30 1 * * *", "2026-03-27T12:00", 3) == [
        ("2026-03-28T01:30:00+00:00", None),
        ("2026-03-30T01:30:00+01:00", "skipped"),
        ("2026-03-31T01:30:00+01:00", None),
    ]


def test_a_merged_tick_marks_the_one_after() -> None:
    assert _marks("CRON_TZ=Europe/London */30 1,2 * * *", "2026-10-25T00:00", 3) == [
        ("2026-10-25T01:30:00+01:00", None),
        ("2026-10-25T02:00:00+00:00", "merged"),
        ("2026-10-25T02:30:00+00:00", None),
    ]


def test_a_tick_at_the_change_itself() -> None:
    """02:00 follows 00:00 at once; the 01:00 between them was skipped."""
    assert _marks("CRON_TZ=Europe/London 0 * * * *", "2026-03-28T23:30", 3) == [
        ("2026-03-29T00:00:00+00:00", None),
        ("2026-03-29T02:00:00+01:00", "skipped"),
        ("2026-03-29T03:00:00+01:00", None),
    ]


def test_the_first_tick_may_be_marked() -> None:
    """What counts is the tick before it, even if the preview starts after the change."""
    assert _marks("CRON_TZ=Europe/London 30 1 * * *", "2026-03-29T12:00", 2) == [
        ("2026-03-30T01:30:00+01:00", "skipped"),
        ("2026-03-31T01:30:00+01:00", None),
    ]


def test_a_skip_outweighs_a_merge() -> None:
    yearly = _marks("CRON_TZ=Europe/London 30 1 25,29 3,10 *", "2026-03-26", 3)
    assert yearly[0] == ("2026-10-25T01:30:00+01:00", "skipped")
    assert yearly[1] == ("2026-10-29T01:30:00+00:00", "merged")


def test_changes_that_touch_no_tick_mark_none() -> None:
    assert all(mark is None for _, mark in _marks("CRON_TZ=Europe/London 0 9 * * *", "2026-01-01", 365))


def test_a_spec_may_end() -> None:
    spec = bounded(parse_spec("@every:1000"), 5000, 7000)
    assert [tick.tick_ms for tick in preview_ticks(spec, 0, 10)] == [5000, 6000, 7000]
    assert preview_ticks(spec, 7000, 10) == []
    tokyo = parse_spec("CRON_TZ=Asia/Tokyo 0 * * * *")
    assert preview_ticks(tokyo, MAX_INSTANT_MS - 86_400_000, 100)[-1].local == "9999-12-31T23:00:00+09:00"


@pytest.mark.parametrize("n", [0, -1, MAX_PREVIEW + 1])
def test_the_number_is_bounded(n: int) -> None:
    with pytest.raises(ValueError, match="n must be 1 to 1000"):
        preview_ticks(parse_spec("@every:1000"), 0, n)


def test_the_rarest_ticks_of_all() -> None:
    """Four thousand years of clock changes; nothing is stepped through but the ticks."""
    begun = time.perf_counter()
    ticks = preview_ticks(parse_spec("CRON_TZ=Europe/London 30 1 29 2 *"), 0, MAX_PREVIEW)
    assert len(ticks) == MAX_PREVIEW
    assert time.perf_counter() - begun < 3
