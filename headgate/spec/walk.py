"""Stepping through the naive wall-clock times that match cron fields.

croniter misreads parts of the language and is off around clock changes, but exact as a stepper between naive
times when it gets plain lists of values. This module is all that touches it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol, cast

from croniter import CroniterBadDateError, croniter

if TYPE_CHECKING:
    from headgate.spec.fields import Fields, Values

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_HALF_SECOND: Final = timedelta(milliseconds=500)
_MAX_YEARS: Final = 12
"""Longer than the longest wait between two matches: 8 years, for a 29 February around 2100."""


class _Croniter(Protocol):
    """The little that is used of the library, which ships no types."""

    def get_next(self, ret_type: type[datetime], start_time: datetime) -> datetime: ...
    def get_prev(self, ret_type: type[datetime], start_time: datetime) -> datetime: ...


class WallTimes:
    """The wall-clock times that match `fields`, naive and in whole seconds."""

    def __init__(self, fields: Fields) -> None:
        # Day of month and day of week are walked apart: should one of the two have no further match, croniter
        # may fail although the other has one.
        halves = [fields._replace(weekday=None), fields._replace(day=None)]
        if fields.day is None or fields.weekday is None:
            halves = [fields]
        self._walkers = [_walker(half) for half in halves]
        self._lock = Lock()  # a walker keeps its place inside itself

    def after(self, wall: datetime) -> datetime | None:
        """The first match strictly after `wall`; None if the calendar ends before it."""
        found = []
        with self._lock:
            for walker in self._walkers:
                try:
                    found.append(walker.get_next(datetime, start_time=wall))
                except (CroniterBadDateError, OverflowError, ValueError):
                    continue
        return min(found, default=None)

    def at_or_before(self, wall: datetime) -> datetime | None:
        """The last match not after `wall`; None if there is none within reach."""
        found = []
        with self._lock:
            for walker in self._walkers:
                try:
                    # Half a second, as a whole one would not fit after the last second of the calendar.
                    found.append(walker.get_prev(datetime, start_time=wall + _HALF_SECOND))
                except (CroniterBadDateError, OverflowError, ValueError):
                    continue
        return max(found, default=None)


def _walker(fields: Fields) -> _Croniter:
    walker = croniter(
        " ".join(map(_text, fields)),
        EPOCH,
        ret_type=datetime,
        second_at_beginning=True,
        max_years_between_matches=_MAX_YEARS,
    )
    return cast("_Croniter", walker)


def _text(values: Values) -> str:
    return "*" if values is None else ",".join(map(str, values))
