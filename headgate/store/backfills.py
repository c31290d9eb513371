"""Range backfill: ticks of the past that did not run become jobs, each once, while the gap they lie in shrinks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from headgate.errors import Conflict, InvalidRequest, InvalidSpec, ScheduleNotFound, StoreError
from headgate.missed import Plan, marker_life_ms
from headgate.models import Backfilled, Decision, Gap, Outcome, Reason, Schedule, check_range, check_text
from headgate.names import check_schedule_id
from headgate.settings import MARKER_MAX_MS, MAX_CALL_BYTES, MAX_CALL_TICKS, MAX_INSTANT_MS, MAX_RANGE, MAX_WHO
from headgate.spec import Spec, parse_spec
from headgate.store.records import pairs, schedule_from
from headgate.store.scripts import Scripts
from headgate.store.timing import timing_of

_TRIES: Final = 10
Decide = Callable[[Schedule, Sequence[int]], Awaitable[Sequence[Decision]]]
"""What the before-hooks of an application make of ticks."""
Tell = Callable[[Schedule, Sequence[int], Sequence[str]], Awaitable[None]]
"""What the after-hooks are told: what became of ticks, as outcome/reason."""


class _Piece(msgspec.Struct, frozen=True):
    """Ticks of one gap that follow each other, or of no known one.

    Attributes:
        stored: the gap as stored; '' for none.
    """

    gap: Gap
    stored: str
    spec: Spec
    ticks: list[int]


class Backfills:
    """Range backfills in one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def gaps(self, schedule_id: str) -> list[Gap]:
        """The ranges of a schedule's ticks that did not run, oldest first, each with its count: the newest 100.

        Raises:
            InvalidRequest: the id breaks its rule.
        """
        return [_counted(gap) for gap, _ in await self._gaps(check_schedule_id(schedule_id))]

    async def run(
        self,
        schedule_id: str,
        after_ms: int,
        until_ms: int,
        *,
        dry_run: bool = False,
        force: bool = False,
        by: str = "",
        decide: Decide | None = None,
        tell: Tell | None = None,
    ) -> Backfilled:
        """Enqueue the ticks of ``after_ms < tick <= until_ms`` that did not run, oldest first, at most 1,000.

        Each tick's job has the identity it always had to have, so no repeat, race or crash makes a second one. Where
        the schedule stands does not move. In calls of at most 200 jobs, each atomic.

        Args:
            schedule_id: which.
            after_ms: the range begins after this instant.
            until_ms: the range ends with this instant, which must not be in the future.
            dry_run: only say what would be done.
            force: also enqueue ticks of which nobody knows any more whether they ran.
            by: who asks, for the list of runs by hand.
            decide: the before-hooks, if any.
            tell: the after-hooks, if any.

        Raises:
            InvalidRequest: the range is empty, the wrong way round or in the future, or a value breaks its rule.
            ScheduleNotFound: there is no such schedule.
            Conflict: others changed its gaps each time.
        """
        check_schedule_id(schedule_id)
        check_text("by", by, MAX_WHO)
        for name, value in (("after_ms", after_ms), ("until_ms", until_ms)):
            check_range(name, value, 0, MAX_INSTANT_MS)
        if until_ms <= after_ms:
            raise InvalidRequest(f"until_ms {until_ms} is not after after_ms {after_ms}", field="until_ms")
        now_text, flat = await self._scripts.call("get", schedule_id)
        if not flat:
            raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
        if until_ms > int(now_text):
            raise InvalidRequest(f"until_ms {until_ms} is in the future", field="until_ms")
        schedule = schedule_from(pairs(flat))
        # Up to here nobody knows: another may have had its id before, and of too many gaps the oldest are forgotten.
        record = pairs(flat)
        unknown_ms = max(schedule.created_at_ms, int(record.get("forgotten_ms") or 0))
        spec_since_ms = int(record.get("spec_since_ms") or schedule.created_at_ms)
        wanted = await self._pieces(schedule, after_ms, until_ms, unknown_ms, spec_since_ms, force=force)
        done = [tick for piece in wanted.pieces for tick in piece.ticks]
        stopped: _Stop | None = None
        if not dry_run:
            call = _Call(schedule, by, decide, tell)
            done, stopped = await self._enqueue(call, wanted.pieces)
        last_ms = wanted.pieces[-1].ticks[-1] if wanted.pieces else after_ms
        more_after = last_ms if wanted.more else None
        if stopped is not None:
            if stopped.reason != Reason.HOOK_SKIPPED:
                more_after = done[-1] if done else after_ms
            elif stopped.tick_ms < last_ms:
                more_after = stopped.tick_ms
        return Backfilled(
            dry_run=dry_run,
            ticks=done,
            already_ran=wanted.already_ran,
            unknown=wanted.unknown,
            stopped_by=stopped.reason if stopped else None,
            more_after_ms=more_after,
        )

    async def _gaps(self, schedule_id: str) -> list[tuple[Gap, str]]:
        texts: list[str] = await self._scripts.call("kept", "gaps", schedule_id)
        return [(gap_from(text), text) for text in texts]

    async def _pieces(
        self, schedule: Schedule, after_ms: int, until_ms: int, unknown_ms: int, spec_since_ms: int, *, force: bool
    ) -> _Wanted:
        """The ticks of the range that are in gaps, up to 1,000, gap by gap; and how many are in none."""
        gaps = await self._gaps(schedule.id)
        current = timing_of(schedule)
        pieces: list[_Piece] = []
        in_gaps = room = 0
        unknown = current.count(after_ms, min(until_ms, unknown_ms)) if unknown_ms > after_ms else 0
        since_ms = max(after_ms, unknown_ms, spec_since_ms)
        if force and unknown:
            ticks = _first(current, after_ms, min(until_ms, unknown_ms), MAX_RANGE)
            pieces.append(_Piece(Gap(from_ms=ticks[0], until_ms=ticks[-1], reason=""), "", current, ticks))
            room = len(ticks)
        more = force and unknown > room
        for gap, stored in gaps:
            first_ms, last_ms = max(after_ms, gap.from_ms - 1), min(until_ms, gap.until_ms)
            if first_ms >= last_ms:
                continue
            spec = _spec_of(gap, current)
            count = spec.count(first_ms, last_ms)
            in_gaps += spec.count(max(first_ms, since_ms), last_ms) if last_ms > since_ms else 0
            ticks = [] if more else _first(spec, first_ms, last_ms, MAX_RANGE - room)
            more = more or len(ticks) < count
            room += len(ticks)
            if ticks:
                pieces.append(_Piece(gap, stored, spec, ticks))
        passed_ms = min(until_ms, schedule.last_tick_ms or 0)
        passed = current.count(since_ms, passed_ms) if passed_ms > since_ms else 0
        return _Wanted(pieces, max(0, passed - in_gaps), 0 if force else unknown, more)

    async def _enqueue(self, call: _Call, pieces: Sequence[_Piece]) -> tuple[list[int], _Stop | None]:
        done: list[int] = []
        for piece in pieces:
            enqueued, stopped = await self._enqueue_piece(call, piece)
            done += enqueued
            if stopped:
                return done, stopped
        return done, None

    async def _enqueue_piece(self, call: _Call, piece: _Piece) -> tuple[list[int], _Stop | None]:
        """One gap's ticks, some a call; the gap is read again before each, since it shrinks."""
        size = max(1, min(MAX_CALL_TICKS, MAX_CALL_BYTES // max(1, call.schedule.payload_bytes)))
        done: list[int] = []
        waiting = piece.ticks
        while waiting:
            ticks, results = await self._call(call, piece, waiting[:size])
            if call.tell and results:
                await call.tell(call.schedule, ticks, results)
            for tick, result in zip(ticks, results, strict=False):
                outcome, _, reason = result.partition("/")
                if outcome != Outcome.ENQUEUED and reason != Reason.ID_CONFLICT:
                    return done, _Stop(tick, reason)
                done.append(tick)
            waiting = _after(waiting, (ticks or waiting[:size])[-1])
        return done, None

    async def _call(self, call: _Call, piece: _Piece, ticks: list[int]) -> tuple[list[int], list[str]]:
        """One call for the first of these ticks that still are in a gap together: those, and what became of them."""
        schedule_id = call.schedule.id
        decided: dict[int, Decision] = {}
        for _ in range(_TRIES):
            left, gap, stored = await self._still(schedule_id, piece, ticks)
            if not left:
                return [], []
            if call.decide and not all(tick in decided for tick in left):
                decided = dict(zip(left, await call.decide(call.schedule, left), strict=True))
            word, *results = await self._scripts.call(
                *("backfill", schedule_id, stored, _before(piece.spec, gap, left[0]) if stored else ""),
                *(gap.until_ms, gap.reason, gap.spec, json.dumps(call.by or None, ensure_ascii=False)),
                *_told(piece, left, decided),
            )
            if word == "missing":
                raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
            if word == "broken":
                raise StoreError(f"a key of schedule {schedule_id} holds a type that headgate did not write")
            if word == "ok":
                return left, results
        raise Conflict(f"the gaps of schedule {schedule_id} were changed by others {_TRIES} times in a row")

    async def _still(self, schedule_id: str, piece: _Piece, ticks: list[int]) -> tuple[list[int], Gap, str]:
        """The first of these ticks that lie in one gap by now, and it; somebody else may have made up for others."""
        if not piece.stored:
            return ticks, piece.gap, ""
        for gap, stored in await self._gaps(schedule_id):
            left = [tick for tick in ticks if gap.from_ms <= tick <= gap.until_ms]
            if left and gap.spec == piece.gap.spec:
                return left, gap, stored
        return [], piece.gap, ""


def _after(ticks: list[int], last_ms: int) -> list[int]:
    return [tick for tick in ticks if tick > last_ms]


def _before(spec: Spec, gap: Gap, first_ms: int) -> str:
    """What stays of a gap before a tick of it, as the script takes it."""
    before_ms = spec.latest_at_or_before(first_ms - 1)
    return f"{gap.from_ms},{before_ms}" if before_ms is not None and before_ms >= gap.from_ms else ""


def _told(piece: _Piece, ticks: list[int], decided: Mapping[int, Decision]) -> list[str | int]:
    """The life of their markers, and each tick with the one after it and what hooks made of it."""
    following = [*ticks[1:], piece.spec.next_after(ticks[-1])]
    # Of forced ticks no gap tells that they were made up for: their markers stay for as long as any.
    told: list[str | int] = [marker_life_ms(Plan(tuple(ticks), None, following[-1])) if piece.stored else MARKER_MAX_MS]
    for tick, after in zip(ticks, following, strict=True):
        made = decided.get(tick)
        content = (made.word, made.payload, made.fingerprint, made.headers) if made else ("", "", "", "")
        told += (tick, "" if after is None else after, *content)
    return told


class _Call(NamedTuple):
    schedule: Schedule
    by: str
    decide: Decide | None
    tell: Tell | None


class _Stop(NamedTuple):
    tick_ms: int
    reason: str


class _Wanted(msgspec.Struct, frozen=True):
    pieces: list[_Piece]
    already_ran: int
    unknown: int
    more: bool


def gap_from(text: str) -> Gap:
    """A gap as stored; raises `StoreError` when it is not what Headgate writes."""
    try:
        return msgspec.json.decode(text, type=Gap)
    except msgspec.MsgspecError:
        raise StoreError("the gaps hold an entry that headgate did not write") from None


def _counted(gap: Gap) -> Gap:
    try:
        count = parse_spec(gap.spec).count(gap.from_ms - 1, gap.until_ms)
    except InvalidSpec:
        return gap
    return msgspec.structs.replace(gap, count=count)


def _spec_of(gap: Gap, current: Spec) -> Spec:
    """The spec whose ticks a gap has; that of now for one that was written without."""
    return parse_spec(gap.spec) if gap.spec else current


def _first(spec: Spec, after_ms: int, until_ms: int, limit: int) -> list[int]:
    """The first `limit` ticks with ``after_ms < tick <= until_ms``."""
    ticks: list[int] = []
    tick = spec.next_after(after_ms)
    while tick is not None and tick <= until_ms and len(ticks) < limit:
        ticks.append(tick)
        tick = spec.next_after(tick)
    return ticks
