"""What a range backfill is to enqueue: the ticks of a range that did not run, gap by gap. Free of I/O."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headgate.models import Gap
from headgate.spec import Spec, parse_spec


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a schedule's past.

    Attributes:
        current: the ticks of its present spec.
        gaps: the ranges that did not run, oldest first, each also as stored.
        unknown_ms: up to here nobody knows what ran: another may have had its id before, and of too many gaps the
            oldest are forgotten.
        spec_since_ms: since when its spec is what it is.
        passed_ms: its last tick that was decided; 0 for none.
    """

    current: Spec
    gaps: Sequence[tuple[Gap, str]]
    unknown_ms: int
    spec_since_ms: int
    passed_ms: int


class Piece(msgspec.Struct, frozen=True):
    """Ticks of one gap that follow each other, or of no known one.

    Attributes:
        stored: the gap as stored; '' for none.
    """

    gap: Gap
    stored: str
    spec: Spec
    ticks: list[int]


class Wanted(msgspec.Struct, frozen=True):
    """What is to be enqueued, oldest first, and what is known of the rest of the range.

    Attributes:
        already_ran: ticks of the present spec in the range that are in no gap.
        unknown: ticks of which nobody knows whether they ran, and which are not to be enqueued.
        more: the range has further ticks to enqueue.
    """

    pieces: list[Piece]
    already_ran: int
    unknown: int
    more: bool


def wanted_of(past: Past, after_ms: int, until_ms: int, room: int, *, force: bool) -> Wanted:
    """The ticks with ``after_ms < tick <= until_ms`` that are in gaps, at most `room`; how many are in none.

    With `force` also those of which nobody knows.
    """
    unknown_until_ms = min(until_ms, past.unknown_ms)
    unknown = past.current.count(after_ms, unknown_until_ms) if past.unknown_ms > after_ms else 0
    forced = _first(past.current, after_ms, unknown_until_ms, room) if force and unknown else []
    pieces = [Piece(Gap(from_ms=forced[0], until_ms=forced[-1], reason=""), "", past.current, forced)] if forced else []
    room -= len(forced)
    more = force and unknown > len(forced)
    since_ms = max(after_ms, past.unknown_ms, past.spec_since_ms)
    in_gaps = 0
    for gap, stored in past.gaps:
        first_ms, last_ms = max(after_ms, gap.from_ms - 1), min(until_ms, gap.until_ms)
        if first_ms >= last_ms:
            continue
        spec = parse_spec(gap.spec) if gap.spec else past.current
        in_gaps += spec.count(max(first_ms, since_ms), last_ms) if last_ms > since_ms else 0
        ticks = [] if more else _first(spec, first_ms, last_ms, room)
        more = more or len(ticks) < spec.count(first_ms, last_ms)
        room -= len(ticks)
        if ticks:
            pieces.append(Piece(gap, stored, spec, ticks))
    passed_ms = min(until_ms, past.passed_ms)
    passed = past.current.count(since_ms, passed_ms) if passed_ms > since_ms else 0
    return Wanted(pieces, max(0, passed - in_gaps), 0 if force else unknown, more)


def _first(spec: Spec, after_ms: int, until_ms: int, limit: int) -> list[int]:
    """The first `limit` ticks with ``after_ms < tick <= until_ms``."""
    ticks: list[int] = []
    tick = spec.next_after(after_ms)
    while tick is not None and tick <= until_ms and len(ticks) < limit:
        ticks.append(tick)
        tick = spec.next_after(tick)
    return ticks
