"""What must be true of every tick, from what a test did to a schedule, and from nothing that Headgate keeps.

Ticks come from walking the clock of a zone in quarters of an hour, not from Headgate's specs.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from headgate.models import TickCode

QUARTER = timedelta(minutes=15)
KEPT = 100
"""Events; runs by hand, of which a year must have fewer."""


class Grid(NamedTuple):
    """The ticks of a spec in the year, and what a clock change makes of times it names."""

    ticks: list[int]
    skipped: frozenset[int] = frozenset()
    repeated: frozenset[int] = frozenset()

    def between(self, after_ms: int, until_ms: int) -> list[int]:
        return self.ticks[bisect_right(self.ticks, after_ms) : bisect_right(self.ticks, until_ms)]


def to_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


@cache
def wall_grid(zone: str, minute: int, hours: tuple[int, ...], start: datetime, days: int) -> Grid:
    """Every day at `minute` past `hours` on the clock of `zone`."""
    place, ticks = ZoneInfo(zone), list[int]()
    seen, skipped, repeated = set[datetime](), set[int](), set[int]()
    at, end = start - timedelta(days=2), start + timedelta(days=days + 2)
    while at < end:
        wall = at.astimezone(place).replace(tzinfo=None)
        if (wall.minute, wall.hour in hours) == (minute, True):
            (repeated.add if wall in seen else ticks.append)(to_ms(at))
        seen.add(wall)
        at += QUARTER
    for day in range(-1, days + 1):
        for hour in hours:
            named = (start + timedelta(days=day)).replace(hour=hour, minute=minute, tzinfo=None)
            if named not in seen:
                skipped.add(to_ms(named.replace(tzinfo=place)))
    return Grid(ticks, frozenset(skipped), frozenset(repeated))


def interval_grid(every_ms: int, start: datetime, days: int) -> Grid:
    first = to_ms(start - timedelta(days=2)) // every_ms
    return Grid([n * every_ms for n in range(first, to_ms(start + timedelta(days=days + 2)) // every_ms)])


class Fate(NamedTuple):
    """What became of a tick, and what tells of it.

    Attributes:
        event: the number of the event that tells of it.
        run: a run by hand made up for it; all of those are kept.
    """

    code: TickCode
    event: int
    other_ms: int | None = None
    by: str | None = None
    why: str | None = None
    policy: str | None = None
    run: bool = False


class Oracle:
    """The books of one schedule."""

    def __init__(self, spec: str, grid: Grid, policy: str, limit: int, now_ms: int) -> None:
        self.spec, self.grid, self.policy, self.limit = spec, grid, policy, limit
        self.created_ms = self.anchor_ms = now_ms
        self.eras = [(now_ms, grid)]
        self.fates: dict[int, Fate] = {}
        self.pause: tuple[str, str] | None = None
        self.catch_up_ms = 0
        self.events = self.changes = 0
        self.removed: set[int] = set()

    # what was done

    def due(self, now_ms: int) -> list[int]:
        return self.grid.between(self.anchor_ms, now_ms)

    def sweep(self, now_ms: int) -> None:
        if self.pause:
            return
        due = self.due(now_ms)
        wanted = [tick for tick in due if tick <= self.catch_up_ms]
        rest = due[len(wanted) :]
        chosen = rest[-(self.limit if self.policy == "backfill" else 1) :]
        for tick in wanted:
            self._fire(tick)
        for tick in rest[: len(rest) - len(chosen)]:
            self.fates[tick] = Fate(TickCode.DISCARDED, self.events + 1, chosen[0], policy=self.policy)
        for tick in chosen:
            self._fire(tick)

    def edit(self, spec: str, grid: Grid, policy: str, by: str, now_ms: int) -> None:
        if (spec, policy) == (self.spec, self.policy):
            return
        self.changes += 1
        self.policy = policy
        if spec == self.spec:
            return
        self._pass(self.due(now_ms), TickCode.PAUSED if self.pause else TickCode.SPEC_CHANGED, by)
        self.spec, self.grid, self.anchor_ms, self.catch_up_ms = spec, grid, now_ms, 0
        self.eras.insert(0, (now_ms, grid))

    def paused(self, by: str, why: str) -> None:
        self.pause = by, why
        self.changes += 1

    def resumed(self, missed: str, now_ms: int) -> None:
        due = self.due(now_ms)
        wanted = {"none": 0, "run_once": 1, "backfill": self.limit}[missed]
        unrun = due[: max(0, len(due) - wanted)]
        self._pass(unrun, TickCode.PAUSED, "")
        self.catch_up_ms = due[-1] if len(due) > len(unrun) else 0
        if len(due) == len(unrun):
            self.anchor_ms = now_ms
        self.pause = None
        self.changes += 1

    def made_up(self, after_ms: int, until_ms: int, by: str) -> list[int]:
        """The ticks that a range backfill has to make up for."""
        unrun = (TickCode.DISCARDED, TickCode.PAUSED, TickCode.SPEC_CHANGED)
        ticks = [t for t in sorted(self.fates) if after_ms < t <= until_ms and self.fates[t].code in unrun]
        for tick in ticks:
            self.fates[tick] = Fate(TickCode.MADE_UP, self.fates[tick].event, by=by, run=True)
        return ticks

    def _fire(self, tick: int) -> None:
        self.events += 1
        self.fates[tick] = Fate(TickCode.ENQUEUED, self.events)
        self.anchor_ms = tick

    def _pass(self, ticks: list[int], code: TickCode, by: str) -> None:
        if not ticks:
            return
        self.events += 1
        by, why = self.pause or (by, None)
        for tick in ticks:
            self.fates[tick] = Fate(code, self.events, by=by, why=why)
        self.anchor_ms = ticks[-1]

    # what must be true

    def told(self, fate: Fate) -> bool:
        return fate.event > self.events - KEPT

    def code_at(self, ms: int, now_ms: int) -> TickCode:
        """What `explain` has to say of any instant."""
        era = next((grid for after_ms, grid in self.eras if after_ms < ms), None)
        if era is None:
            return TickCode.BEFORE_CREATED
        if fate := self.fates.get(ms):
            return self._code_of(ms, fate)
        if ms in era.ticks:
            assert ms > self.anchor_ms, f"the books have no fate for {ms}"
            due = TickCode.PAUSED_NOW if self.pause else TickCode.OVERDUE
            return TickCode.NOT_DUE if ms > now_ms else due
        return self._code_of_no_tick(ms, era)

    def _code_of_no_tick(self, ms: int, era: Grid) -> TickCode:
        if era is not self.grid and ms in self.grid.ticks:
            return TickCode.BEFORE_SPEC
        if ms in era.skipped:
            return TickCode.CLOCK_GAP
        return TickCode.REPEATED if ms in era.repeated else TickCode.NOT_A_TICK

    def _code_of(self, ms: int, fate: Fate) -> TickCode:
        """Of what made a job, what is kept for as long as it is."""
        known = self.told(fate) or fate.run
        if fate.code not in {TickCode.ENQUEUED, TickCode.MADE_UP} or known:
            return fate.code
        return TickCode.FORGOTTEN if ms in self.removed else TickCode.ENQUEUED
