"""What fires next over all schedules, by instant: a merge whose work is bounded, however many or dense they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

import msgspec

from headgate.errors import InvalidSpec
from headgate.spec import Spec

MAX_UPCOMING: Final = 1_000
"""Schedules that are looked at, and ticks that are merged."""
MAX_NAMED: Final = 10
"""Schedules of an instant that are named."""
HERD: Final = 10
"""Schedules at one instant from which on they are a herd."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class UpcomingInstant(msgspec.Struct, frozen=True, kw_only=True):
    """An instant, and what fires then.

    Attributes:
        tick_ms: the instant, in milliseconds since the epoch, UTC.
        count: how many schedules.
        schedule_ids: the first ten of them by id.
        herd: says so where they are ten or more, as in ``412 schedules at 09:00:00``, in UTC; else null.
    """

    tick_ms: int
    count: int
    schedule_ids: list[str]
    herd: str | None


class Entry(NamedTuple):
    """A schedule to merge.

    Attributes:
        first_ms: its first tick to come, in milliseconds.
        timing: compiles its spec; called only when its second tick is asked for. May raise `InvalidSpec` or
            `ValueError`: then nothing comes after the first.
    """

    first_ms: int
    schedule_id: str
    timing: Callable[[], Spec]


def merge(entries: Iterable[Entry], until_ms: int, limit: int) -> tuple[list[UpcomingInstant], int]:
    """The instants up to `until_ms` (milliseconds), oldest first, and until when they are complete.

    Instants are whole: one that would take the ticks over `limit` is left out with all behind it, unless it is the
    first.

    Args:
        entries: each schedule once.
        until_ms: the last instant that is asked for.
        limit: most ticks, over all instants.
    """
    heap = list(entries)
    heapify(heap)
    instants: list[UpcomingInstant] = []
    ticks = 0
    while heap and heap[0].first_ms <= until_ms:
        tick_ms = heap[0].first_ms
        together = []
        while heap and heap[0].first_ms == tick_ms:
            together.append(heappop(heap))
        ticks += len(together)
        if instants and ticks > limit:
            return instants, tick_ms - 1
        instants.append(_instant(tick_ms, [entry.schedule_id for entry in together]))
        for entry in together:
            following = _next_after(entry, tick_ms)
            if following is not None:
                heappush(heap, entry._replace(first_ms=following))
    return instants, until_ms


def _next_after(entry: Entry, tick_ms: int) -> int | None:
    try:
        return entry.timing().next_after(tick_ms)
    except (InvalidSpec, ValueError):  # its next tick will fail, and say so
        return None


def _instant(tick_ms: int, schedule_ids: list[str]) -> UpcomingInstant:
    at = _EPOCH + timedelta(milliseconds=tick_ms)
    clock = f"{at:%H:%M:%S}" + (f".{tick_ms % 1000:03}" if tick_ms % 1000 else "")
    count = len(schedule_ids)
    herd = f"{count} schedules at {clock}" if count >= HERD else None
    return UpcomingInstant(tick_ms=tick_ms, count=count, schedule_ids=schedule_ids[:MAX_NAMED], herd=herd)
