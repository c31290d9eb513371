"""A year of moved time with outages, pauses, edits and range backfills: every tick as an oracle has it."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from headgate.models import Explanation, MissedPolicy, ScheduleDefinition, TickCode
from headgate.names import tick_job_id
from headgate.settings import MAX_CHANGES, MAX_GAPS
from tests.explain.oracle import KEPT, Grid, Oracle, interval_grid, to_ms, wall_grid
from tests.explain.stage import Stage
from tests.support.worlds import World

START = datetime(2027, 1, 1, tzinfo=UTC)
DAYS = 365
HOUR = 3_600_000
DAY = 24 * HOUR
BERLIN, LORD_HOWE, NEW_YORK = "Europe/Berlin", "Australia/Lord_Howe", "America/New_York"
POLICIES = tuple(MissedPolicy)
LIMIT = 5
EXPECTED = {
    *(TickCode.ENQUEUED, TickCode.MADE_UP, TickCode.DISCARDED, TickCode.PAUSED, TickCode.SPEC_CHANGED),
    *(TickCode.PAUSED_NOW, TickCode.OVERDUE, TickCode.NOT_DUE, TickCode.NOT_A_TICK, TickCode.CLOCK_GAP),
    *(TickCode.REPEATED, TickCode.BEFORE_SPEC, TickCode.BEFORE_CREATED, TickCode.FORGOTTEN),
}
"""All but those codes that need trouble, or a schedule with rules of its own."""
PEOPLE = ("ann", "bob", "eve")


def cron(zone: str, minute: int, hours: tuple[int, ...]) -> tuple[str, Grid]:
    text = f"CRON_TZ={zone} {minute} {','.join(map(str, hours))} * * *"
    return text, wall_grid(zone, minute, hours, START, DAYS)


def every(hours: int) -> tuple[str, Grid]:
    return f"@every:{hours * HOUR}", interval_grid(hours * HOUR, START, DAYS)


def specs() -> dict[str, list[tuple[str, Grid]]]:
    """What each schedule alternates between. Each zone's clock is changed twice within the year."""
    return {
        "berlin": [cron(BERLIN, 30, (2, 10, 18)), cron(BERLIN, 0, (2, 3, 20)), every(8)],
        "lord_howe": [cron(LORD_HOWE, 15, (2, 14)), cron(LORD_HOWE, 45, (1, 9))],
        "new_york": [cron(NEW_YORK, 30, (1, 2)), cron("UTC", 30, (6, 18)), cron(BERLIN, 30, (2, 12))],
        "steady": [every(9), every(11)],
    }


