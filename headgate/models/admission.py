"""Why a job is not running. Frozen, and free of I/O.

Every ``…_ms`` is store time in integer milliseconds since the epoch, UTC.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headgate.models.jobs import JobState
from headgate.models.queues import RateLimit


class Blocker(StrEnum):
    """Why a job that waits is not running."""

    QUEUE_PAUSED = "queue_paused"
    CONCURRENCY = "concurrency"
    RATE_LIMIT = "rate_limit"
    QUARANTINE = "quarantine"
    NOT_DUE = "not_due"
    NO_WORKER = "no_worker"
    """No process that lives works on the queue and knows the kind."""


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """What stands between a job and its worker, at one instant of store time.

    Attributes:
        admissible: it waits, and a worker that asks now may be given it.
        blocked_by: what stands in its way first; null where nothing does, or where the job does not wait.
        available_at_ms: from when it may run.
        deadline_ms: after which it is archived instead; null for none.
        ahead: jobs that stand before it in its queue; null unless it is available.
        running: jobs of its queue that run, in all processes.
        max_concurrent: how many may; null for any number.
        tokens: what the queue's bucket holds; null without a rate limit.
        workers: processes that work on its queue and know its kind.
        workers_of_queue: processes that work on its queue.
        estimate_ms: the instant from which it may be admitted, as far as the clock and the rate limit tell; null where
            nobody can say.
    """

    job_id: str
    state: JobState
    store_time_ms: int
    admissible: bool
    blocked_by: Blocker | None
    available_at_ms: int
    deadline_ms: int | None
    queue_paused_since_ms: int | None
    running: int
    max_concurrent: int | None
    tokens: float | None
    rate_limit: RateLimit | None
    quarantined: bool
    ahead: int | None
    workers: int
    workers_of_queue: int
    estimate_ms: int | None
