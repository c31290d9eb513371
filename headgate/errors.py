"""Every error Headgate raises on purpose, one tree, each with a stable ``code``.

::

    HeadgateError
    ├── InvalidRequest            bad input; nothing was stored
    │   ├── InvalidSpec           a spec the grammar refuses
    │   ├── InvalidShape          unknown field, wrong type, missing field
    │   ├── InvalidSyntax         a body that is not JSON
    │   ├── TooLarge              over a byte limit
    │   ├── UnsupportedMedia      a body of another content type
    │   ├── InvalidCursor         a cursor this list never gave out
    │   ├── IdempotencyKeyMissing
    │   └── IdempotencyKeyReused  same key, another request
    ├── NotFound
    │   ├── ScheduleNotFound
    │   ├── JobNotFound
    │   ├── QueueNotFound
    │   └── QuarantineNotFound
    ├── Conflict                  lost every race against other writers, or what is stored does not go with the request
    │   ├── IdConflict            the id belongs to a job with other content
    │   ├── NotPaused             there is nothing to resume
    │   ├── UniqueKeyHeld         another job holds the unique key
    │   └── JobStateConflict      the job is in no state for that
    ├── RevisionMismatch          the schedule is not as its writer read it
    ├── Quarantined               the content is barred
    ├── Backpressure              the queue has as many unfinished jobs as it may
    ├── TooManyStreams            as many clients listen as one process takes
    ├── LeaseLost                 the duty belongs to another process now
    ├── Discard                   raised by an actor: this job is not worth another attempt
    ├── SkipTick                  raised by a before-hook: no job for this tick
    ├── HookFailed                a before-hook raised, or took too long
    ├── StoreError                the store answered, but not with what Headgate wrote there
    │   ├── StoreUnavailable      no answer in time; the call may or may not have happened
    │   ├── StoreFull             memory is exhausted; refused before the first write
    │   └── StoreUnsupported      a server or set-up Headgate cannot run on
    └── EmbeddedError             the embedded server cannot be had
        ├── EmbeddedMissing       no server binary on this machine
        └── DataDirInUse          another process owns the data directory

A message names field, value and rule. It never carries a payload, a secret or the store's own words.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class Code(StrEnum):
    """Every code that an error, or a problem over HTTP, may have. One may be added; none changes or goes."""

    HEADGATE_ERROR = "headgate_error"
    INVALID_REQUEST = "invalid_request"
    INVALID_SPEC = "invalid_spec"
    INVALID_SHAPE = "invalid_shape"
    INVALID_SYNTAX = "invalid_syntax"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    INVALID_CURSOR = "invalid_cursor"
    IDEMPOTENCY_KEY_MISSING = "idempotency_key_missing"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    NOT_FOUND = "not_found"
    SCHEDULE_NOT_FOUND = "schedule_not_found"
    JOB_NOT_FOUND = "job_not_found"
    QUEUE_NOT_FOUND = "queue_not_found"
    QUARANTINE_NOT_FOUND = "quarantine_not_found"
    CONFLICT = "conflict"
    ID_CONFLICT = "id_conflict"
    NOT_PAUSED = "not_paused"
    UNIQUE_KEY_HELD = "unique_key_held"
    JOB_STATE = "job_state"
    REVISION_MISMATCH = "revision_mismatch"
    QUARANTINED = "quarantined"
    BACKPRESSURE = "backpressure"
    LEASE_LOST = "lease_lost"
    DISCARDED = "discarded"
    HOOK_SKIPPED = "hook_skipped"
    HOOK_ERROR = "hook_error"
    STORE_ERROR = "store_error"
    STORE_UNAVAILABLE = "store_unavailable"
    STORE_FULL = "store_full"
    STORE_UNSUPPORTED = "store_unsupported"
    EMBEDDED_ERROR = "embedded_error"
    EMBEDDED_MISSING = "embedded_missing"
    DATA_DIR_IN_USE = "data_dir_in_use"

    # of the HTTP API alone
    ROUTE_NOT_FOUND = "route_not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"
    EXPECTATION_FAILED = "expectation_failed"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    READ_ONLY = "read_only"
    CROSS_SITE = "cross_site"
    HOST_NOT_ALLOWED = "host_not_allowed"
    TOO_MANY_ATTEMPTS = "too_many_attempts"
    TOO_MANY_STREAMS = "too_many_streams"
    OVERLOADED = "overloaded"
    INTERNAL_ERROR = "internal_error"


class HeadgateError(Exception):
    """The root of the tree. ``code`` is stable; the message is for people and may change."""

    code: ClassVar[Code] = Code.HEADGATE_ERROR

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidRequest(HeadgateError):
    """A value breaks a rule; ``field`` names it. Nothing was stored."""

    code = Code.INVALID_REQUEST


class InvalidSpec(InvalidRequest):
    """A spec the grammar refuses, in the same words at every entry point."""

    code = Code.INVALID_SPEC

    def __init__(self, message: str, *, field: str | None = "spec") -> None:
        super().__init__(message, field=field)


class InvalidShape(InvalidRequest):
    """An unknown field, a missing one, or a value of the wrong type."""

    code = Code.INVALID_SHAPE


class InvalidSyntax(InvalidRequest):
    """The body is not JSON as RFC 8259 has it."""

    code = Code.INVALID_SYNTAX


class TooLarge(InvalidRequest):
    """A value is over its limit in bytes."""

    code = Code.TOO_LARGE


class UnsupportedMedia(InvalidRequest):
    """The body has a content type other than ``application/json``."""

    code = Code.UNSUPPORTED_MEDIA_TYPE


class InvalidCursor(InvalidRequest):
    """A cursor that this list never gave out."""

    code = Code.INVALID_CURSOR

    def __init__(self, message: str, *, field: str | None = "cursor") -> None:
        super().__init__(message, field=field)


class IdempotencyKeyMissing(InvalidRequest):
    """The operation creates something and came without a key to make a repeat harmless."""

    code = Code.IDEMPOTENCY_KEY_MISSING


class IdempotencyKeyReused(InvalidRequest):
    """The key belongs to an earlier request with other content."""

    code = Code.IDEMPOTENCY_KEY_REUSED


class NotFound(HeadgateError):
    """Nothing is stored under that id."""

    code = Code.NOT_FOUND


class ScheduleNotFound(NotFound):
    """No schedule has that id."""

    code = Code.SCHEDULE_NOT_FOUND


class JobNotFound(NotFound):
    """No job has that id; a finished job is removed after its retention."""

    code = Code.JOB_NOT_FOUND


class QueueNotFound(NotFound):
    """No queue of that name was ever used or told anything."""

    code = Code.QUEUE_NOT_FOUND


class QuarantineNotFound(NotFound):
    """That fingerprint is not quarantined."""

    code = Code.QUARANTINE_NOT_FOUND


class Conflict(HeadgateError):
    """Other writers changed the record each time this one tried, or what is stored does not go with the request."""

    code = Code.CONFLICT


class IdConflict(Conflict):
    """The id that the caller chose belongs to a job with other content."""

    code = Code.ID_CONFLICT


class NotPaused(Conflict):
    """The schedule is not paused, so there is nothing to resume."""

    code = Code.NOT_PAUSED


class UniqueKeyHeld(Conflict):
    """The job cannot come back: another one holds its unique key."""

    code = Code.UNIQUE_KEY_HELD


class JobStateConflict(Conflict):
    """The job is in no state for that; the message says which would do."""

    code = Code.JOB_STATE


class RevisionMismatch(HeadgateError):
    """The schedule has another revision than its writer expected; `current` is the schedule, None if there is none."""

    code = Code.REVISION_MISMATCH

    def __init__(self, message: str, *, field: str | None = None, current: object = None) -> None:
        super().__init__(message, field=field)
        self.current = current


class Quarantined(HeadgateError):
    """The fingerprint of kind and payload is barred from being enqueued."""

    code = Code.QUARANTINED


class Backpressure(HeadgateError):
    """The queue has as many unfinished jobs as it may; try again once some are done."""

    code = Code.BACKPRESSURE


class TooManyStreams(HeadgateError):
    """As many clients listen as one process takes."""

    code = Code.TOO_MANY_STREAMS


class LeaseLost(HeadgateError):
    """The script refused to write: the duty's lease is not this holder's any more."""

    code = Code.LEASE_LOST


class Discard(HeadgateError):
    """Raised by an actor: the job is ended as cancelled, without a retry."""

    code = Code.DISCARDED

    def __init__(self, message: str = "not worth another attempt", *, field: str | None = None) -> None:
        super().__init__(message, field=field)


class SkipTick(HeadgateError):
    """Raised by a before-hook: the tick makes no job, and the trail says ``skipped/hook_skipped``."""

    code = Code.HOOK_SKIPPED

    def __init__(self, message: str = "skipped by a hook", *, field: str | None = None) -> None:
        super().__init__(message, field=field)


class HookFailed(HeadgateError):
    """A before-hook raised, or took longer than it may; nothing was enqueued."""

    code = Code.HOOK_ERROR


class StoreError(HeadgateError):
    """A key holds what Headgate did not write there, or a script failed; see the server's log."""

    code = Code.STORE_ERROR


class StoreUnavailable(StoreError):
    """No answer in time. The call may have happened; repeat it only if a repeat is harmless."""

    code = Code.STORE_UNAVAILABLE


class StoreFull(StoreError):
    """The store is out of memory and refused the call before its first write."""

    code = Code.STORE_FULL


class StoreUnsupported(StoreError):
    """The server is too old, or set up so that Headgate's promises would not hold."""

    code = Code.STORE_UNSUPPORTED


class EmbeddedError(HeadgateError):
    """The embedded server did not start or did not answer."""

    code = Code.EMBEDDED_ERROR


class EmbeddedMissing(EmbeddedError):
    """No server binary exists for this machine; the message says what to install instead."""

    code = Code.EMBEDDED_MISSING


class DataDirInUse(EmbeddedError):
    """Another process owns the data directory; the message names it and how to share its server."""

    code = Code.DATA_DIR_IN_USE
