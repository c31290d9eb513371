"""The optional fields of jobs and schedules as keyword arguments, so that type checkers know them."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from headgate.models import MissedPolicy


class JobOptions(TypedDict, total=False):
    """Fields of `headgate.models.JobRequest`; ``queue`` is the actor's own unless given."""

    queue: str
    priority: int
    max_attempts: int
    timeout_ms: int
    retention_ms: int


class ScheduleOptions(JobOptions, total=False):
    """Fields of `headgate.models.ScheduleDefinition`."""

    payload: Any
    on_missed: MissedPolicy | Literal["skip", "run_once", "backfill"]
    backfill_limit: int
