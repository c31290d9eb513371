"""Range backfill: ticks of the past that did not run become jobs, each once, while the gap they lie in shrinks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from headgate.errors import Conflict, InvalidRequest, ScheduleNotFound, StoreError
from headgate.missed import Plan, marker_life_ms
from headgate.models import Backfilled, Decision, Gap, GapPage, Outcome, Reason, Schedule, check_range, check_text
from headgate.names import check_idempotency_key, check_schedule_id, fingerprint
from headgate.settings import (
    MARKER_MAX_MS,
    MAX_CALL_BYTES,
    MAX_CALL_TICKS,
    MAX_GAPS,
    MAX_INSTANT_MS,
    MAX_RANGE,
    MAX_WHO,
)
from headgate.spec import Spec
from headgate.store.backfill_answers import KeptAnswer, OvertakenError, Progress
from headgate.store.backfill_plans import Past, Piece, Wanted, wanted_of
from headgate.store.gaps import gap_from, page_of_gaps
from headgate.store.paging import check_limit
from headgate.store.records import pairs, schedule_from
from headgate.store.scripts import Scripts
from headgate.store.timing import timing_of

_TRIES: Final = 10
Decide = Callable[[Schedule, Sequence[int]], Awaitable[Sequence[Decision]]]
"""What the before-hooks of an application make of ticks."""
Tell = Callable[[Schedule, Sequence[int], Sequence[str]], Awaitable[None]]
"""What the after-hooks are told: what became of ticks, as outcome/reason."""


class _Request(NamedTuple):
    schedule_id: str
    after_ms: int
    until_ms: int
    dry_run: bool
    force: bool
    by: str
    decide: Decide | None
    tell: Tell | None


class _Call(NamedTuple):
    """One attempt at a request, which adds to `progress`."""

    request: _Request
    schedule: Schedule
    kept: KeptAnswer
    progress: Progress


class _Stop(NamedTuple):
    tick_ms: int
    reason: str


class Backfills:
    """Range backfills in one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def gaps(self, schedule_id: str, *, limit: int = 30, cursor: str | None = None) -> GapPage:
        """A page of 1 to 100 ranges of ticks that did not run, oldest first, each with its count.

        The newest 100 are kept. One that grows, shrinks or is split meanwhile is met once, and hides no other.

        Raises:
            InvalidRequest: the id or the limit breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        check_schedule_id(schedule_id)
        check_limit(limit, MAX_GAPS)
        return page_of_gaps([gap for gap, _ in await self._gaps(schedule_id)], schedule_id, cursor, limit)

    async def run(
        self,
        schedule_id: str,
        after_ms: int,
        until_ms: int,
        *,
        dry_run: bool = False,
        force: bool = False,
        by: str = "",
        idempotency_key: str | None = None,
        decide: Decide | None = None,
        tell: Tell | None = None,
    ) -> Backfilled:
        """Enqueue the ticks of ``after_ms < tick <= until_ms`` that did not run, oldest first, at most 1,000.

        Each tick's job has the identity it always had to have, so no repeat, race or crash makes a second one. Where
        the schedule stands does not move. In calls of at most 200 jobs, each atomic.

        With a key, each call also keeps what was done so far. For 24 h the same request gets the same answer, marked as
        replayed; if the first was cut off or its answer lost before it was whole, a repeat goes on with it, and the
        ticks of both are in its answer. One that stopped early is an answer too; refusals and dry runs are not kept.

        Args:
            schedule_id: which.
            after_ms: the range begins after this instant.
            until_ms: the range ends with this instant, which must not be in the future.
            dry_run: only say what would be done.
            force: also enqueue ticks of which nobody knows any more whether they ran.
            by: who asks, for the list of runs by hand; no part of what a key stands for.
            idempotency_key: of this request to this schedule; None keeps no answer.
            decide: the before-hooks, if any.
            tell: the after-hooks, if any.

        Raises:
            InvalidRequest: the range is empty, the wrong way round or in the future, or a value breaks its rule.
            IdempotencyKeyMissing, IdempotencyKeyReused: the key is empty, or came with another request before.
            ScheduleNotFound: there is no such schedule.
            Conflict: others changed its gaps each time.
        """
        check_schedule_id(schedule_id)
        check_text("by", by, MAX_WHO)
        key = "" if idempotency_key is None else check_idempotency_key(idempotency_key)
        for name, value in (("after_ms", after_ms), ("until_ms", until_ms)):
            check_range(name, value, 0, MAX_INSTANT_MS)
        if until_ms <= after_ms:
            raise InvalidRequest(f"until_ms {until_ms} is not after after_ms {after_ms}", field="until_ms")
        asked = fingerprint("backfill", json.dumps([schedule_id, after_ms, until_ms, bool(force)]))
        kept = KeptAnswer(self._scripts, schedule_id, "" if dry_run else key, asked)
        request = _Request(schedule_id, after_ms, until_ms, dry_run, force, by, decide, tell)
        for _ in range(MAX_RANGE + 2):  # whoever is overtaken finds at least one tick more, or the whole answer
            found = await kept.read()
            if isinstance(found, Backfilled):
                return found
            with suppress(OvertakenError):
                return await self._carry_out(request, kept, found)
        raise Conflict(f"others with this key overtook the backfill of schedule {schedule_id} each time")

    async def _carry_out(self, request: _Request, kept: KeptAnswer, found: Progress | None) -> Backfilled:
        """What is left of a request; raises `OvertakenError`."""
        schedule, past = await self._past(request)
        start_ms = found.ticks[-1] if found else request.after_ms
        room = MAX_RANGE - len(found.ticks) if found else MAX_RANGE
        wanted = wanted_of(past, start_ms, request.until_ms, room, force=request.force)
        progress = found or Progress(wanted.already_ran, wanted.unknown, [])
        stopped: _Stop | None = None
        if request.dry_run:
            progress.ticks = [tick for piece in wanted.pieces for tick in piece.ticks]
        else:
            stopped = await self._enqueue(_Call(request, schedule, kept, progress), wanted.pieces)
        answer = Backfilled(
            dry_run=request.dry_run,
            ticks=progress.ticks,
            already_ran=progress.already_ran,
            unknown=progress.unknown,
            stopped_by=stopped.reason if stopped else None,
            more_after_ms=_more_after(request, progress, wanted, stopped),
        )
        await kept.finish(progress, answer)
        return answer

    async def _past(self, request: _Request) -> tuple[Schedule, Past]:
        """The schedule, and what is known of its past; raises if there is none, or the range is not over yet."""
        now_text, flat = await self._scripts.call("get", request.schedule_id)
        if not flat:
            raise ScheduleNotFound(f"schedule {request.schedule_id} does not exist")
        if request.until_ms > int(now_text):
            raise InvalidRequest(f"until_ms {request.until_ms} is in the future", field="until_ms")
        record = pairs(flat)
        schedule = schedule_from(record)
        return schedule, Past(
            current=timing_of(schedule),
            gaps=await self._gaps(schedule.id),
            unknown_ms=max(schedule.created_at_ms, int(record.get("forgotten_ms") or 0)),
            spec_since_ms=int(record.get("spec_since_ms") or schedule.created_at_ms),
            passed_ms=schedule.last_tick_ms or 0,
        )

    async def _gaps(self, schedule_id: str) -> list[tuple[Gap, str]]:
        texts: list[str] = await self._scripts.call("kept", "gaps", schedule_id)
        return [(gap_from(text), text) for text in texts]

    async def _enqueue(self, call: _Call, pieces: Sequence[Piece]) -> _Stop | None:
        for piece in pieces:
            stopped = await self._enqueue_piece(call, piece)
            if stopped:
                return stopped
        return None

    async def _enqueue_piece(self, call: _Call, piece: Piece) -> _Stop | None:
        """One gap's ticks, some a call; the gap is read again before each, since it shrinks."""
        size = max(1, min(MAX_CALL_TICKS, MAX_CALL_BYTES // max(1, call.schedule.payload_bytes)))
        waiting = piece.ticks
        while waiting:
            ticks, results = await self._call(call, piece, waiting[:size])
            if call.request.tell and results:
                await call.request.tell(call.schedule, ticks, results)
            for tick, result in zip(ticks, results, strict=False):
                outcome, _, reason = result.partition("/")
                if outcome != Outcome.ENQUEUED and reason != Reason.ID_CONFLICT:
                    return _Stop(tick, reason)
                call.progress.ticks.append(tick)
            waiting = _after(waiting, (ticks or waiting[:size])[-1])
        return None

    async def _call(self, call: _Call, piece: Piece, ticks: list[int]) -> tuple[list[int], list[str]]:
        """One call for the first of these ticks that still are in a gap together: those, and what became of them."""
        schedule_id, request = call.schedule.id, call.request
        decided: dict[int, Decision] = {}
        for _ in range(_TRIES):
            left, gap, stored = await self._still(schedule_id, piece, ticks)
            if not left:
                return [], []
            if request.decide and not all(tick in decided for tick in left):
                decided = dict(zip(left, await request.decide(call.schedule, left), strict=True))
            word, *results = await self._scripts.call(
                *("backfill", schedule_id, stored, _before(piece.spec, gap, left[0]) if stored else ""),
                *(gap.until_ms, gap.reason, gap.spec, json.dumps(request.by or None, ensure_ascii=False)),
                *_told(piece, left, call, decided),
            )
            if word == "overtaken":
                raise OvertakenError
            if word == "missing":
                raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
            if word == "broken":
                raise StoreError(f"a key of schedule {schedule_id} holds a type that headgate did not write")
            if word == "ok":
                return left, results
        raise Conflict(f"the gaps of schedule {schedule_id} were changed by others {_TRIES} times in a row")

    async def _still(self, schedule_id: str, piece: Piece, ticks: list[int]) -> tuple[list[int], Gap, str]:
        """The first of these ticks that lie in one gap by now, and it; somebody else may have made up for others."""
        if not piece.stored:
            return ticks, piece.gap, ""
        for gap, stored in await self._gaps(schedule_id):
            left = [tick for tick in ticks if gap.from_ms <= tick <= gap.until_ms]
            if left and gap.spec == piece.gap.spec:
                return left, gap, stored
        return [], piece.gap, ""


def _more_after(request: _Request, progress: Progress, wanted: Wanted, stopped: _Stop | None) -> int | None:
    """Where to go on, past a tick that a hook skipped; None when the range is done."""
    reached_ms = progress.ticks[-1] if progress.ticks else request.after_ms
    last_ms = wanted.pieces[-1].ticks[-1] if wanted.pieces else reached_ms
    if stopped is None:
        return last_ms if wanted.more else None
    if stopped.reason != Reason.HOOK_SKIPPED:
        return reached_ms
    if stopped.tick_ms < last_ms:
        return stopped.tick_ms
    return last_ms if wanted.more else None


def _after(ticks: list[int], last_ms: int) -> list[int]:
    return [tick for tick in ticks if tick > last_ms]


def _before(spec: Spec, gap: Gap, first_ms: int) -> str:
    """What stays of a gap before a tick of it, as the script takes it."""
    before_ms = spec.latest_at_or_before(first_ms - 1)
    return f"{gap.from_ms},{before_ms}" if before_ms is not None and before_ms >= gap.from_ms else ""


def _told(piece: Piece, ticks: list[int], call: _Call, decided: Mapping[int, Decision]) -> list[str | int]:
    """The life of markers, what is kept of the request, and each tick, the one after it and what hooks made of it."""
    following = [*ticks[1:], piece.spec.next_after(ticks[-1])]
    # Of forced ticks no gap tells that they were made up for: their markers stay for as long as any.
    life_ms = marker_life_ms(Plan(tuple(ticks), None, following[-1])) if piece.stored else MARKER_MAX_MS
    told: list[str | int] = [life_ms, *call.kept.arguments(call.progress)]
    for tick, after in zip(ticks, following, strict=True):
        made = decided.get(tick)
        content = (made.word, made.payload, made.fingerprint, made.headers) if made else ("", "", "", "")
        told += (tick, "" if after is None else after, *content)
    return told
