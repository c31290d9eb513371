"""Why a job is not running, worked out from the numbers that the gate itself goes by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from headgate.errors import StoreError
from headgate.models import Admission, Blocker, JobState
from headgate.settings import TOKEN_DUST
from headgate.store.records import rate_limit_from

_WAITING: Final = (JobState.SCHEDULED, JobState.AVAILABLE, JobState.RETRYABLE, JobState.QUARANTINED)


class _Found(NamedTuple):
    """The answer of `lua/job_admission.lua`: digits are text, '' where there is nothing."""

    now: str
    state: str
    available_at: str
    deadline: str
    barred: int
    paused_at: str
    running: int
    max_concurrent: str
    tokens: str
    rate_limit: str
    rate_window_ms: str
    rate_burst: str
    ahead: int
    workers_of_queue: int
    workers: int

    @property
    def due_in_ms(self) -> int:
        return int(self.available_at) - int(self.now)

    @property
    def late(self) -> bool:
        """Its deadline has passed: whoever meets it next archives it."""
        return bool(self.deadline) and int(self.deadline) <= int(self.now)

    @property
    def free(self) -> float:
        """Jobs of the queue that may begin before `max_concurrent` is reached."""
        return int(self.max_concurrent) - self.running if self.max_concurrent else math.inf

    @property
    def tokens_left(self) -> float:
        """What the bucket holds for this job once those ahead of it have had theirs."""
        return float(self.tokens) + TOKEN_DUST - max(0, self.ahead) if self.tokens else math.inf


def admission_from(job_id: str, values: Sequence[Any]) -> Admission:
    """The admission of a job, from the script's answer; raises `StoreError` when that is not what Headgate wrote."""
    found = _Found(*values)
    try:
        return _admission(job_id, found)
    except ValueError:
        raise StoreError("a stored job or queue has a field that headgate did not write") from None


def _admission(job_id: str, found: _Found) -> Admission:
    state = JobState(found.state)
    blocker = _blocker(state, found) if state in _WAITING else None
    return Admission(
        job_id=job_id,
        state=state,
        store_time_ms=int(found.now),
        admissible=state in _WAITING and blocker is None and not found.late,
        blocked_by=blocker,
        available_at_ms=int(found.available_at),
        deadline_ms=_number(found.deadline),
        queue_paused_since_ms=_number(found.paused_at),
        running=found.running,
        max_concurrent=_number(found.max_concurrent),
        tokens=float(found.tokens) if found.tokens else None,
        rate_limit=rate_limit_from(found.rate_limit, found.rate_window_ms, found.rate_burst),
        quarantined=bool(found.barred),
        ahead=found.ahead if found.ahead >= 0 else None,
        workers=found.workers,
        workers_of_queue=found.workers_of_queue,
        estimate_ms=_estimate(state, blocker, found),
    )


def _blocker(state: JobState, found: _Found) -> Blocker | None:
    """What stands in the way first, in the order in which waiting alone helps the least."""
    if found.barred or state is JobState.QUARANTINED:
        return Blocker.QUARANTINE
    # A job that nobody knew waits for another try: it is the worker that is missing and not the time.
    if found.due_in_ms > 0 and (found.workers or state is JobState.SCHEDULED):
        return Blocker.NOT_DUE
    return _gate_blocker(found)


def _gate_blocker(found: _Found) -> Blocker | None:
    if found.paused_at:
        return Blocker.QUEUE_PAUSED
    if not found.workers:
        return Blocker.NO_WORKER
    if found.free < 1:
        return Blocker.CONCURRENCY
    if found.tokens_left < 1:
        return Blocker.RATE_LIMIT
    return Blocker.CONCURRENCY if found.free <= max(0, found.ahead) else None


def _estimate(state: JobState, blocker: Blocker | None, found: _Found) -> int | None:
    if state not in _WAITING or found.late:
        return None
    now_ms = int(found.now)
    if blocker is Blocker.NOT_DUE:
        return int(found.available_at)
    if blocker is Blocker.RATE_LIMIT:
        per_token_ms = int(found.rate_window_ms) / int(found.rate_limit)
        return now_ms + math.ceil((1 - found.tokens_left) * per_token_ms)
    return now_ms if blocker is None and found.ahead <= 0 else None


def _number(text: str) -> int | None:
    return int(text) if text else None
