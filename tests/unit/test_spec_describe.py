"""Specs in words: true for every value, and the same on every machine."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from headgate.spec import cron, parse_spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 9 * * *", "At 09:00 (UTC)"),
        ("15 30 9 * * *", "At 09:30:15 (UTC)"),
        ("* * * * * *", "Every second (UTC)"),
        ("*/15 * * * *", "Every 15 minutes (UTC)"),
        ("0 */2 * * *", "Every 2 hours (UTC)"),
        ("0 9 * * MON-FRI", "At 09:00, Monday through Friday (UTC)"),
        ("30 1,2 * * *", "At 01:30 and 02:30 (UTC)"),
        ("CRON_TZ=America/New_York 0 9 * * *", "At 09:00 (America/New_York)"),
        ("CRON_TZ=UTC 0 9 * * *", "At 09:00 (UTC)"),
        ("0 0 13 * 5", "At 00:00, on day 13 of the month, or on Friday (UTC)"),
    ],
)
def test_cron_in_words(text: str, said: str) -> None:
    """Twenty-four hours, both day fields joined by "or", the zone at the end."""
    assert parse_spec(text).describe() == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 9 * * 0-7", "At 09:00 (UTC)"),
        ("0 9 * * 7-7", "At 09:00, only on Sunday (UTC)"),
        ("0 22 * * */2", "At 22:00, only on Sunday, Tuesday, Thursday, and Saturday (UTC)"),
        ("0 9 * * 1/2", "At 09:00, only on Monday, Wednesday, and Friday (UTC)"),
        ("0 6 */10 * *", "At 06:00, on day 1, 11, 21, and 31 of the month (UTC)"),
        ("0 0 1-31 * *", "At 00:00 (UTC)"),
        ("0 0 15 * 0-6", "At 00:00 (UTC)"),
        ("0 0 31 2 MON", "At 00:00, only on Monday, only in February (UTC)"),
        ("*/59 * * * *", "At 0 and 59 minutes past the hour (UTC)"),
        ("50/15 * * * *", "At 50 minutes past the hour (UTC)"),
        ("5-5 * * * *", "At 5 minutes past the hour (UTC)"),
        ("*/7 * * * *", "Every 7 minutes, minutes 0 through 56 past the hour (UTC)"),
        ("0 0 1 */5 *", "At 00:00, on day 1 of the month, only in January, June, and November (UTC)"),
    ],
)
def test_words_follow_the_values_and_not_the_text(text: str, said: str) -> None:
    """A step that does not divide its field is no "every", a full list no restriction."""
    assert parse_spec(text).describe() == said


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (1, "Every millisecond"),
        (250, "Every 250 milliseconds"),
        (1_000, "Every second"),
        (90_000, "Every 1 minute 30 seconds"),
        (3_600_000, "Every hour"),
        (7_200_000, "Every 2 hours"),
        (86_400_000, "Every day"),
        (90_061_001, "Every 1 day 1 hour 1 minute 1 second 1 millisecond"),
    ],
)
def test_intervals_in_words(ms: int, said: str) -> None:
    """An interval says where it counts from, since that decides when it fires."""
    assert parse_spec(f"@every:{ms}").describe() == f"{said}, counted from 1970-01-01 00:00 UTC"


def test_words_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    described = Mock(return_value="some time")
    monkeypatch.setattr(cron, "describe_fields", described)
    spec = parse_spec("CRON_TZ=Asia/Tokyo 41 1 2 3 *")
    described.assert_not_called()
    assert spec.describe() == spec.describe() == "some time"
    described.assert_called_once()
