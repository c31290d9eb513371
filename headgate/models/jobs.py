"""Jobs: what is asked for, what is stored, and what is said of it. Frozen, and free of I/O.

Every ``…_ms`` is store time in integer milliseconds since the epoch, UTC, unless its text says it is a duration.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from headgate.errors import InvalidRequest
from headgate.jsontext import canonical
from headgate.models.rules import check_range
from headgate.names import check_caller_job_id, check_kind, check_queue, check_unique_key, fingerprint
from headgate.settings import MAX_ATTEMPTS, MAX_DURATION_MS, MAX_HEADERS, MAX_INSTANT_MS, MAX_PRIORITY


class JobState(StrEnum):
    """Where a job stands. The last four are final: a job leaves them by an operator's word alone."""

    SCHEDULED = "scheduled"
    """Waits for the instant that it was asked to run at."""
    AVAILABLE = "available"
    """May run as soon as the gate of its queue lets it."""
    RUNNING = "running"
    RETRYABLE = "retryable"
    """Waits for its next attempt, or for a worker that knows its kind."""
    QUARANTINED = "quarantined"
    """Set aside: its content is barred until an operator releases it."""
    COMPLETED = "completed"
    ARCHIVED = "archived"
    """Its attempts are used up, or its deadline passed: the dead letters."""
    CANCELLED = "cancelled"
    """Its actor said that another attempt is not worth it, or an operator did."""
    UNDECODABLE = "undecodable"
    """Its payload does not fit its actor; another attempt would not change that."""


FINAL_STATES: Final = (JobState.COMPLETED, JobState.ARCHIVED, JobState.CANCELLED, JobState.UNDECODABLE)


class JobOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a job is queued and run, whoever enqueues it.

    Attributes:
        kind: which actor runs it.
        payload: what the actor receives; any JSON value up to 1 MiB.
        queue: where workers look for it.
        priority: -100 to 100; one step is a head start of one minute in its queue.
        max_attempts: 1 to 100.
        timeout_ms: longest run of one attempt, a duration.
        retention_ms: how long the finished job is kept, a duration.
    """

    kind: str
    payload: Any = None
    queue: str = "default"
    priority: int = 0
    max_attempts: int = 5
    timeout_ms: int = 300_000
    retention_ms: int = 86_400_000

    def check(self) -> None:
        """Raise `InvalidRequest` for the first value that breaks its rule."""
        check_kind(self.kind)
        check_queue(self.queue)
        check_range("priority", self.priority, -MAX_PRIORITY, MAX_PRIORITY)
        check_range("max_attempts", self.max_attempts, 1, MAX_ATTEMPTS)
        check_range("timeout_ms", self.timeout_ms, 1, MAX_DURATION_MS)
        check_range("retention_ms", self.retention_ms, 0, MAX_DURATION_MS)

    def content(self) -> tuple[str, str]:
        """The canonical payload text and the fingerprint of kind and payload; raises `InvalidRequest`."""
        text = canonical(self.payload)
        return text, fingerprint(self.kind, text)


class JobRequest(JobOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job somebody asks for directly.

    Attributes:
        id: chosen by the caller: 1 to 255 characters, not beginning with ``sched-``. A second request with the same id
            and content finds the first one's job; with other content it is refused.
        delay_ms: how long to wait before it may run, a duration.
        run_at_ms: the instant from which it may run; one that has passed means at once. Not together with `delay_ms`.
        deadline_ms: the instant after which it is not worth running: it is archived instead, and an attempt under way
            is stopped.
        unique_key: 1 to 255 bytes; while a job holds it, a request with the same key makes no job and is told which.
        unique_ms: for how long the key is held, a duration, however long the job lives; null for the job's life.
        headers: text by name, for the actor's context; at most 64.
    """

    id: str | None = None
    delay_ms: int | None = None
    run_at_ms: int | None = None
    deadline_ms: int | None = None
    unique_key: str | None = None
    unique_ms: int | None = None
    headers: dict[str, str] = {}

    def check(self) -> None:
        """Raise `InvalidRequest` for the first value that breaks its rule."""
        super().check()
        if self.id is not None:
            check_caller_job_id(self.id)
        if self.delay_ms is not None:
            check_range("delay_ms", self.delay_ms, 0, MAX_DURATION_MS)
        if self.run_at_ms is not None:
            check_range("run_at_ms", self.run_at_ms, 0, MAX_INSTANT_MS)
            if self.delay_ms is not None:
                raise InvalidRequest("run_at_ms and delay_ms exclude each other", field="run_at_ms")
        if self.deadline_ms is not None:
            check_range("deadline_ms", self.deadline_ms, 0, MAX_INSTANT_MS)
        self._check_unique()
        check_headers(self.headers)

    def _check_unique(self) -> None:
        if self.unique_key is not None:
            check_unique_key(self.unique_key)
        if self.unique_ms is not None:
            if self.unique_key is None:
                raise InvalidRequest("unique_ms needs a unique_key", field="unique_ms")
            check_range("unique_ms", self.unique_ms, 1, MAX_DURATION_MS)


def check_headers(headers: Any) -> None:
    """Raise `InvalidRequest` unless these are at most 64 pairs of text."""
    if not isinstance(headers, dict) or len(headers) > MAX_HEADERS:
        raise InvalidRequest(f"headers must be at most {MAX_HEADERS} pairs of text", field="headers")
    if not all(isinstance(text, str) for pair in headers.items() for text in pair):
        raise InvalidRequest("headers must be text by name", field="headers")


class PeriodicOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """The tick a job was made for."""

    schedule_id: str
    tick_ms: int


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The durable unit of work.

    Attributes:
        payload: present only when asked for.
        periodic_origin: the tick it was made for; null for a job that somebody asked for.
        manual_schedule_id: the schedule whose "enqueue now" made it, or null.
        available_at_ms: from when it may run.
        deadline_ms: after which it is archived instead of run; null for none.
        unique_key: the key it holds, or held; null for none.
        attempt: attempts that ended in an error.
        crash_attempt: attempts whose worker was not heard of again.
        worker: the process that runs it or ran it last.
        last_error: the class of the last attempt's error; never its text.
    """

    id: str
    kind: str
    queue: str
    state: JobState
    priority: int
    attempt: int
    crash_attempt: int
    max_attempts: int
    timeout_ms: int
    retention_ms: int
    fingerprint: str
    enqueued_at_ms: int
    available_at_ms: int
    deadline_ms: int | None
    unique_key: str | None
    started_at_ms: int | None
    finished_at_ms: int | None
    worker: str | None
    last_error: str | None
    periodic_origin: PeriodicOrigin | None
    manual_schedule_id: str | None
    payload: Any | msgspec.UnsetType = msgspec.UNSET


class Enqueued(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request for a job.

    Attributes:
        job_id: the job: the new one, or the one that was there before.
        replayed: the request was carried out before, or the id it chose belongs to a job with the same content.
        duplicate: no job was made, since `job_id` holds the unique key.
    """

    job_id: str
    replayed: bool = False
    duplicate: bool = False


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What the before-hooks made of a job: ``go`` with this content, ``skip`` or ``fail``."""

    word: str
    payload: str = ""
    fingerprint: str = ""
    headers: str = "{}"


class JobPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of jobs without their payloads; `next_cursor` continues it, null at the end."""

    jobs: list[Job]
    next_cursor: str | None
