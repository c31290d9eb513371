"""The fields of a schedule as a TOML file writes them: durations as text, instants as date-times, words as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from headgate.errors import InvalidRequest
from headgate.models import MissedPolicy, Overlap, ScheduleDefinition
from headgate.reconcile import check_definition

_DURATIONS: Final = ("timeout_ms", "retention_ms", "max_lateness_ms", "jitter_ms", "deadline_ms")
_INSTANTS: Final = ("starts_at_ms", "ends_at_ms")
_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"([0-9]{1,15})(ms|s|m|h|d)")
_WORDS: Final = {"on_missed": MissedPolicy, "overlap": Overlap}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SOUND: Final[dict[str, Any]] = {"id": "a", "spec": "0 0 * * *", "kind": "a"}


def read_value(name: str, value: Any) -> Any:
    """A field's value as a definition has it.

    Raises:
        InvalidRequest: it breaks a rule that is about this field alone.
    """
    if name in _DURATIONS and isinstance(value, str):
        value = _duration(name, value)
    elif name in _INSTANTS and isinstance(value, datetime):
        value = _instant(name, value)
    check_fields({name: value})
    return _WORDS[name](value) if name in _WORDS else value


def check_fields(fields: dict[str, Any]) -> None:
    """Raise `InvalidRequest` if these fields break a rule, whatever the others are."""
    values = _SOUND | fields
    check_definition(values.pop("id"), ScheduleDefinition(**values))


def _duration(name: str, text: str) -> int:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InvalidRequest(f'{name} must be milliseconds or text such as "30s", "15m", "2h" or "7d"', field=name)
    return int(match[1]) * _UNITS[match[2]]


def _instant(name: str, at: datetime) -> int:
    if at.tzinfo is None:
        raise InvalidRequest(f"{name} must have an offset, as in 2027-01-01T00:00:00Z", field=name)
    return (at - _EPOCH) // timedelta(milliseconds=1)