class Year:
    """The schedules, the books of each, and what happens to them."""

    def __init__(self, world: World, seed: int) -> None:
        self.random = random.Random(seed)
        self.stage = Stage(world)
        self.world = world
        self.now_ms = to_ms(START)
        self.specs = specs()
        self.books: dict[str, Oracle] = {}
        self.seen: Counter[TickCode] = Counter()

    async def begin(self) -> None:
        await self.world.set_clock(self.now_ms)
        for name, choices in self.specs.items():
            spec, grid = choices[0]
            policy = self.random.choice(POLICIES)
            self.books[name] = Oracle(spec, grid, policy, LIMIT, self.now_ms)
            await self.write(name, spec, policy, "")

    async def write(self, name: str, spec: str, policy: MissedPolicy, by: str) -> None:
        definition = ScheduleDefinition(spec=spec, kind="test", on_missed=policy, backfill_limit=LIMIT, queue=name)
        await self.world.store.schedules.put(name, definition, by=by)

    async def live(self) -> None:
        """Days in which all is well, between outages; then things are done to each schedule."""
        for _ in range(self.random.randrange(1, 12)):
            await self.move(self.random.randrange(1, 9 * HOUR))
            await self.sweep()
        await self.move(self.random.choice([0, HOUR, DAY, self.random.randrange(1, 12 * DAY)]))
        for name in self.books:
            await self.act(name)
            await self.look_ahead(name)
        await self.sweep()

    async def move(self, ms: int) -> None:
        self.now_ms = await self.world.advance(ms)

    async def sweep(self) -> None:
        await self.stage.sweep()
        for name, books in self.books.items():
            before = books.anchor_ms
            books.sweep(self.now_ms)
            if not books.pause:
                for tick in books.grid.between(before, self.now_ms)[-3:]:
                    await self.check(name, tick)

    async def act(self, name: str) -> None:
        books, by = self.books[name], self.random.choice(PEOPLE)
        if books.changes < MAX_CHANGES - 2 and self.random.random() < 0.5:
            await self.change(name, books, by)
        if self.random.random() < 0.2:
            await self.make_up(name, books, by)
        if self.random.random() < 0.3:
            await self.remove_jobs(name, books)

    async def change(self, name: str, books: Oracle, by: str) -> None:
        control, policy = self.world.store.control, self.random.choice(POLICIES)
        if self.random.random() < 0.4:
            spec, grid = self.random.choice(self.specs[name])
            await self.write(name, spec, policy, by)
            books.edit(spec, grid, policy, by, self.now_ms)
        elif books.pause:
            missed = self.random.choice(["none", "run_once", "backfill"])
            await control.resume(name, missed=missed, by=by)
            books.resumed(missed, self.now_ms)
        else:
            await control.pause(name, reason=f"reason {books.changes}", by=by)
            books.paused(by, f"reason {books.changes}")

    async def make_up(self, name: str, books: Oracle, by: str) -> None:
        until_ms = self.now_ms - self.random.randrange(30 * DAY)
        after_ms = until_ms - self.random.randrange(1, 10 * DAY)
        if after_ms < 0:
            return
        done = await self.world.store.backfills.run(name, after_ms, until_ms, by=by)
        assert list(done.ticks) == books.made_up(after_ms, until_ms, by)

    async def remove_jobs(self, name: str, books: Oracle) -> None:
        """As a retention that is over does."""
        made = [t for t, fate in books.fates.items() if fate.code in {TickCode.ENQUEUED, TickCode.MADE_UP}]
        for tick in set(self.random.sample(made, len(made) // 4)) - books.removed:
            job_id = tick_job_id(name, tick)
            await self.world.store.jobs.cancel(job_id)
            await self.world.store.jobs.delete(job_id)
            books.removed.add(tick)

    async def look_ahead(self, name: str) -> None:
        """The first tick that is not decided, and the last one; whether due or not."""
        books = self.books[name]
        ahead = books.grid.between(books.anchor_ms, self.now_ms + 2 * DAY)
        for tick in {*ahead[:1], *ahead[-1:]}:
            it = await self.check(name, tick)
            assert it.due_in_ms == tick - self.now_ms

    # the comparison

    async def check(self, name: str, ms: int) -> Explanation:
        it, books = await self.world.store.explains.explain(name, ms), self.books[name]
        code = books.code_at(ms, self.now_ms)
        assert it.code is code, f"{name} {ms}: the books say {code}, and explain: {it.sentence}"
        self.seen[code] += 1
        fate = books.fates.get(ms)
        if fate and code is fate.code:
            self.check_facts(name, it)
        return it

    def check_facts(self, name: str, it: Explanation) -> None:
        books, fate = self.books[name], self.books[name].fates[it.tick_ms]
        if it.code in {TickCode.ENQUEUED, TickCode.MADE_UP}:
            assert it.job_id == tick_job_id(name, it.tick_ms)
            assert (it.job_state is None) == (it.tick_ms in books.removed)
        if it.code is TickCode.MADE_UP:
            assert it.by == fate.by
        elif books.told(fate):
            assert (it.event_id, it.other_tick_ms) == (fate.event, fate.other_ms)
            assert (it.by, it.why, it.policy) == (fate.by, fate.why, fate.policy), it

    async def check_all(self) -> int:
        """Every expected tick, all that the clock changes took, and instants that are none."""
        count = 0
        for name, books in self.books.items():
            named = {ms for _, grid in books.eras for ms in grid.ticks} - books.fates.keys()
            instants = {*books.fates, *self.random.sample(sorted(named), 150)}
            instants |= {ms for _, grid in books.eras for ms in grid.skipped | grid.repeated}
            instants |= {self.random.randrange(to_ms(START) - DAY, self.now_ms + DAY) for _ in range(30)}
            for ms in sorted(instants):
                await self.check(name, ms)
            count += len(instants)
        return count


@pytest.mark.timeout(240)
async def test_a_year_is_explained_tick_by_tick(moved: World, measured: Callable[[str], None]) -> None:
    began = time.monotonic()
    year = Year(moved, seed=1)
    await year.begin()
    while year.now_ms < to_ms(START + timedelta(days=DAYS)) - 14 * DAY:
        await year.live()
    count = await year.check_all()
    measured(f"a year lived and {count} instants explained in {time.monotonic() - began:.1f} s")
    assert year.seen.keys() >= EXPECTED
    for name in year.books:
        assert len(await moved.gaps(name)) < MAX_GAPS, "the books do not know which gaps are pushed out"
        assert len((await moved.store.runs.list(name, limit=KEPT)).runs) < KEPT, "nor which runs by hand"
