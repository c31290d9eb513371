"""Schedules and what became of their ticks. Frozen, and free of I/O.

Every ``…_ms`` is store time in integer milliseconds since the epoch, UTC, unless its text says it is a duration.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from headgate.errors import InvalidRequest
from headgate.models.jobs import JobOptions, check_headers
from headgate.models.rules import check_range, check_text
from headgate.names import check_unique_key
from headgate.settings import (
    MAX_BACKFILL,
    MAX_DURATION_MS,
    MAX_INSTANT_MS,
    MAX_LABEL,
    MAX_LABELS,
    MAX_TEXT,
    MAX_WHO,
)


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
    UNIQUE_KEY = "unique_key"
    """Another job holds the schedule's unique key."""
    OVERLAP = "overlap"
    """The run before it is not over."""
    TOO_LATE = "too_late"
    """The tick is older than its `max_lateness_ms`, or its deadline has passed."""
    PAUSED = "paused"
    """It came while the schedule was paused."""
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


class Overlap(StrEnum):
    """What becomes of a tick while the run before it is not over."""

    ALLOW = "allow"
    """It becomes a job as ever."""
    SKIP = "skip"
    """It makes no job: ``deduplicated/overlap``, naming the run that is not over."""


class MissedTicks(StrEnum):
    """What a resume does about the ticks of the pause."""

    NONE = "none"
    """None of them fires: they are recorded as a range."""
    RUN_ONCE = "run_once"
    """The latest one fires."""
    BACKFILL = "backfill"
    """The `backfill_limit` latest ones fire."""


