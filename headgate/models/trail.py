"""What is kept of a schedule beside its ticks: ranges that did not run, runs by hand, changes. Frozen, free of I/O.

Every ``…_ms`` is store time in integer milliseconds since the epoch, UTC.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A range of ticks that did not run; both ends are ticks and belong to it.

    Attributes:
        reason: ``discarded``, or that of the event: ``paused``, ``spec_changed``, ``quarantined`` …
        spec: whose ticks they are.
        count: how many ticks, worked out when it is read; null where the spec cannot be read any more.
    """

    from_ms: int
    until_ms: int
    reason: str
    spec: str = ""
    count: int | None = None


class GapPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of gaps, oldest first; `next_cursor` continues towards newer ones, null at the end."""

    gaps: list[Gap]
    next_cursor: str | None


class ManualRun(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was asked for by hand.

    Attributes:
        trigger: ``manual`` for an extra run, ``backfill`` for a tick that was made up for.
        outcome: ``enqueued``, or ``deduplicated`` where `job_id` stood in the way.
        tick_ms: the tick, or the first of several; null for an extra run.
        from_ms: the first tick of a backfill's call; null for an extra run.
        until_ms: the last one.
        count: how many of them became jobs; `job_id` is that of the first.
        by: who asked, or null.
    """

    schedule_id: str
    trigger: str
    job_id: str
    recorded_at_ms: int
    outcome: str = "enqueued"
    tick_ms: int | None = None
    from_ms: int | None = None
    until_ms: int | None = None
    count: int | None = None
    by: str | None = None


class ManualRunPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of runs by hand, newest first; `next_cursor` continues it, null at the end of what is kept."""

    runs: list[ManualRun]
    next_cursor: str | None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Who changed what of a schedule.

    Attributes:
        what: ``created``, ``updated``, ``paused``, ``resumed`` or ``deleted``.
        revision: the one it made.
        by: who, or null.
        fields: from what to what, by name; of payload and headers only that they changed.
        anchor_ms: the instant that a changed spec, or changed bounds, count from; null where those stayed.
    """

    at_ms: int
    revision: int
    what: str
    by: str | None
    fields: dict[str, list[Any]] = {}
    anchor_ms: int | None = None


class ChangePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of changes, newest first; `next_cursor` continues it, null at the end of what is kept."""

    changes: list[Change]
    next_cursor: str | None


class Backfilled(msgspec.Struct, frozen=True, kw_only=True):
    """What a range backfill did, or would do.

    Attributes:
        dry_run: nothing was done.
        ticks: those that became jobs, or would, oldest first.
        already_ran: ticks of the present spec in the range that are in no gap.
        unknown: ticks older than the oldest gap that is kept: nobody knows whether they ran.
        stopped_by: why it ended early: ``backpressure``, ``quarantined``, ``unique_key``, ``hook_skipped`` …; null when
            it did not. The tick at which it ended stays in its gap.
        more_after_ms: go on with this as `after_ms`, which passes over a tick that a hook skipped; null when the range
            is done.
        replayed: the whole answer to the first request with this idempotency key. One that was cut off is no whole
            answer: its repeat goes on with it.
    """

    dry_run: bool
    ticks: list[int]
    already_ran: int
    unknown: int
    stopped_by: str | None
    more_after_ms: int | None
    replayed: bool = False
