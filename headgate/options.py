"""The optional fields of jobs and schedules as keyword arguments, so that type checkers know them."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from headgate.models import MissedPolicy, Overlap


class ContentOptions(TypedDict, total=False):
    """Fields that jobs and schedules share; ``queue`` is the actor's own unless given."""

    queue: str
    priority: int
    max_attempts: int
    timeout_ms: int
    retention_ms: int


class JobOptions(ContentOptions, total=False):
    """Fields of `headgate.models.JobRequest`."""

    id: str
    delay_ms: int
    run_at_ms: int
    deadline_ms: int
    unique_key: str
    unique_ms: int
    headers: dict[str, str]


class ScheduleOptions(ContentOptions, total=False):
    """Fields of `headgate.models.ScheduleDefinition`."""

    payload: Any
    on_missed: MissedPolicy | Literal["skip", "run_once", "backfill"]
    backfill_limit: int
    description: str
    labels: dict[str, str]
    overlap: Overlap | Literal["allow", "skip"]
    max_lateness_ms: int | None
    starts_at_ms: int | None
    ends_at_ms: int | None
    jitter_ms: int
    unique_key: str | None
    headers: dict[str, str]
    deadline_ms: int | None
    owner: str
