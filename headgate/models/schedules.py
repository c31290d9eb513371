"""Schedules and what became of their ticks. Frozen, and free of I/O.

Every ``…_ms`` is store time in integer milliseconds since the epoch, UTC, unless its text says it is a duration.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from headgate.errors import InvalidRequest
from headgate.models.jobs import JobOptions
from headgate.models.rules import check_range
from headgate.settings import MAX_BACKFILL


class MissedPolicy(StrEnum):
    """What becomes of ticks that are due and older than the latest due one."""

    SKIP = "skip"
    """Only the latest due tick fires; older ones are recorded as a discarded range."""
    RUN_ONCE = "run_once"
    """As `skip` today; kept apart because it says that the owner wants the work made up for."""
    BACKFILL = "backfill"
    """The `backfill_limit` latest due ticks fire, oldest first; older ones are discarded."""


class Outcome(StrEnum):
    """What became of a tick."""

    ENQUEUED = "enqueued"
    DEDUPLICATED = "deduplicated"
    SKIPPED = "skipped"
    FAILED = "failed"


class Reason(StrEnum):
    """Why: a stable word of few values, never an error text."""

    ACCEPTED = "accepted"
    REPLAYED = "replayed"
    """Queued by an earlier attempt whose event could not be written, or whose schedule was restored."""
    ID_CONFLICT = "id_conflict"
    """The tick identity was used before, with other content."""
    BACKPRESSURE = "backpressure"
    """The queue has as many unfinished jobs as it may."""
    QUARANTINED = "quarantined"
    SPEC_CHANGED = "spec_changed"
    HOOK_SKIPPED = "hook_skipped"
    HOOK_ERROR = "hook_error"
    """A before-hook raised, or took too long."""
    INVALID_SPEC = "invalid_spec"
    """The stored spec is refused now, for instance because its zone left the zone database."""
    INVALID_REQUEST = "invalid_request"
    """The stored record lacks a field that a job needs."""
    STORE_ERROR = "store_error"
    """A key of this tick holds what Headgate did not write there."""


class ScheduleDefinition(JobOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What its owner says about a schedule; where the schedule stands is not part of it.

    Attributes:
        spec: when, see `headgate.spec`.
        on_missed: what becomes of missed ticks.
        backfill_limit: 1 to 1000; how many of the latest due ticks `backfill` fires.
    """

    spec: str
    on_missed: MissedPolicy = MissedPolicy.SKIP
    backfill_limit: int = 100

    def check(self) -> None:
        """Raise `InvalidRequest` for the first value that breaks its rule; the spec has a checker of its own."""
        super().check()
        if self.on_missed not in tuple(MissedPolicy):
            raise InvalidRequest(f"on_missed must be one of {', '.join(MissedPolicy)}", field="on_missed")
        check_range("backfill_limit", self.backfill_limit, 1, MAX_BACKFILL)


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A tick that is still due because it could not be carried out."""

    tick_ms: int
    reason: Reason
    attempts: int
    since_ms: int
    retry_at_ms: int


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The durable record, as stored.

    Attributes:
        payload: absent in lists, which carry `payload_bytes` only.
        revision: moves with every write of the definition, never by firing.
        next_run_ms: the next tick to be looked at; null when paused or when the spec has no further tick.
        anchor_ms: the last tick passed, or the instant of creation or of a changed spec.
        last_tick_ms: the last tick decided; at or before it everything ran unless a gap says otherwise.
        outcomes: one letter for each of the last 30 ticks, newest last: enqueued, deduplicated, skipped, failed.
        failure: why the due tick is not getting through, or null.
    """

    id: str
    kind: str
    spec: str
    payload: Any | msgspec.UnsetType = msgspec.UNSET
    payload_bytes: int
    fingerprint: str
    queue: str
    priority: int
    max_attempts: int
    timeout_ms: int
    retention_ms: int
    on_missed: MissedPolicy
    backfill_limit: int
    revision: int
    created_at_ms: int
    updated_at_ms: int
    paused: bool
    next_run_ms: int | None
    anchor_ms: int
    last_tick_ms: int | None
    outcomes: str
    failure: Failure | None


class TickRange(msgspec.Struct, frozen=True, kw_only=True):
    """Ticks passed without running; both ends are ticks and belong to the range."""

    from_ms: int
    until_ms: int


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What the scheduler did about one tick.

    Attributes:
        event_id: 1, 2, 3 … without holes, for as long as the schedule's history is kept.
        job_id: the job the tick became, or the one that stands in its way; null when there is none.
        attempts: how often this tick was tried, this time included.
        first_attempt_ms: when it was first tried, if that was not this time.
        discarded: older due ticks that the policy passed over in favour of this one.
    """

    event_id: int
    schedule_id: str
    tick_ms: int
    job_id: str | None
    outcome: Outcome
    reason: Reason
    recorded_at_ms: int
    attempts: int = 1
    first_attempt_ms: int | None = None
    discarded: TickRange | None = None
