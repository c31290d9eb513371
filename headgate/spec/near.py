"""Why an instant is a tick of a spec, or is not."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from headgate.spec.base import Spec
from headgate.spec.clock import SECOND, Change

_LONGEST_CHANGE_MS: Final = 86_400_000


class InstantKind(StrEnum):
    """What an instant is to a spec."""

    TICK = "tick"
    NOT_A_TICK = "not_a_tick"
    IN_GAP = "in_gap"
    REPEATED = "repeated"


class InstantFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An instant as a spec sees it.

    Attributes:
        kind: whether it is a tick; if not, whether a clock change is why.
        before_ms: the nearest tick before the instant (milliseconds); None if there is none.
        after_ms: the nearest tick after it (milliseconds); None if there is none.
        wall: for `IN_GAP` the time that the clock would have shown without the change, for `REPEATED` the one that
            it showed again; naive, as are the next two; None for the other kinds.
        start: the first wall time that the clock change skips or repeats.
        end: the first wall time after that stretch.
        first_ms: for `REPEATED`, when the clock showed `wall` first, and the spec fired (milliseconds).
    """

    kind: InstantKind
    before_ms: int | None
    after_ms: int | None
    wall: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None
    first_ms: int | None = None


def explain_instant(spec: Spec, ms: int) -> InstantFacts:
    """What the instant `ms` (milliseconds) is to `spec`.

    A wall time that a clock change skips is asked about by the instant it would have been without the change.
    """
    facts = InstantFacts(
        kind=InstantKind.TICK if _is_tick(spec, ms) else InstantKind.NOT_A_TICK,
        before_ms=spec.latest_at_or_before(ms - 1),
        after_ms=spec.next_after(ms),
    )
    if facts.kind is InstantKind.TICK or not spec.starts_at_ms <= ms <= spec.ends_at_ms:
        return facts
    for change in spec.changes(ms - _LONGEST_CHANGE_MS, ms):
        if ms - change.at_ms < change.length_ms:
            return _explained_by(change, spec, ms, facts)
    return facts


def _explained_by(change: Change, spec: Spec, ms: int, facts: InstantFacts) -> InstantFacts:
    """The facts with `change` as the reason, if the spec names the wall time it took away."""
    wall = change.start + timedelta(milliseconds=ms - change.at_ms)
    if change.skips:
        kind, first_ms = InstantKind.IN_GAP, None
        taken = ms % 1000 == 0 and spec.names(wall, wall + SECOND) > 0
    else:
        kind, first_ms = InstantKind.REPEATED, ms - change.length_ms
        taken = _is_tick(spec, first_ms)
    if not taken:
        return facts
    return msgspec.structs.replace(facts, kind=kind, wall=wall, start=change.start, end=change.end, first_ms=first_ms)


def _is_tick(spec: Spec, ms: int) -> bool:
    return spec.latest_at_or_before(ms) == ms
