"""Queues: what they are told to let through, and how they stand. Quarantine. Frozen, and free of I/O.

Every ``…_ms`` is store time in integer milliseconds since the epoch, UTC, unless its text says it is a duration.
"""

from __future__ import annotations

import msgspec

from headgate.errors import InvalidRequest
from headgate.models.rules import check_range
from headgate.settings import MAX_DURATION_MS, MAX_QUEUE_LIMIT


class RateLimit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token bucket: it fills by `limit` in each window up to `burst`, and each job that begins takes one.

    In any stretch of time, at most its share of `limit` and `burst` more begin.

    Attributes:
        limit: at least 1.
        window_ms: a duration of at least 1.
        burst: what it holds, at least 1; as much as `limit` unless given.
    """

    limit: int
    window_ms: int = 1_000
    burst: int | None = None

    @property
    def capacity(self) -> int:
        """What the bucket holds."""
        return self.limit if self.burst is None else self.burst

    def check(self) -> None:
        """Raise `InvalidRequest` for the first value that breaks its rule."""
        check_range("rate_limit.limit", self.limit, 1, MAX_QUEUE_LIMIT)
        check_range("rate_limit.window_ms", self.window_ms, 1, MAX_DURATION_MS)
        check_range("rate_limit.burst", self.capacity, 1, MAX_QUEUE_LIMIT)


class QueueLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a queue lets through; null for any number.

    Attributes:
        max_concurrent: most jobs that run at once, in all processes; 0 lets none begin.
        max_unfinished: most jobs that wait or run; beyond it, enqueuing is refused and ticks stay due.
        rate_limit: how fast jobs may begin.
    """

    max_concurrent: int | None = None
    max_unfinished: int | None = None
    rate_limit: RateLimit | None = None

    def check(self) -> None:
        """Raise `InvalidRequest` for the first value that breaks its rule."""
        for field in ("max_concurrent", "max_unfinished"):
            value = getattr(self, field)
            if value is not None:
                check_range(field, value, 0, MAX_QUEUE_LIMIT)
        if self.rate_limit is not None:
            if not isinstance(self.rate_limit, RateLimit):
                raise InvalidRequest("rate_limit must be a headgate.RateLimit", field="rate_limit")
            self.rate_limit.check()


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue as it stands.

    Attributes:
        paused: nothing new is admitted; what runs goes on.
        paused_since_ms: null when it is not paused.
        limits: what it was told to let through.
        counts: jobs by state.
    """

    name: str
    paused: bool
    paused_since_ms: int | None
    limits: QueueLimits
    counts: dict[str, int]


class QueuePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of queues by name; `next_cursor` continues it, null at the end."""

    queues: list[Queue]
    next_cursor: str | None


class Quarantine(msgspec.Struct, frozen=True, kw_only=True):
    """A fingerprint of kind and payload that may neither be enqueued nor run.

    Attributes:
        why: ``crash_limit`` or ``operator``.
        note: what the operator said.
        job_id: the job whose crashes brought it about, or null.
        set_aside: jobs that wait for its release.
    """

    fingerprint: str
    since_ms: int
    why: str
    note: str | None
    job_id: str | None
    set_aside: int


class QuarantinePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of quarantined fingerprints in their own order; `next_cursor` continues it, null at the end."""

    quarantines: list[Quarantine]
    next_cursor: str | None
