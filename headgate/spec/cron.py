"""Cron on a zone's wall clock, as instants.

A wall time that a clock change skips never fires. One that occurs twice fires the first time only. Both kinds
of stretch are jumped over in one step: walking a skipped day second by second would take seconds.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from headgate.settings import MAX_INSTANT_MS
from headgate.spec.base import Spec
from headgate.spec.describe import describe_fields
from headgate.spec.walk import EPOCH, WallTimes

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from headgate.spec.fields import Fields

_EPOCH_UTC: Final = EPOCH.replace(tzinfo=UTC)
_LAST: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).replace(tzinfo=None)
_SECOND: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_NO_OFFSET: Final = timedelta()


class CronSpec(Spec):
    """Fires when the wall clock of `zone`, or UTC without one, shows a time that `fields` allow."""

    def __init__(self, text: str, fields: Fields, zone: ZoneInfo | None) -> None:
        super().__init__(text, zone.key if zone else "")
        self._fields = fields
        self._zone = zone
        self._walls = WallTimes(fields)
        self._known: tuple[int, int, int | None] = (0, 0, None)
        self._description = ""

    def next_after(self, ms: int) -> int | None:
        """The first tick strictly after the instant `ms` (milliseconds), None past the end of the calendar.

        Up to that tick the answer is the same for every instant from `ms` on, and remembered.
        """
        since, until, answer = self._known
        if since <= ms < until:
            return answer
        if ms >= MAX_INSTANT_MS:
            return None
        answer = self._search_forward(max(ms, -1))
        self._known = (ms, MAX_INSTANT_MS if answer is None else answer, answer)
        return answer

    def latest_at_or_before(self, ms: int) -> int | None:
        """The last tick not after the instant `ms` (milliseconds); None if there was none since the epoch."""
        return None if ms < 0 else self._search_back(min(ms, MAX_INSTANT_MS))

    def describe(self) -> str:
        """The fields in words, with the zone in parentheses."""
        if not self._description:
            self._description = describe_fields(self._fields, self._zone.key if self._zone else "UTC")
        return self._description

    def _search_forward(self, after_ms: int) -> int | None:
        wall = self._wall_passed(after_ms)
        while (found := self._walls.after(wall)) is not None:
            first, second = self._offsets(found)
            if first < second:
                wall = self._stretch(found)[1] - _SECOND
                continue
            if (ms := _to_ms(found, first)) > after_ms:
                return ms if ms <= MAX_INSTANT_MS else None
            wall = found
        return None

    def _search_back(self, at_ms: int) -> int | None:
        wall = self._wall_passed(at_ms)
        while (found := self._walls.at_or_before(wall)) is not None:
            first, second = self._offsets(found)
            if first < second:
                wall = self._stretch(found)[0] - _SECOND
                continue
            if (ms := _to_ms(found, first)) <= at_ms:
                return ms if ms >= 0 else None
            wall = found - _SECOND
        return None

    def _wall_passed(self, ms: int) -> datetime:
        """The last second up to which every wall time has had its one chance to fire by the instant `ms`."""
        instant = _EPOCH_UTC + timedelta(seconds=ms // 1000)
        if self._zone is None:
            return instant.replace(tzinfo=None)
        try:
            local = instant.astimezone(self._zone)
        except OverflowError:  # east of Greenwich the year 10000 has begun
            return _LAST
        wall = local.replace(tzinfo=None, fold=0)
        # In the second pass of a repeated stretch all of it has fired, not only what the clock shows again.
        return self._stretch(wall)[1] - _SECOND if local.fold else wall

    def _offsets(self, wall: datetime) -> tuple[timedelta, timedelta]:
        """Offsets of `wall` on both sides of a change: the first is smaller in a gap, larger in a repeat."""
        if self._zone is None:
            return _NO_OFFSET, _NO_OFFSET
        first = self._zone.utcoffset(wall)
        second = self._zone.utcoffset(wall.replace(fold=1))
        return first or _NO_OFFSET, second or _NO_OFFSET

    def _stretch(self, wall: datetime) -> tuple[datetime, datetime]:
        """Wall times that bound the gap or the repeated stretch around `wall`; the second is outside."""
        first, second = self._offsets(wall)
        low, high = sorted((wall - EPOCH - offset) // _SECOND for offset in (first, second))
        old = self._offset_at(low)
        change = low + bisect_left(range(low, high), x=True, key=lambda at: self._offset_at(at) != old)
        end = EPOCH + timedelta(seconds=change) + max(first, second)
        return end - abs(first - second), end

    def _offset_at(self, at: int) -> timedelta | None:
        return (_EPOCH_UTC + timedelta(seconds=at)).astimezone(self._zone).utcoffset()


def _to_ms(wall: datetime, offset: timedelta) -> int:
    # Between timedeltas, as an instant can lie outside what a datetime holds.
    return (wall - EPOCH - offset) // _MILLISECOND
