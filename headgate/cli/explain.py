"""``headgate explain SPEC``: what a spec means and when it fires next. It needs no store."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from headgate.spec import Spec, parse_spec

_RUNS: Final = 5


def add_to(command: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    command.add_argument("spec", metavar="SPEC", help="@every:<ms> or cron, as in 'CRON_TZ=Europe/Berlin 0 9 * * *'")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the description and the next runs; raises `InvalidSpec`."""
    print("\n".join(explanation(parse_spec(options.spec), time.time_ns() // 1_000_000)))


def explanation(spec: Spec, now_ms: int) -> list[str]:
    """What it means, and the next runs after an instant: in its zone, if it has one, and in UTC."""
    lines = [spec.describe(), ""]
    zones: list[tzinfo] = [ZoneInfo(spec.zone), UTC] if spec.zone else [UTC]
    tick_ms = spec.next_after(now_ms)
    while tick_ms is not None and len(lines) < _RUNS + 2:
        lines.append("  " + "  =  ".join(_clock(tick_ms, zone) for zone in zones))
        tick_ms = spec.next_after(tick_ms)
    if tick_ms is None:
        lines.append("  and no further run")
    return lines


def _clock(tick_ms: int, zone: tzinfo) -> str:
    at = datetime.fromtimestamp(tick_ms // 1000, UTC).astimezone(zone)
    fraction = f".{tick_ms % 1000:03}" if tick_ms % 1000 else ""
    return f"{at:%a} {at:%Y-%m-%d %H:%M:%S}{fraction} {at:%Z}"
