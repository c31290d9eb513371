"""The wall clock of a zone: what it shows, and where it is changed.

A change skips a stretch of wall time or repeats one. Neither lasts longer than a day, and since 1970 no zone
has had two of them within six.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from headgate.settings import MAX_INSTANT_MS
from headgate.spec.walk import EPOCH

SECOND: Final = timedelta(seconds=1)
MILLISECOND: Final = timedelta(milliseconds=1)
CYCLE_YEARS: Final = 400
"""The calendar repeats after so many years, to the day of the week."""
SETTLED_YEAR: Final = 2100
"""From here on every zone follows one yearly rule; the last changes listed one by one are Morocco's, to 2087."""
_EPOCH_UTC: Final = EPOCH.replace(tzinfo=UTC)
_CYCLE: Final = timedelta(days=146_097)
_LAST: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).replace(tzinfo=None)
_STRIDE: Final = timedelta(days=2)
_LONGEST: Final = timedelta(days=1)
_CACHED_YEARS: Final = 4096
_NO_OFFSET: Final = timedelta()


class Change(NamedTuple):
    """One change of a wall clock.

    Attributes:
        at_ms: the instant from which the clock shows the new time.
        start: the first wall time skipped or repeated, naive.
        end: the first one after it that is not.
        skips: whether the stretch is skipped; it is repeated otherwise.
    """

    at_ms: int
    start: datetime
    end: datetime
    skips: bool

    @property
    def length_ms(self) -> int:
        """How far the clock is moved, in milliseconds."""
        return (self.end - self.start) // MILLISECOND


class Clock:
    """The wall clock of `zone`; UTC's without one.

    Attributes:
        last_ms: the last full second (milliseconds) of the calendar, UTC's or this clock's, whichever ends first.
    """

    def __init__(self, zone: ZoneInfo | None = None) -> None:
        self._zone = zone
        self.last_ms = min(MAX_INSTANT_MS, to_ms(_LAST, self.offsets(_LAST)[0]))

    def shown(self, ms: int) -> datetime:
        """The time shown at the instant `ms` (milliseconds), with its offset.

        Raises:
            OverflowError: the year 10000 has begun on this clock.
        """
        return (_EPOCH_UTC + timedelta(milliseconds=ms)).astimezone(self._zone or UTC)

    def passed(self, ms: int) -> datetime:
        """The last second up to which every wall time has had its one chance to fire by the instant `ms`."""
        local = self.shown(min(ms, self.last_ms) // 1000 * 1000)
        wall = local.replace(tzinfo=None, fold=0)
        # In the second pass of a repeated stretch all of it has fired, not only what the clock shows again.
        return self.change_around(wall).end - SECOND if local.fold else wall

    def offsets(self, wall: datetime) -> tuple[timedelta, timedelta]:
        """Offsets of `wall` on both sides of a change: the first is smaller in a gap, larger in a repeat."""
        if self._zone is None:
            return _NO_OFFSET, _NO_OFFSET
        return _offset(self._zone, wall), _offset(self._zone, wall.replace(fold=1))

    def change_around(self, wall: datetime) -> Change:
        """The change that skips or repeats `wall`, which has to be such a time."""
        assert self._zone
        low, high = sorted((wall - EPOCH - offset) // SECOND for offset in self.offsets(wall))
        return _change(self._zone, low, high)

    def changes(self, after_ms: int, until_ms: int) -> list[Change]:
        """Every change with ``after_ms < at_ms <= until_ms`` (milliseconds), oldest first.

        The years of a zone are searched once; from `SETTLED_YEAR` on those of one cycle stand for all.
        """
        after_ms, until_ms = max(after_ms, -1), min(until_ms, MAX_INSTANT_MS)
        if self._zone is None or after_ms >= until_ms:
            return []
        first, last = ((_EPOCH_UTC + timedelta(milliseconds=ms)).year for ms in (after_ms, until_ms))
        return [
            change
            for year in range(first, last + 1)
            for change in _changes_of(self._zone, year)
            if after_ms < change.at_ms <= until_ms
        ]


def to_ms(wall: datetime, offset: timedelta) -> int:
    """The instant at which a clock with that `offset` shows `wall`, in milliseconds."""
    # Between timedeltas, as an instant can lie outside what a datetime holds.
    return (wall - EPOCH - offset) // MILLISECOND


def _changes_of(zone: ZoneInfo, year: int) -> list[Change]:
    cycles = max(0, year - SETTLED_YEAR) // CYCLE_YEARS
    later = cycles * _CYCLE
    return [
        Change(change.at_ms + later // MILLISECOND, change.start + later, change.end + later, change.skips)
        for change in _searched(zone, year - cycles * CYCLE_YEARS)
    ]


@lru_cache(maxsize=_CACHED_YEARS)
def _searched(zone: ZoneInfo, year: int) -> tuple[Change, ...]:
    """The changes in a year of UTC: `zoneinfo` lists none, so strides that end on another offset are bisected."""
    found = []
    wall, end = datetime(year, 1, 1) - _STRIDE, datetime(year + 1, 1, 1) + _STRIDE  # noqa: DTZ001 - wall times
    offset = _offset(zone, wall)
    while wall < end:
        # A day earlier, as a time that the change skips still has the old offset, however late it is.
        low, old = (wall - _LONGEST - EPOCH - offset) // SECOND, offset
        wall += _STRIDE
        offset = _offset(zone, wall)
        if offset != old:
            found.append(_change(zone, low, (wall - EPOCH - offset) // SECOND))
    return tuple(change for change in found if (_EPOCH_UTC + timedelta(milliseconds=change.at_ms)).year == year)


def _change(zone: ZoneInfo, low: int, high: int) -> Change:
    """The one change in ``low < change <= high``, in seconds since the epoch."""
    old, new = _offset_at(zone, low), _offset_at(zone, high)
    at = low + bisect_left(range(low, high), x=True, key=lambda second: _offset_at(zone, second) != old)
    start, end = (EPOCH + timedelta(seconds=at) + offset for offset in sorted((old, new)))
    return Change(at * 1000, start, end, skips=new > old)


def _offset(zone: ZoneInfo, wall: datetime) -> timedelta:
    return zone.utcoffset(wall) or _NO_OFFSET


def _offset_at(zone: ZoneInfo, second: int) -> timedelta:
    return (_EPOCH_UTC + timedelta(seconds=second)).astimezone(zone).utcoffset() or _NO_OFFSET
