"""Rules that several models share."""

from __future__ import annotations

from headgate.errors import InvalidRequest


def check_range(field: str, value: int, low: int, high: int) -> None:
    """Raise `InvalidRequest` unless `value` is a whole number from `low` to `high`."""
    if type(value) is not int:
        raise InvalidRequest(f"{field} must be a whole number", field=field)
    if not low <= value <= high:
        raise InvalidRequest(f"{field} {value} is outside {low} to {high}", field=field)


def check_text(field: str, value: str, longest: int) -> None:
    """Raise `InvalidRequest` unless `value` is text of at most `longest` characters that can be written as UTF-8."""
    if not isinstance(value, str):
        raise InvalidRequest(f"{field} must be text", field=field)
    if len(value) > longest:
        raise InvalidRequest(f"{field} must be text of at most {longest} characters", field=field)
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in value):  # noqa: PLR2004 - halves of surrogate pairs
        raise InvalidRequest(f"{field} has half of a surrogate pair, which is no character", field=field)