class ScheduleDefinition(JobOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What its owner says about a schedule; where the schedule stands is not part of it.

    Attributes:
        spec: when, see `headgate.spec`.
        on_missed: what becomes of missed ticks.
        backfill_limit: 1 to 1000; how many of the latest due ticks `backfill` fires.
        description: for people, up to 1,000 characters.
        labels: up to 16 pairs to find it by; names and values of up to 63 characters.
        overlap: what becomes of a tick while the run before it is not over.
        max_lateness_ms: a tick that is older makes no job, ``skipped/too_late``; a duration, null for never.
        starts_at_ms: no tick before this instant.
        ends_at_ms: no tick after this instant; then the schedule is finished.
        jitter_ms: a tick's job may run up to so much later, always the same for one tick and never as late as the next
            tick; a duration, shorter than the interval.
        unique_key: while an unfinished job holds it, a tick makes no job, ``deduplicated/unique_key``.
        headers: text by name, for the actor's context.
        deadline_ms: how long after its tick a job is worth running, a duration; then it is archived.
        owner: who declares the schedule; a reconciliation removes only what its own owner declared.
    """

    spec: str
    on_missed: MissedPolicy = MissedPolicy.SKIP
    backfill_limit: int = 100
    description: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    overlap: Overlap = Overlap.ALLOW
    max_lateness_ms: int | None = None
    starts_at_ms: int | None = None
    ends_at_ms: int | None = None
    jitter_ms: int = 0
    unique_key: str | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    deadline_ms: int | None = None
    owner: str = ""

    def check(self) -> None:
        """Raise `InvalidRequest` for the first value that breaks its rule; the spec has a checker of its own."""
        super().check()
        if self.on_missed not in tuple(MissedPolicy):
            raise InvalidRequest(f"on_missed must be one of {', '.join(MissedPolicy)}", field="on_missed")
        check_range("backfill_limit", self.backfill_limit, 1, MAX_BACKFILL)
        check_text("description", self.description, MAX_TEXT)
        check_text("owner", self.owner, MAX_WHO)
        check_labels(self.labels)
        check_headers(self.headers)
        if self.unique_key is not None:
            check_unique_key(self.unique_key)
        self._check_overlap()
        self._check_times()

    def _check_overlap(self) -> None:
        if self.overlap not in tuple(Overlap):
            raise InvalidRequest(f"overlap must be one of {', '.join(Overlap)}", field="overlap")
        if self.overlap == Overlap.SKIP and self.on_missed == MissedPolicy.BACKFILL:
            raise InvalidRequest(
                "overlap skip excludes on_missed backfill: of several ticks at once only the first would run",
                field="overlap",
            )

    def _check_times(self) -> None:
        check_range("jitter_ms", self.jitter_ms, 0, MAX_DURATION_MS)
        for field, least in (("max_lateness_ms", 1), ("deadline_ms", 1)):
            if (value := getattr(self, field)) is not None:
                check_range(field, value, least, MAX_DURATION_MS)
        if self.deadline_ms is not None and self.deadline_ms <= self.jitter_ms:
            raise InvalidRequest(
                f"deadline_ms {self.deadline_ms} is not longer than jitter_ms {self.jitter_ms}: a job might be late",
                field="deadline_ms",
            )
        for field in ("starts_at_ms", "ends_at_ms"):
            if (value := getattr(self, field)) is not None:
                check_range(field, value, 0, MAX_INSTANT_MS)
        if self.starts_at_ms is not None and self.ends_at_ms is not None and self.ends_at_ms < self.starts_at_ms:
            raise InvalidRequest(
                f"ends_at_ms {self.ends_at_ms} is before starts_at_ms {self.starts_at_ms}", field="ends_at_ms"
            )


def check_labels(labels: Any) -> None:
    """Raise `InvalidRequest` unless these are at most 16 pairs of text, names and values of 1 to 63 characters."""
    if not isinstance(labels, dict) or len(labels) > MAX_LABELS:
        raise InvalidRequest(f"labels must be at most {MAX_LABELS} pairs of text", field="labels")
    for pair in labels.items():
        for text in pair:
            if not isinstance(text, str) or not 1 <= len(text) <= MAX_LABEL or not text.isprintable():
                raise InvalidRequest(
                    f"labels must have names and values of 1 to {MAX_LABEL} printable characters", field="labels"
                )
    if any("=" in name for name in labels):  # what a filter tells name and value apart by
        raise InvalidRequest("labels must have names without =", field="labels")


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A tick that is still due because it could not be carried out."""

    tick_ms: int
    reason: Reason
    attempts: int
    since_ms: int
    retry_at_ms: int


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """Why a schedule does not fire.

    Attributes:
        reason: as given, or null.
        by: who, as given, or null.
        since_ms: when it was paused.
        until_ms: when it resumes by itself; null for never.
    """

    reason: str | None
    by: str | None
    since_ms: int | None
    until_ms: int | None


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The durable record, as stored.

    Attributes:
        payload: absent in lists, which carry `payload_bytes` only; so are the headers.
        revision: moves with every write of the definition, never by firing.
        paused: it does not fire; `pause` says why.
        finished: it is not paused and has no further tick.
        next_run_ms: the next tick to be looked at; null when paused or when the spec has no further tick.
        anchor_ms: the last tick passed, or the instant of creation or of a changed spec.
        last_tick_ms: the last tick decided; at or before it everything ran unless a gap says otherwise.
        last_lateness_ms: how long after its instant that tick was recorded, a duration; null where it is not known.
        reading: the spec in words; '' for one that is refused now.
        zone: whose clock the spec is read on; '' for UTC.
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
    description: str
    labels: dict[str, str]
    overlap: Overlap
    max_lateness_ms: int | None
    starts_at_ms: int | None
    ends_at_ms: int | None
    jitter_ms: int
    unique_key: str | None
    headers: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    deadline_ms: int | None
    owner: str
    revision: int
    created_at_ms: int
    updated_at_ms: int
    paused: bool
    pause: Pause | None
    finished: bool
    next_run_ms: int | None
    anchor_ms: int
    last_tick_ms: int | None
    last_lateness_ms: int | None
    reading: str
    zone: str
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
