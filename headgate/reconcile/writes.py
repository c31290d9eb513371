"""Carrying a plan out, among others who do the same."""

from __future__ import annotations

from typing import Final

import msgspec

from headgate.errors import Conflict, RevisionMismatch, ScheduleNotFound
from headgate.models import Schedule
from headgate.reconcile.plan import Plan, differences, refuse
from headgate.store import Store

_TRIES: Final = 100
"""Each is lost to the write of somebody else, who has then made theirs."""


class Applied(msgspec.Struct, kw_only=True):
    """How many schedules were written; fewer than planned where other processes were faster.

    Attributes:
        kept: left alone by a prune, since somebody wrote them after they were read.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    kept: int = 0


async def apply(store: Store, plan: Plan, *, prune: bool = False) -> Applied:
    """Carry a plan out. Each write is atomic; the whole is not, and may be repeated until it is done.

    A schedule that others wrote since it was read is planned again. One to be deleted is then left alone: somebody may
    have declared it anew.

    Raises:
        Conflict: a wanted schedule belongs to another owner; if the plan knew, nothing was written.
        StoreError: the store does not answer, or a schedule cannot be written.
    """
    plan.check()
    done = Applied(unchanged=len(plan.unchanged))
    writes = dict.fromkeys(plan.creates, 0) | {edit.schedule_id: edit.revision for edit in plan.changes}
    for schedule_id, revision in writes.items():
        change = await _write(store, plan, schedule_id, revision)
        setattr(done, change, getattr(done, change) + 1)
    if prune:
        await _prune(store, plan, done)
    return done


async def _write(store: Store, plan: Plan, schedule_id: str, revision: int) -> str:
    """``created``, ``updated``, or ``unchanged`` if others were faster."""
    definition = plan.wanted[schedule_id]
    for _ in range(_TRIES):
        try:
            put = await store.schedules.put(schedule_id, definition, by=plan.owner, expected_revision=revision)
        except RevisionMismatch as race:
            current = race.current
        else:
            return put.change
        revision = 0
        if isinstance(current, Schedule):
            if not differences(current, definition):
                return "unchanged"
            if not plan.adopt and current.owner not in ("", plan.owner):
                refuse(plan.owner, {schedule_id: current.owner})
            revision = current.revision
    raise Conflict(f"schedule {schedule_id} was changed by others {_TRIES} times in a row")


async def _prune(store: Store, plan: Plan, done: Applied) -> None:
    for schedule_id, revision in plan.deletes.items():
        try:
            await store.schedules.delete(schedule_id, by=plan.owner, expected_revision=revision)
        except ScheduleNotFound:
            pass  # others prune, too
        except (RevisionMismatch, Conflict):
            done.kept += 1
        else:
            done.deleted += 1
