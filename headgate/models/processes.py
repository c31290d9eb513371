"""Processes: who is on duty, and who works. Frozen, and free of I/O.

Every ``…_ms`` is store time in integer milliseconds since the epoch, UTC, unless its text says it is a duration.
"""

from __future__ import annotations

import msgspec


class DutyState(msgspec.Struct, frozen=True, kw_only=True):
    """Who does the work that only one process may do.

    Attributes:
        holder: the process with the lease; null when nobody has it.
        epoch: leases granted so far.
        lease_left_ms: how long the lease still lasts, a duration; null when nobody has it.
    """

    name: str
    holder: str | None
    epoch: int
    lease_left_ms: int | None


class WorkerProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process that works and lives.

    Attributes:
        queues: which it works on.
        kinds: those it has actors for.
        concurrency: most jobs it runs at once.
        running: jobs it ran when it was last seen.
    """

    id: str
    host: str
    pid: int
    version: str
    seen_at_ms: int
    queues: list[str]
    kinds: list[str]
    concurrency: int
    running: int


class WorkerPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of workers by id; `next_cursor` continues it, null at the end."""

    workers: list[WorkerProcess]
    next_cursor: str | None
