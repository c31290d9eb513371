"""Specs that do what they say and not what people tend to expect of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from headgate.spec.base import Spec
from headgate.spec.clock import Change
from headgate.spec.fields import DAYS_IN, MONTHS, Fields
from headgate.spec.grammar import SPACE

_AHEAD_MS: Final = 2 * 366 * 86_400_000
_SECOND_MS: Final = 1000
_MINUTE_MS: Final = 60_000
_FEBRUARY: Final = 2
_LEAP_DAY: Final = 29


class SpecWarning(msgspec.Struct, frozen=True):
    """Something about a spec that may surprise.

    Attributes:
        code: stable: ``every_second``, ``day_fields_union``, ``leap_day``, ``short_months``, ``clock_gap``,
            ``clock_repeat`` or ``clock_pause``.
        message: a sentence for people; may change.
    """

    code: str
    message: str


def warnings(spec: Spec, now_ms: int) -> list[SpecWarning]:
    """What may surprise about `spec`, one warning a code.

    Args:
        spec: the spec.
        now_ms: the present, in milliseconds; the clock changes of the two years after it are looked at.
    """
    found = list(_density(spec))
    if spec.fields:
        found += _days(spec.text, spec.fields)
    for change in spec.changes(now_ms, now_ms + _AHEAD_MS):
        warning = _clock_change(spec, change)
        if warning and all(warning.code != other.code for other in found):
            found.append(warning)
    return found


def _density(spec: Spec) -> Iterator[SpecWarning]:
    if spec.interval_ms and spec.interval_ms <= _SECOND_MS:
        yield SpecWarning("every_second", "It fires every second or more often.")
    elif spec.fields and spec.fields.second is None:
        always = spec.fields.minute is None and spec.fields.hour is None
        when = "" if always else " of every minute it names; a leading 0 would make it the first one only"
        yield SpecWarning("every_second", f"It fires every second{when}.")


def _days(text: str, fields: Fields) -> Iterator[SpecWarning]:
    *_, day, _month, weekday = re.findall(f"[^{SPACE}]+", text)
    if not {day, weekday} & {"*", "?"}:
        yield SpecWarning(
            "day_fields_union",
            "Day of month and day of week are both restricted: it fires on days that match either of them, not both.",
        )
    if fields.weekday or not fields.day:
        return
    first = fields.day[0]
    months = fields.month or range(1, 13)
    if first == _LEAP_DAY and tuple(months) == (_FEBRUARY,):
        yield SpecWarning("leap_day", "It fires on 29 February only, in leap years.")
    elif short := [_month_name(month, first) for month in months if first > _shortest(month)]:
        yield SpecWarning("short_months", f"It does not fire in {', '.join(short)}: no day {first} there.")


def _shortest(month: int) -> int:
    return DAYS_IN[month - 1] - (month == _FEBRUARY)


def _month_name(month: int, day: int) -> str:
    name = MONTHS[month - 1].capitalize()
    return f"{name} outside leap years" if month == _FEBRUARY and day == _LEAP_DAY else name


def _clock_change(spec: Spec, change: Change) -> SpecWarning | None:
    """What `change` does to the times of the spec that lie in it.

    A spec that names times in the hour before and in the hour after as well is meant as an interval: a skipped
    hour makes no difference to it, a repeated one does.
    """
    if not (taken := spec.names(change.start, change.end)):
        return None
    length = change.end - change.start
    steady = spec.names(change.start - length, change.start) and spec.names(change.end, change.end + length)
    verb = "skips" if change.skips else "repeats"
    stretch = f"On {change.start:%Y-%m-%d} the clock of {spec.zone} {verb} {change.start:%H:%M} to {change.end:%H:%M}"
    times = f"{taken} of its times" if taken > 1 else "one of its times"
    if change.skips:
        return None if steady else SpecWarning("clock_gap", f"{stretch}: {times} will not fire that day.")
    if not steady:
        return SpecWarning("clock_repeat", f"{stretch}: {times} will be shown twice and fire the first time only.")
    return SpecWarning("clock_pause", f"{stretch}: it pauses{_pause(spec, change)} while they are repeated.")


def _pause(spec: Spec, change: Change) -> str:
    before, after = spec.latest_at_or_before(change.at_ms), spec.next_after(change.at_ms)
    return f" for {round((after - before) / _MINUTE_MS)} minutes" if before is not None and after is not None else ""
