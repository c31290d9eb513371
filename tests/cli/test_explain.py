"""`headgate explain`: what a spec means, its next runs in its zone and in UTC, or why it is none; without a store."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from headgate.cli.explain import explanation
from headgate.errors import InvalidSpec
from headgate.settings import MAX_INSTANT_MS
from headgate.spec import parse_spec
from tests.cli.conftest import Ended, check_refused
from tests.support.commands import run_to_end

BEFORE_THE_CHANGE = int(datetime(2026, 10, 24, 12, tzinfo=UTC).timestamp()) * 1000
"""The day before Berlin's clocks go back."""


def test_a_cron_in_a_zone_shows_both_clocks_across_a_change() -> None:
    assert explanation(parse_spec("CRON_TZ=Europe/Berlin 0 9 * * *"), BEFORE_THE_CHANGE) == [
        "At 09:00 (Europe/Berlin)",
        "",
        "  Sun 2026-10-25 09:00:00 CET  =  Sun 2026-10-25 08:00:00 UTC",
        "  Mon 2026-10-26 09:00:00 CET  =  Mon 2026-10-26 08:00:00 UTC",
        "  Tue 2026-10-27 09:00:00 CET  =  Tue 2026-10-27 08:00:00 UTC",
        "  Wed 2026-10-28 09:00:00 CET  =  Wed 2026-10-28 08:00:00 UTC",
        "  Thu 2026-10-29 09:00:00 CET  =  Thu 2026-10-29 08:00:00 UTC",
    ]


def test_milliseconds_are_shown_where_there_are_any() -> None:
    lines = explanation(parse_spec("@every:1500"), BEFORE_THE_CHANGE)
    assert lines[2:5] == [
        "  Sat 2026-10-24 12:00:01.500 UTC",
        "  Sat 2026-10-24 12:00:03 UTC",
        "  Sat 2026-10-24 12:00:04.500 UTC",
    ]


def test_the_end_of_the_calendar_is_said() -> None:
    assert explanation(parse_spec(f"@every:{MAX_INSTANT_MS}"), 0)[2:] == [
        "  Fri 9999-12-31 23:59:59.999 UTC",
        "  and no further run",
    ]


def test_the_last_runs_of_the_calendar_have_a_local_time_in_every_zone() -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        spec = parse_spec(f"CRON_TZ={zone} 59 * * * *")
        assert explanation(spec, MAX_INSTANT_MS - 36 * 3_600_000)[2:]


@pytest.mark.parametrize("spec", ["@every:3600000", "*/5 * * * *", "CRON_TZ=America/New_York 30 1 * * SUN"])
def test_the_runs_are_the_next_ones_from_now(ended: Callable[..., Ended], folder: Path, spec: str) -> None:
    began_ms = time.time_ns() // 1_000_000
    code, lines = ended("explain", spec)
    over_ms = time.time_ns() // 1_000_000
    assert code == 0
    compiled = parse_spec(spec)
    assert lines[0] == compiled.describe()
    assert len(lines) == 7
    shown = [re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", line) for line in lines[2:]]
    ticks = [round(datetime.fromisoformat(f"{texts[-1]}+00:00").timestamp() * 1000) for texts in shown]
    assert ticks[0] in {compiled.next_after(began_ms), compiled.next_after(over_ms)}
    assert [compiled.next_after(tick) for tick in ticks[:-1]] == ticks[1:]
    if compiled.zone:
        for texts, tick in zip(shown, ticks, strict=True):
            local = datetime.fromtimestamp(tick / 1000, ZoneInfo(compiled.zone))
            assert texts[0] == f"{local:%Y-%m-%d %H:%M:%S}"
    assert list(folder.iterdir()) == [], "it is offline"


@pytest.mark.parametrize("spec", ["61 * * * *", "", "@every:0", "CRON_TZ=Berlin 0 9 * * *", "0 0 30 2 *", "-5 * * * *"])
def test_a_bad_spec_is_refused_in_the_words_of_the_refusal(
    ended: Callable[..., Ended], folder: Path, spec: str
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(spec)
    check_refused(ended("explain", spec), folder, caught.value.message)


def test_it_is_a_command(folder: Path, program: tuple[str, ...]) -> None:
    code, lines = run_to_end("explain", "CRON_TZ=Europe/Berlin 0 9 * * *", cwd=folder, program=program)
    assert (code, lines[0], len(lines)) == (0, "At 09:00 (Europe/Berlin)", 7)
