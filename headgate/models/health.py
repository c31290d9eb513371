"""How the whole stands. Frozen, and free of I/O.

Every ``…_ms`` is store time in integer milliseconds since the epoch, UTC, unless its text says it is a duration.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headgate.models.processes import DutyState


class OverdueSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule whose time has passed.

    Attributes:
        due_ms: the tick that it waits with; of a pause that was to end by itself, its end.
    """

    schedule_id: str
    due_ms: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Who is on duty and how things stand, read at one instant of store time.

    Attributes:
        processes: those that live and beat, whether or not they hold a duty.
        swept_at_ms: when a scheduler last looked for what is due, which it does when something is; null before the
            first time.
        due_next_ms: when something is due next, perhaps in the past; null when nothing waits.
        overdue_by_ms: how long that is past; a duration.
        overdue: schedules that are due for longer than `Settings.overdue_after_ms`, those that fail among them.
        oldest_overdue: the one of them that waits for longest.
    """

    store_time_ms: int
    duties: list[DutyState]
    processes: int
    swept_at_ms: int | None
    due_next_ms: int | None
    overdue_by_ms: int
    overdue: int
    oldest_overdue: OverdueSchedule | None
    schedules: int
    paused: int
    failing: int


class HealthStatus(StrEnum):
    """The whole in a word."""

    OK = "ok"
    DEGRADED = "degraded"
    """It works, with trouble."""
    DOWN = "down"
    """Nothing is scheduled, or nothing of it can be kept."""


class HealthProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong.

    Attributes:
        code: stable: ``no_scheduler``, ``no_reclaimer``, ``overdue``, ``failing``, or the code of a store's error, as
            ``store_full`` or ``store_unavailable``.
        message: a sentence for people; may change.
    """

    code: str
    message: str


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it works, why not, and what was seen.

    Attributes:
        store: ``ok`` when it answers and takes writes, else the code of its error.
        problems: the gravest first; empty when all is well.
        overview: null while the store does not answer.
    """

    status: HealthStatus
    store: str
    problems: list[HealthProblem]
    overview: Overview | None
