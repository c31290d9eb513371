"""How many wall times match cron fields, by arithmetic.

Times of a day are counted from the lists of values, days from tables of the fourteen kinds of year.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import date, datetime
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from headgate.spec.clock import CYCLE_YEARS

if TYPE_CHECKING:
    from headgate.spec.fields import Fields, Values

_CACHED_DAYS: Final = 256


class Tally:
    """Counts the wall-clock times, in whole seconds, that match `fields`."""

    def __init__(self, fields: Fields) -> None:
        self._hours = fields.hour or tuple(range(24))
        self._minutes = fields.minute or tuple(range(60))
        self._seconds = fields.second or tuple(range(60))
        self._days = _days(fields.day, fields.month, fields.weekday)

    def up_to(self, wall: datetime) -> int:
        """The matches not after the naive `wall`; since when is of no matter: two answers are to be subtracted."""
        before, through = self._days.before_and_through(wall)
        a_day = len(self._hours) * len(self._minutes) * len(self._seconds)
        return before * a_day + (self._times_up_to(wall) if through > before else 0)

    def _times_up_to(self, wall: datetime) -> int:
        an_hour, a_minute = len(self._minutes) * len(self._seconds), len(self._seconds)
        count = 0
        for values, value, each in (
            (self._hours, wall.hour, an_hour),
            (self._minutes, wall.minute, a_minute),
            (self._seconds, wall.second, 1),
        ):
            smaller = bisect_left(values, value)
            count += smaller * each
            if smaller == len(values) or values[smaller] != value:
                return count
        return count + 1


class _Days:
    """Counts the days that match the three day fields."""

    def __init__(self, day: Values, month: Values, weekday: Values) -> None:
        self._day, self._month, self._weekday = day, month, weekday
        kinds: dict[tuple[int, int], tuple[int, ...]] = {}
        self._years = []
        for year in range(CYCLE_YEARS, 2 * CYCLE_YEARS):
            first, following = date(year, 1, 1).toordinal(), date(year + 1, 1, 1).toordinal()
            kind = first % 7, following - first
            if kind not in kinds:
                kinds[kind] = tuple(accumulate(map(self._matches, range(first, following)), initial=0))
            self._years.append(kinds[kind])
        self._totals = tuple(accumulate((year[-1] for year in self._years), initial=0))

    def before_and_through(self, day: date) -> tuple[int, int]:
        """The matching days before `day`, and those up to it."""
        cycles, year = divmod(day.year, CYCLE_YEARS)
        number = day.toordinal() - date(day.year, 1, 1).toordinal()
        earlier = cycles * self._totals[-1] + self._totals[year]
        return earlier + self._years[year][number], earlier + self._years[year][number + 1]

    def _matches(self, ordinal: int) -> bool:
        day = date.fromordinal(ordinal)
        if self._month and day.month not in self._month:
            return False
        if self._day is None and self._weekday is None:
            return True
        return day.day in (self._day or ()) or day.isoweekday() % 7 in (self._weekday or ())


@lru_cache(maxsize=_CACHED_DAYS)
def _days(day: Values, month: Values, weekday: Values) -> _Days:
    # A millisecond and some tens of kilobytes, for what most specs have in common.
    return _Days(day, month, weekday)
