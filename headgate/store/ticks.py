"""Ticks: read what is due, fire what was planned, all fenced by the lease's token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from headgate.errors import StoreError
from headgate.missed import Plan, marker_life_ms
from headgate.models import Decision, Reason
from headgate.store.leases import check_lease
from headgate.store.scripts import Scripts


class DueRow(NamedTuple):
    """A schedule that is due, as stored: digits are text, missing values None or ''."""

    id: str
    spec: str
    on_missed: str
    backfill_limit: str
    next_run_ms: str
    anchor_ms: str
    last_tick_ms: str
    revision: str
    payload_bytes: str
    starts_at_ms: str = ""
    ends_at_ms: str = ""
    catch_up_ms: str = ""

    @property
    def as_read(self) -> str:
        """Where the schedule stood, as the scripts compare it."""
        return f"{self.revision},{self.next_run_ms},{self.last_tick_ms or ''}"


class DuePage(msgspec.Struct, frozen=True):
    """The oldest due schedules.

    Attributes:
        now_ms: store time.
        due_next_ms: when the first schedule that is not due yet will be; None when none waits.
        unreadable: ids whose record holds a foreign type; they were put off by a minute.
        rows: the due schedules, oldest first.
        full: as many entries were looked at as were asked for: more may be due.
        resumable: ids of paused schedules that resume by themselves now.
    """

    now_ms: int
    due_next_ms: int | None
    unreadable: list[str]
    rows: list[DueRow]
    full: bool = False
    resumable: list[str] = []


class Unrecorded(NamedTuple):
    """Attempts at a tick that could not be recorded, and when the first was, in store time."""

    tick_ms: int
    attempts: int
    first_ms: int


class PlannedFire(NamedTuple):
    """One schedule's share of a fire."""

    row: DueRow
    plan: Plan
    unrecorded: Unrecorded | None = None
    decisions: tuple[Decision, ...] = ()


class Ticks:
    """The hot path of one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def due(self, token: str, limit: int) -> DuePage:
        """At most `limit` due schedules; entries of the index that their records contradict are mended on the way.

        Raises:
            LeaseLost: the lease is not this token's; nothing was done.
        """
        now, word, *found = await self._scripts.call("due", token, limit)
        check_lease(word)
        upcoming, unreadable, rows, looked_at, resumable = found
        return DuePage(
            now_ms=int(now),
            due_next_ms=int(upcoming) if upcoming else None,
            unreadable=unreadable,
            rows=[DueRow(*row) for row in rows],
            full=looked_at >= limit,
            resumable=resumable,
        )

    async def fire(self, token: str, batch: Sequence[PlannedFire]) -> list[str]:
        """Enqueue, record and advance; one atomic call for the whole batch, each schedule on its own.

        Returns:
            For each schedule what became of its ticks, comma-separated, or ``moved`` or ``early``: see `lua/fire.lua`.

        Raises:
            LeaseLost: the lease is not this token's; nothing was done.
            StoreFull: memory is exhausted; nothing was done.
            StoreError: a key that all schedules share holds a foreign type; nothing was done.
            StoreUnavailable: the answer was lost; what was done shows in the next sweep.
        """
        args: list[str | int] = [token]
        for row, plan, unrecorded, decisions in batch:
            args += (row.id, row.as_read, marker_life_ms(plan))
            args.append(f"{plan.discarded.from_ms},{plan.discarded.until_ms}" if plan.discarded else "")
            args += unrecorded[1:] if unrecorded else ("", "")
            following = "" if plan.next_run_ms is None else plan.next_run_ms
            args += (f"{','.join(map(str, plan.ticks))},{following}", len(decisions))
            for tick_ms, decision in zip(plan.ticks, decisions, strict=False):
                args += (tick_ms, decision.word, decision.payload, decision.fingerprint, decision.headers)
        _now, word, *results = await self._scripts.call("fire", *args)
        _check_word(word)
        return results  # type: ignore[no-any-return]  # strings, as the script's contract says

    async def fail(self, token: str, row: DueRow, tick_ms: int | str, reason: Reason) -> bool:
        """Record that a due tick cannot be carried out; False when the schedule changed since it was read."""
        word = await self._scripts.call("fail", token, row.id, row.as_read, tick_ms, reason)
        _check_word(word)
        return bool(word == "ok")

    async def reanchor(self, token: str, row: DueRow, anchor_ms: int, next_run_ms: int | None) -> bool:
        """Go on from `anchor_ms` without an event; False when the schedule changed since it was read."""
        following = "" if next_run_ms is None else next_run_ms
        word = await self._scripts.call("reanchor", token, row.id, row.as_read, anchor_ms, following)
        _check_word(word)
        return bool(word == "ok")


def _check_word(word: str) -> None:
    check_lease(word)
    if word == "broken":
        raise StoreError("an index that all schedules share holds a type that headgate did not write")
