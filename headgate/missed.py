"""Missed runs: which due ticks fire, which are discarded, and what is next. Pure, and bounded whatever the outage."""

from __future__ import annotations

import msgspec

from headgate.models import MissedPolicy, TickRange
from headgate.settings import MARKER_GAPS, MARKER_MAX_MS, MARKER_MIN_MS
from headgate.spec import Spec


class Plan(msgspec.Struct, frozen=True):
    """What is to be done about the due ticks of one schedule.

    Attributes:
        ticks: ticks to fire, oldest first; empty when none is due after all.
        discarded: older due ticks passed over in favour of the first of them.
        next_run_ms: the tick that follows: due or not, planned or not; None when the spec has no further one.
    """

    ticks: tuple[int, ...]
    discarded: TickRange | None
    next_run_ms: int | None


def plan_due(  # noqa: PLR0917 - every argument is a number of milliseconds or a count, named at the call
    spec: Spec, policy: MissedPolicy, backfill_limit: int, first_ms: int | None, now_ms: int, limit: int
) -> Plan:
    """The plan for ticks in ``[first_ms, now_ms]``.

    Args:
        spec: the schedule's spec.
        policy: which of several due ticks fire.
        backfill_limit: how many, for `MissedPolicy.BACKFILL`.
        first_ms: the first tick after the schedule's anchor; None when there is none.
        now_ms: store time.
        limit: most ticks to plan now; the rest stays due.
    """
    if first_ms is None or first_ms > now_ms:
        return Plan((), None, first_ms)
    second_ms = spec.next_after(first_ms)
    if second_ms is None or second_ms > now_ms:
        return Plan((first_ms,), None, second_ms)
    wanted = backfill_limit if policy is MissedPolicy.BACKFILL else 1
    ticks = spec.latest_n(wanted, first_ms - 1, now_ms)
    following = ticks[limit] if len(ticks) > limit else spec.next_after(ticks[-1])
    return Plan(tuple(ticks[:limit]), passed_over(spec, first_ms, ticks[0]), following)


def plan_catch_up(spec: Spec, first_ms: int, until_ms: int, limit: int) -> Plan:
    """The plan for a schedule that was resumed to make up for ticks: every one in ``[first_ms, until_ms]``, in order.

    Args:
        spec: the schedule's spec.
        first_ms: the first tick after the schedule's anchor.
        until_ms: the last tick to make up for.
        limit: most ticks to plan now; the rest stays due.
    """
    ticks: list[int] = []
    following: int | None = first_ms
    while following is not None and following <= until_ms and len(ticks) < limit:
        ticks.append(following)
        following = spec.next_after(following)
    return Plan(tuple(ticks), None, following)


class Resumption(msgspec.Struct, frozen=True):
    """Where a schedule stands after a pause.

    Attributes:
        unrun_ms: the latest tick of the pause that stays unrun; None when there is none.
        older: older ones that stay unrun.
        anchor_ms: where it goes on from.
        next_run_ms: its next tick; None when the spec has no further one.
        catch_up_ms: the tick up to which every tick is to fire; None for none.
    """

    unrun_ms: int | None
    older: TickRange | None
    anchor_ms: int
    next_run_ms: int | None
    catch_up_ms: int | None


def plan_resumption(spec: Spec, anchor_ms: int, now_ms: int, wanted: int) -> Resumption:
    """Go on at `now_ms`, with the `wanted` latest ticks since `anchor_ms` still to fire."""
    first_ms, latest_ms = spec.next_after(anchor_ms), spec.latest_at_or_before(now_ms)
    if first_ms is None or latest_ms is None or first_ms > latest_ms:
        from_ms = max(anchor_ms, now_ms)  # the store's clock may have gone back
        return Resumption(None, None, from_ms, spec.next_after(from_ms), None)
    ticks = spec.latest_n(wanted, first_ms - 1, latest_ms) if wanted else []
    if not ticks:
        older = passed_over(spec, first_ms, latest_ms)
        return Resumption(latest_ms, older, now_ms, spec.next_after(now_ms), None)
    if ticks[0] == first_ms:
        return Resumption(None, None, anchor_ms, first_ms, ticks[-1])
    unrun_ms = spec.latest_at_or_before(ticks[0] - 1)
    assert unrun_ms is not None, "first_ms is a tick before it"
    return Resumption(unrun_ms, passed_over(spec, first_ms, unrun_ms), unrun_ms, ticks[0], ticks[-1])


def plan_unwritten(spec: Spec, anchor_ms: int, last_tick_ms: int) -> Plan:
    """The plan for a tick that is queued but not recorded: only its event is missing.

    Args:
        spec: the schedule's spec.
        anchor_ms: the last tick that was recorded, before `last_tick_ms`.
        last_tick_ms: the queued tick.
    """
    first_ms = spec.next_after(anchor_ms)
    discarded = passed_over(spec, first_ms, last_tick_ms) if first_ms is not None else None
    return Plan((last_tick_ms,), discarded, spec.next_after(last_tick_ms))


def passed_over(spec: Spec, first_ms: int, chosen_ms: int) -> TickRange | None:
    """The ticks from `first_ms` up to but not including `chosen_ms`."""
    if first_ms >= chosen_ms:
        return None
    last_ms = spec.latest_at_or_before(chosen_ms - 1)
    assert last_ms is not None, "first_ms is a tick before chosen_ms"
    return TickRange(from_ms=first_ms, until_ms=last_ms)


def marker_life_ms(plan: Plan) -> int:
    """How long a tick's marker lives: sixteen gaps between ticks, at least ten minutes, at most a day."""
    if plan.next_run_ms is None:
        return MARKER_MAX_MS
    return min(MARKER_MAX_MS, max(MARKER_MIN_MS, MARKER_GAPS * (plan.next_run_ms - plan.ticks[-1])))
