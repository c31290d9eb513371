"""The next runs of a spec, before anything is stored."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

import msgspec

from headgate.spec import Spec
from headgate.spec.clock import Change, Clock

MAX_PREVIEW: Final = 1000
Mark = Literal["skipped", "merged"]
_UTC: Final = Clock()


class PreviewedTick(msgspec.Struct, frozen=True):
    """One tick to come.

    Attributes:
        tick_ms: the instant, in milliseconds.
        utc: the same in ISO 8601, in UTC.
        local: the same in ISO 8601, on the spec's clock and with its offset.
        mark: whether a clock change took ticks between this one and the one before: ``skipped``, as the clock
            never showed their time, or ``merged``, as it showed their time twice; None if none did.
    """

    tick_ms: int
    utc: str
    local: str
    mark: Mark | None


def preview_ticks(spec: Spec, after_ms: int, n: int) -> list[PreviewedTick]:
    """The first `n` ticks after the instant `after_ms` (milliseconds), fewer if the spec ends.

    Raises:
        ValueError: `n` is not 1 to `MAX_PREVIEW`.
    """
    if not 1 <= n <= MAX_PREVIEW:
        raise ValueError(f"n must be 1 to {MAX_PREVIEW}")
    before = spec.latest_at_or_before(after_ms)
    ticks = [after_ms if before is None else before]
    while len(ticks) <= n and (tick := spec.next_after(ticks[-1])) is not None:
        ticks.append(tick)
    changes = [change for change in spec.changes(ticks[0], ticks[-1]) if spec.names(change.start, change.end)]
    previewed = []
    seen = 0
    for tick in ticks[1:]:
        passed = bisect_right(changes, tick, lo=seen, key=lambda change: change.at_ms)
        mark = _mark(changes[seen:passed])
        previewed.append(PreviewedTick(tick, _iso(_UTC.shown(tick)), _iso(spec.clock.shown(tick)), mark))
        seen = passed
    return previewed


def _mark(passed: Iterable[Change]) -> Mark | None:
    """A skipped time is the graver news where both happened between two ticks."""
    kinds = {change.skips for change in passed}
    return ("skipped" if True in kinds else "merged") if kinds else None


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds" if at.microsecond else "seconds")
