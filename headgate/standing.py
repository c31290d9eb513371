"""What is to be said of an instant that no record tells of: from where its schedule stands, and from its spec. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headgate.eras import Era, era_at, has_tick, spec_or_none
from headgate.models import Event, Failure, Schedule, TickCode
from headgate.spec import InstantFacts, InstantKind, explain_instant

Found = tuple[TickCode, dict[str, Any]]
"""A code, and the facts that go with it, as fields of an explanation."""

_KINDS: Final = {
    InstantKind.NOT_A_TICK: TickCode.NOT_A_TICK,
    InstantKind.IN_GAP: TickCode.CLOCK_GAP,
    InstantKind.REPEATED: TickCode.REPEATED,
}


def by_standing(  # noqa: PLR0917 - one argument for each thing that is kept
    schedule: Schedule, eras: Sequence[Era], events: Sequence[Event], forgotten_ms: int, tick_ms: int, now_ms: int
) -> Found:
    """What a schedule and its spec say of the instant `tick_ms`.

    Args:
        schedule: as it stands.
        eras: its specs, newest first.
        events: newest first.
        forgotten_ms: up to this instant gaps were forgotten, because there were too many; 0 for none.
        tick_ms: the instant asked about.
        now_ms: store time.
    """
    era = era_at(eras, tick_ms)
    if era is None:
        spec = eras[-1].spec
        first_ms = spec.next_after(schedule.created_at_ms) if spec else None
        return TickCode.BEFORE_CREATED, {"since_ms": schedule.created_at_ms, "after_ms": first_ms}
    answer = _no_tick_now(schedule, tick_ms) if era.text is None else _no_tick(eras[0], era, tick_ms)
    if answer is not None:
        return answer
    if tick_ms <= schedule.anchor_ms:
        return _passed(events, forgotten_ms, tick_ms)
    if era.spec is None and tick_ms not in {schedule.next_run_ms, schedule.failure and schedule.failure.tick_ms}:
        return TickCode.UNKNOWN, {}
    return _waiting(schedule, tick_ms, now_ms)


def _no_tick_now(schedule: Schedule, tick_ms: int) -> Found | None:
    """Of the spec that it had then nothing is known: its present one is all that can be asked."""
    present = spec_or_none(schedule.spec)
    if present is None or has_tick(present, tick_ms):
        return None
    return TickCode.NOT_A_TICK, {"spec": schedule.spec, **_nearest(explain_instant(present, tick_ms))}


def _no_tick(present: Era, era: Era, tick_ms: int) -> Found | None:
    """Why the instant is no tick of its era; None when it is one, or when nobody can tell."""
    if era.spec is None:
        return None
    it = explain_instant(era.spec, tick_ms)
    if it.kind is InstantKind.TICK:
        return None
    if tick_ms < era.spec.starts_at_ms:
        return TickCode.BEFORE_START, {"since_ms": era.spec.starts_at_ms, "after_ms": it.after_ms}
    if tick_ms > era.spec.ends_at_ms:
        return TickCode.AFTER_END, {"until_ms": era.spec.ends_at_ms, "before_ms": it.before_ms}
    if present is not era and present.spec and has_tick(present.spec, tick_ms):
        return TickCode.BEFORE_SPEC, {"since_ms": present.after_ms, **_nearest(it)}
    wall = it.wall.isoformat() if it.wall and it.kind is InstantKind.IN_GAP else None
    return _KINDS[it.kind], {"other_tick_ms": it.first_ms, "wall": wall, **_nearest(it)}


def _nearest(it: InstantFacts) -> dict[str, int | None]:
    return {"before_ms": it.before_ms, "after_ms": it.after_ms}


def _passed(events: Sequence[Event], forgotten_ms: int, tick_ms: int) -> Found:
    """A tick that was decided: by the ledger it ran, as it is in no gap. The trail has it, or had."""
    trimmed = bool(events) and events[-1].event_id > 1 and tick_ms < events[-1].tick_ms
    return TickCode.FORGOTTEN if trimmed and tick_ms > forgotten_ms else TickCode.UNKNOWN, {}


def _waiting(schedule: Schedule, tick_ms: int, now_ms: int) -> Found:
    facts: dict[str, Any] = {"due_in_ms": tick_ms - now_ms}
    pause = schedule.pause
    if pause and (pause.until_ms is None or tick_ms <= pause.until_ms):
        paused = {"since_ms": pause.since_ms or schedule.created_at_ms, "until_ms": pause.until_ms}
        facts |= paused | {"by": pause.by, "why": pause.reason}
    if tick_ms > now_ms:
        return TickCode.NOT_DUE, facts
    if pause and pause.until_ms is not None and tick_ms > pause.until_ms:  # it ended, and nobody was there to see
        return TickCode.OVERDUE, facts | {"until_ms": pause.until_ms, "policy": schedule.on_missed}
    if pause:
        return TickCode.PAUSED_NOW, facts
    if schedule.failure:
        return _failing(schedule.failure, tick_ms, facts)
    return TickCode.OVERDUE, facts


def _failing(failure: Failure, tick_ms: int, facts: dict[str, Any]) -> Found:
    facts |= {"since_ms": failure.since_ms, "attempts": failure.attempts, "retry_at_ms": failure.retry_at_ms}
    facts |= {"outcome": "failed", "reason": failure.reason}
    if failure.tick_ms == tick_ms:
        return TickCode.FAILING, facts
    return TickCode.BEHIND_FAILING, facts | {"other_tick_ms": failure.tick_ms}
