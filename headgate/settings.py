"""Every limit and interval, with its unit and default.

The constants are part of the contract and the same for everybody. `Settings` holds what an installation may tune.
"""

from __future__ import annotations

from typing import Final

import msgspec

from headgate.errors import InvalidRequest

MAX_SCHEDULE_ID: Final = 200
MAX_JOB_ID: Final = 255
MAX_NAME: Final = 128
MAX_NAMESPACE: Final = 64
MAX_IDEMPOTENCY_KEY: Final = 200
MAX_SPEC: Final = 1024
MAX_PAYLOAD_BYTES: Final = 1_048_576
MAX_BODY_BYTES: Final = 2_097_152
MAX_JSON_DEPTH: Final = 64
MAX_BACKFILL: Final = 1000
MAX_PRIORITY: Final = 100
MAX_ATTEMPTS: Final = 100
MAX_DURATION_MS: Final = 366 * 86_400_000
MAX_INSTANT_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: the last instant a tick may have."""

MAX_PAGE: Final = 200
MAX_EVENTS_PAGE: Final = 100
MAX_EVENTS: Final = 100
MAX_GAPS: Final = 100
MAX_OUTCOMES: Final = 30
MAX_MANUAL: Final = 100
MAX_CHANGES: Final = 50
MAX_REVISION: Final = 2**53 - 1
MAX_LABELS: Final = 16
MAX_LABEL: Final = 63
MAX_TEXT: Final = 1_000
"""Characters of a description, a reason or a note."""
MAX_WHO: Final = 200
MAX_EXAMINED: Final = 1_000
"""Entries that one page of a filtered list looks at."""
MAX_RANGE: Final = 1_000
"""Ticks that one range backfill enqueues or lists."""
MAX_SWEEP: Final = 1_000
MAX_SETTING_MS: Final = 100 * 366 * 86_400_000

MAX_CALL_TICKS: Final = 200
"""Ticks in one script call; above this nothing is gained and the server is blocked for longer than 5 ms."""
MAX_CALL_BYTES: Final = 1_048_576
"""Payload bytes in one script call, unless a single job is larger."""

MAX_BATCH: Final = 200
"""Jobs in one request."""
MAX_BATCH_BYTES: Final = 2_097_152
"""Payload bytes in one request of several jobs."""
MAX_UNIQUE_KEY_BYTES: Final = 255
MAX_HEADERS: Final = 64
MAX_QUEUE_LIMIT: Final = 1_000_000_000

IDEMPOTENCY_MS: Final = 86_400_000
ARCHIVE_RETENTION_MS: Final = 7 * 86_400_000
"""How long a job that did not complete is kept to be looked at."""
REPEAT_MS: Final = 60_000
"""How long the repeat of a call whose answer was lost may take to come; a finished job is kept for that long."""
MAX_CALL_TIMEOUT_MS: Final = 20_000
"""A call and its repeat fit into `REPEAT_MS`."""
GRACE_EVERY_MS: Final = 60_000
"""How often a silence of all processes may put off the judgement of leases."""
RETRY_MIN_MS: Final = 1_000
RETRY_MAX_MS: Final = 60_000
TOKEN_DUST: Final = 1e-6
"""What sums of fractions may lack of a whole token of a rate limit."""
PRIORITY_STEP_MS: Final = 60_000
"""One step of priority is a head start of a minute, so that nothing starves."""

MARKER_GAPS: Final = 16
MARKER_MIN_MS: Final = 600_000
MARKER_MAX_MS: Final = 86_400_000


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation may tune.

    Attributes:
        lease_ttl_ms: life of a duty's lease; a killed holder is replaced within this plus a second.
        lease_margin_ms: how long before the lease's end a holder stops trusting it.
        call_timeout_ms: longest wait for one answer of the store; at most a third of the lease.
        sweep_limit: schedules read in one sweep.
        backoff_min_ms: first wait after the store failed; doubled, with jitter, up to `backoff_max_ms`.
        backoff_max_ms: longest such wait.
        history_retention_ms: how long a deleted schedule's events are kept; 0 keeps them for ever.
        crash_limit: crashes of a job's workers after which its content is quarantined.
        overdue_after_ms: how far past its due time a schedule counts as overdue.
        max_finished: most finished jobs that are kept of a queue, whatever their retention; the oldest go first.

    Raises:
        InvalidRequest: a value contradicts another; the message names both.
    """

    lease_ttl_ms: int = 5_000
    lease_margin_ms: int = 500
    call_timeout_ms: int = 1_500
    sweep_limit: int = 600
    backoff_min_ms: int = 100
    backoff_max_ms: int = 5_000
    history_retention_ms: int = 365 * 86_400_000
    crash_limit: int = 3
    overdue_after_ms: int = 10_000
    max_finished: int = 10_000

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            value = getattr(self, field)
            if type(value) is not int:
                raise InvalidRequest(f"{field} must be a whole number", field=field)
            least = 0 if field == "history_retention_ms" else 1
            if not least <= value <= MAX_SETTING_MS:
                raise InvalidRequest(f"{field} {value} is outside {least} to {MAX_SETTING_MS}", field=field)
        if self.backoff_min_ms > self.backoff_max_ms:
            raise InvalidRequest(
                f"backoff_min_ms {self.backoff_min_ms} is over backoff_max_ms {self.backoff_max_ms}",
                field="backoff_min_ms",
            )
        if self.call_timeout_ms > MAX_CALL_TIMEOUT_MS:
            raise InvalidRequest(
                f"call_timeout_ms {self.call_timeout_ms} is over {MAX_CALL_TIMEOUT_MS}", field="call_timeout_ms"
            )
        if self.call_timeout_ms * 3 > self.lease_ttl_ms:
            raise InvalidRequest(
                f"call_timeout_ms {self.call_timeout_ms} is over a third of lease_ttl_ms {self.lease_ttl_ms}",
                field="call_timeout_ms",
            )
        if not 0 < self.lease_margin_ms * 2 < self.lease_ttl_ms:
            raise InvalidRequest(
                f"lease_margin_ms {self.lease_margin_ms} must be under half of lease_ttl_ms {self.lease_ttl_ms}",
                field="lease_margin_ms",
            )
        if not 1 <= self.sweep_limit <= MAX_SWEEP:
            raise InvalidRequest(f"sweep_limit must be 1 to {MAX_SWEEP}", field="sweep_limit")

    @property
    def heartbeat_ms(self) -> int:
        """A third of the lease: the longest a lost wake-up can delay anything."""
        return self.lease_ttl_ms // 3
