"""The inner grammar: from the text of one cron field to the set of values it allows."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from headgate.errors import InvalidSpec
from headgate.names import shown

Values = tuple[int, ...] | None
"""Sorted values a field allows; None if it restricts nothing."""


class Fields(NamedTuple):
    """The values a cron spec allows.

    Where both `day` and `weekday` restrict, a day needs only one of them. Weekday 0 is Sunday.
    """

    second: Values
    minute: Values
    hour: Values
    day: Values
    month: Values
    weekday: Values


class Field(NamedTuple):
    """What one field may hold; `top` is the largest number that may be written, as a value and as a step."""

    label: str
    first: int
    last: int
    top: int
    names: tuple[str, ...] = ()


MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_DAY: Final = Field("day of month", 1, 31, 31)
_WEEKDAY: Final = Field("day of week", 0, 6, 7, _WEEKDAYS)
FIELDS: Final = (
    Field("second", 0, 59, 59),
    Field("minute", 0, 59, 59),
    Field("hour", 0, 23, 23),
    _DAY,
    Field("month", 1, 12, 12, MONTHS),
    _WEEKDAY,
)
_WEEK: Final = 7
DAYS_IN: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The most days a month has, January first."""


def field_values(field: Field, text: str) -> Values:
    """The values `text` allows in `field`; None only for ``*`` and ``?``, since among days ``*/1`` restricts.

    Raises:
        InvalidSpec: naming the field, the value and the rule it breaks.
    """
    if text == "*" or (text == "?" and field in (_DAY, _WEEKDAY)):
        return None
    values: set[int] = set()
    for item in text.split(","):
        values |= _item(field, item)
    return tuple(sorted(values))


def canonical(fields: Fields) -> Fields:
    """The same ticks with None wherever every value is allowed, and without days that no chosen month has.

    Raises:
        InvalidSpec: no chosen month has a chosen day, and no day of the week stands in for it.
    """
    days = max(DAYS_IN[month - 1] for month in fields.month or range(1, 13))
    day, weekday = fields.day, fields.weekday
    if day is not None:
        day = tuple(value for value in day if value <= days)
        if not day and weekday is None:
            raise InvalidSpec(f"spec can never fire: none of its months has more than {days} days")
    if (day and len(day) == days) or (weekday and len(weekday) == _WEEK):
        day = weekday = None  # the union of the two is every day
    second, minute, hour, _, month, _ = (
        None if values is None or len(values) > field.last - field.first else values
        for field, values in zip(FIELDS, fields, strict=True)
    )
    return Fields(second, minute, hour, day or None, month, weekday)


def _item(field: Field, text: str) -> set[int]:
    where = f"{field.label} {shown(text)}"
    if not text:
        raise InvalidSpec(f"{field.label} has an empty list element; a comma stands between two values, without spaces")
    if "?" in text:
        raise InvalidSpec(f"{where}: '?' may only be the whole of a day field, where it means '*'")
    span, slash, step_text = text.partition("/")
    step = _step(field, step_text, where) if slash else 1
    if span == "*":
        return set(range(field.first, field.last + 1, step))
    low_text, dash, high_text = span.partition("-")
    low = _value(field, low_text, where)
    if dash:
        return _range(field, low, _value(field, high_text, where), step, where)
    if field is _WEEKDAY:
        low %= _WEEK
    return set(range(low, field.last + 1, step)) if slash else {low}


def _range(field: Field, low: int, high: int, step: int, where: str) -> set[int]:
    if field is not _WEEKDAY:
        if low > high:
            raise InvalidSpec(f"{where}: a range must not run backwards; only days of the week go round")
        return set(range(low, high + 1, step))
    if low > high:
        if step > 1:
            raise InvalidSpec(f"{where}: a range that goes round the week takes no step; list the days instead")
        high += _WEEK
    # A 7 becomes Sunday only here, after the range is spread out: 5-7 reaches Sunday, 2-7/2 stops at 6.
    return {value % _WEEK for value in range(low, high + 1, step)}


def _step(field: Field, text: str, where: str) -> int:
    if not re.fullmatch("[0-9]+", text):
        raise InvalidSpec(f"{where}: a step is one number after one '/', 1 to {field.top}")
    step = int(text)
    if not 1 <= step <= field.top:
        why = "; it never reaches past its field, so only the first value would be left" if step else ""
        raise InvalidSpec(f"{where}: a step must be 1 to {field.top}{why}")
    return step


def _value(field: Field, text: str, where: str) -> int:
    if text.upper() in field.names:
        return field.first + field.names.index(text.upper())
    # The pattern comes first: int() alone would take signs and underscores.
    if not re.fullmatch("[0-9]+", text) or not field.first <= int(text) <= field.top:
        names = f" or a name, {field.names[0]} to {field.names[-1]}" if field.names else ""
        raise InvalidSpec(f"{where}: a value must be a number, {field.first} to {field.top}{names}")
    return int(text)
