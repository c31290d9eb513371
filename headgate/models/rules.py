"""Rules that several models share."""

from __future__ import annotations

from headgate.errors import InvalidRequest


def check_range(field: str, value: int, low: int, high: int) -> None:
    """Raise `InvalidRequest` unless `value` is a whole number from `low` to `high`."""
    if type(value) is not int:
        raise InvalidRequest(f"{field} must be a whole number", field=field)
    if not low <= value <= high:
        raise InvalidRequest(f"{field} {value} is outside {low} to {high}", field=field)
