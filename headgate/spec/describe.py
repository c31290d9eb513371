"""Specs in plain English.

cron-descriptor words what our parser has understood: it gets fields rebuilt from the values, never the text
as written, since it validates nothing and reads steps such as ``*/59`` as if they ran on across the hour.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

# The library ships no types; these two names are all that is used of it.
from cron_descriptor import ExpressionDescriptor, Options  # type: ignore[import-untyped]

from headgate.spec.fields import FIELDS, Field, Fields, Values

_UNITS: Final = (
    ("day", 86_400_000),
    ("hour", 3_600_000),
    ("minute", 60_000),
    ("second", 1_000),
    ("millisecond", 1),
)
_STEPPED: Final = ("second", "minute", "hour")
_SHORT_LIST: Final = 6
_SHORT_RUN: Final = 2


def describe_interval(interval_ms: int) -> str:
    """An interval in milliseconds, as in ``Every 1 hour 30 minutes, counted from 1970-01-01 00:00 UTC``."""
    parts: list[tuple[int, str]] = []
    rest = interval_ms
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append((count, unit))
    if len(parts) == 1 and parts[0][0] == 1:
        words = parts[0][1]
    else:
        words = " ".join(f"{count} {unit}{'s' if count > 1 else ''}" for count, unit in parts)
    return f"Every {words}, counted from 1970-01-01 00:00 UTC"


def describe_fields(fields: Fields, zone: str) -> str:
    """Cron fields and the zone they are read in, as in ``At 09:00, Monday through Friday (UTC)``."""
    text = " ".join(map(_field_text, FIELDS, fields))
    # The locale is fixed: looking it up would warn where none is set, and vary the answer from node to node.
    options = Options(locale_code="en_US", use_24hour_time_format=True)
    return f"{ExpressionDescriptor(text, options).get_description()} ({zone})"


def describe_bounds(starts_at_ms: int | None, ends_at_ms: int | None) -> str:
    """Bounds in milliseconds, as in ``, from 2026-01-01 00:00:00 UTC until 2026-12-31 23:59:59 UTC``."""
    bounds = (("from", starts_at_ms), ("until", ends_at_ms))
    words = [f"{word} {datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC" for word, ms in bounds if ms]
    return f", {' '.join(words)}" if words else ""


def _field_text(field: Field, values: Values) -> str:
    """The shortest cron text for `values` whose wording is still true."""
    if values is None:
        return "*"
    if len(values) > 1 and field.label in _STEPPED and (text := _stepped(field, values)):
        return text
    return ",".join(_runs(values))


def _stepped(field: Field, values: tuple[int, ...]) -> str | None:
    steps = {after - before for before, after in pairwise(values)}
    step = min(steps)
    if len(steps) > 1 or step == 1:
        return None
    if values[0] == 0 and step * len(values) == field.last + 1:
        return f"*/{step}"  # the only case in which "every 15 minutes" holds across the hour
    return f"{values[0]}-{values[-1]}/{step}" if len(values) > _SHORT_LIST else None


def _runs(values: tuple[int, ...]) -> list[str]:
    """Three and more neighbours as a range, everything else one by one."""
    texts: list[str] = []
    start = 0
    for end in range(1, len(values) + 1):
        if end < len(values) and values[end] == values[end - 1] + 1:
            continue
        run = values[start:end]
        texts.extend([f"{run[0]}-{run[-1]}"] if len(run) > _SHORT_RUN else map(str, run))
        start = end
    return texts
