"""What became of one tick, or is to become of it, and why. Frozen, and free of I/O.

Every ``…_ms`` is store time in integer milliseconds since the epoch, UTC, unless its text says it is a duration.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headgate.models.jobs import JobState
from headgate.models.schedules import TickRange


class TickCode(StrEnum):
    """What an explanation says, as a stable word."""

    ENQUEUED = "enqueued"
    """It became a job; `job_state` says how that one stands or ended, null that it was removed since."""
    MADE_UP = "made_up"
    """It did not run in its time, and a range backfill made it a job later."""
    IN_NO_GAP = "in_no_gap"
    """It is in no gap any more: made up for, or deduplicated; nothing that is kept says which."""
    UNIQUE_KEY = "unique_key"
    OVERLAP = "overlap"
    ID_CONFLICT = "id_conflict"
    """These three made no job: `job_id` stood in the way."""
    DISCARDED = "discarded"
    """It was missed, and passed over in favour of `other_tick_ms`."""
    QUARANTINED = "quarantined"
    TOO_LATE = "too_late"
    HOOK_SKIPPED = "hook_skipped"
    SPEC_CHANGED = "spec_changed"
    PAUSED = "paused"
    """It belongs to a pause that is over, and did not run."""
    PAUSED_NOW = "paused_now"
    """It is due, and the schedule is paused: a resume decides."""
    FAILING = "failing"
    BEHIND_FAILING = "behind_failing"
    """It is due, and the schedule fails at `other_tick_ms`."""
    OVERDUE = "overdue"
    """It is due, and not decided yet."""
    NOT_DUE = "not_due"
    NOT_A_TICK = "not_a_tick"
    CLOCK_GAP = "clock_gap"
    """A clock change skipped its wall time."""
    REPEATED = "repeated"
    """A clock change repeats its wall time; the tick is the first one, `other_tick_ms`."""
    BEFORE_SPEC = "before_spec"
    """It is a tick of the present spec, and of none that was in force then."""
    BEFORE_CREATED = "before_created"
    BEFORE_START = "before_start"
    AFTER_END = "after_end"
    FORGOTTEN = "forgotten"
    """It is older than the history that is kept, and counts as run."""
    UNKNOWN = "unknown"
    """Nothing that is kept says what became of it."""
    DELETED = "deleted"
    """The schedule was deleted, and its history does not tell of this tick."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to: did it run, and why not? Fields that do not apply are null.

    Attributes:
        sentence: the answer in plain English, for people.
        store_time_ms: when it was true.
        spec: whose tick it is, as far as is known; of what is no tick, the spec that was asked.
        earlier_spec: it was a tick of an earlier spec; the present one does not have it.
        deleted: the schedule is deleted, and its history is kept.
        outcome: as in the event or the run by hand; also of a failing tick.
        reason: as in the event or the gap.
        event_id: the event that tells of it.
        recorded_at_ms: when that was decided.
        job_id: the job it became, or the one that stood in its way.
        job_state: where the tick's own job stands; null where it was removed.
        job_at_ms: when that job ended, began to run, or may run.
        range: the ticks that shared its fate, both ends included.
        other_tick_ms: another tick that it gave way to, waits behind, or is a repetition of.
        before_ms: the nearest tick before it.
        after_ms: the nearest tick after it.
        wall: the time on the schedule's clock that a clock change skipped, ISO 8601 without an offset.
        by: who paused, changed, deleted or made up.
        why: the reason given for a pause.
        policy: the policy for missed ticks that passed it over, or is to decide.
        since_ms: since when the schedule is paused, fails, exists, has its spec, starts or is deleted.
        until_ms: when the pause ends or ended by itself, or the schedule ended.
        attempts: how often it was tried.
        retry_at_ms: when it is tried next.
        due_in_ms: how long until it is due, a duration; negative for one that is overdue.
    """

    schedule_id: str
    tick_ms: int
    code: TickCode
    sentence: str = ""
    store_time_ms: int
    spec: str | None = None
    earlier_spec: bool = False
    deleted: bool = False
    outcome: str | None = None
    reason: str | None = None
    event_id: int | None = None
    recorded_at_ms: int | None = None
    job_id: str | None = None
    job_state: JobState | None = None
    job_at_ms: int | None = None
    range: TickRange | None = None
    other_tick_ms: int | None = None
    before_ms: int | None = None
    after_ms: int | None = None
    wall: str | None = None
    by: str | None = None
    why: str | None = None
    policy: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    attempts: int | None = None
    retry_at_ms: int | None = None
    due_in_ms: int | None = None
