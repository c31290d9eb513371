"""What a log of changes tells of a tick that did not run. Pure. Every log is newest first."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.models import Change, Schedule


def pause_at(changes: Sequence[Change], at_ms: int) -> Change | None:
    """The last word on the first pause that was over at an instant (milliseconds) or later; None if forgotten."""
    said = None
    for change in reversed(changes):
        if change.what == "paused":
            said = change
        elif change.what == "resumed":
            if said and change.at_ms >= at_ms:
                break
            said = None
    return said


def respec_of(changes: Sequence[Change], tick_ms: int) -> Change | None:
    """The change of spec or bounds that passed a tick; None if it is forgotten."""
    for change in reversed(changes):
        if change.anchor_ms is not None and change.anchor_ms >= tick_ms:
            return change
    return None


def policy_at(schedule: Schedule | None, changes: Sequence[Change], at_ms: int | None) -> str | None:
    """The policy for missed ticks that a schedule had at an instant (milliseconds); None where nobody knows."""
    if schedule is None or at_ms is None:
        return None
    policy: str = schedule.on_missed
    for change in changes:
        if change.at_ms <= at_ms:
            return policy
        if "on_missed" in change.fields:
            policy = change.fields["on_missed"][0]
    return None
