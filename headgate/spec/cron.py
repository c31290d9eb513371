"""Cron on a zone's wall clock, as instants.

A wall time that a clock change skips never fires. One that occurs twice fires the first time only. Both kinds
of stretch are jumped over in one step: walking a skipped day second by second would take seconds.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

from headgate.settings import MAX_INSTANT_MS
from headgate.spec.base import Spec
from headgate.spec.clock import CYCLE_YEARS, MILLISECOND, SECOND, SETTLED_YEAR, Clock, to_ms
from headgate.spec.describe import describe_fields
from headgate.spec.tally import Tally
from headgate.spec.walk import WallTimes

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from headgate.spec.fields import Fields

_SETTLED: Final = datetime(SETTLED_YEAR, 1, 1, tzinfo=UTC)
_SETTLED_MS: Final = round(_SETTLED.timestamp()) * 1000
_CYCLE_MS: Final = (_SETTLED.replace(year=SETTLED_YEAR + CYCLE_YEARS) - _SETTLED) // MILLISECOND


class CronSpec(Spec):
    """Fires when the wall clock of `zone`, or UTC without one, shows a time that `fields` allow."""

    def __init__(self, text: str, fields: Fields, zone: ZoneInfo | None) -> None:
        super().__init__(text, zone.key if zone else "")
        self.fields: Fields = fields
        self.clock = Clock(zone)
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

    def count(self, after_ms: int, until_ms: int) -> int:
        """How many ticks there are with ``after_ms < tick <= until_ms`` (milliseconds).

        Every wall time passed counts once, which is right where the clock repeats itself; what it skips is
        taken off. No range costs more than some centuries of clock changes.
        """
        after_ms, until_ms = max(after_ms, -1), min(until_ms, self.clock.last_ms)
        if after_ms >= until_ms:
            return 0
        if cycles := max(0, until_ms - max(after_ms, _SETTLED_MS)) // _CYCLE_MS:
            return cycles * self._cycle + self.count(after_ms, until_ms - cycles * _CYCLE_MS)
        return self._count(after_ms, until_ms)

    def names(self, start: datetime, end: datetime) -> int:
        """How many wall times with ``start <= wall < end`` the fields allow, whether or not they fire."""
        return self._tally.up_to(end - SECOND) - self._tally.up_to(start - SECOND)

    def describe(self) -> str:
        """The fields in words, with the zone in parentheses."""
        if not self._description:
            self._description = describe_fields(self.fields, self.zone or "UTC")
        return self._description

    @cached_property
    def _tally(self) -> Tally:
        return Tally(self.fields)

    @cached_property
    def _cycle(self) -> int:
        """The ticks of one turn of the calendar in which the zone follows its rule."""
        return self._count(_SETTLED_MS, _SETTLED_MS + _CYCLE_MS)

    def _count(self, after_ms: int, until_ms: int) -> int:
        passed = self._tally.up_to(self.clock.passed(until_ms)) - self._tally.up_to(self.clock.passed(after_ms))
        changes = self.clock.changes(after_ms, until_ms)
        return passed - sum(self.names(change.start, change.end) for change in changes if change.skips)

    def _search_forward(self, after_ms: int) -> int | None:
        wall = self.clock.passed(after_ms)
        while (found := self._walls.after(wall)) is not None:
            first, second = self.clock.offsets(found)
            if first < second:
                wall = self.clock.change_around(found).end - SECOND
                continue
            if (ms := to_ms(found, first)) > after_ms:
                return ms if ms <= MAX_INSTANT_MS else None
            wall = found
        return None

    def _search_back(self, at_ms: int) -> int | None:
        wall = self.clock.passed(at_ms)
        while (found := self._walls.at_or_before(wall)) is not None:
            first, second = self.clock.offsets(found)
            if first < second:
                wall = self.clock.change_around(found).start - SECOND
                continue
            if (ms := to_ms(found, first)) <= at_ms:
                return ms if ms >= 0 else None
            wall = found - SECOND
        return None
