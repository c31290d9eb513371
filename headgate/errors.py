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

from typing import ClassVar


class HeadgateError(Exception):
    """The root of the tree. ``code`` is stable; the message is for people and may change."""

    code: ClassVar[str] = "headgate_error"

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidRequest(HeadgateError):
    """A value breaks a rule; ``field`` names it. Nothing was stored."""

    code = "invalid_request"


class InvalidSpec(InvalidRequest):
    """A spec the grammar refuses, in the same words at every entry point."""

    code = "invalid_spec"

    def __init__(self, message: str, *, field: str | None = "spec") -> None:
        super().__init__(message, field=field)


class InvalidShape(InvalidRequest):
    """An unknown field, a missing one, or a value of the wrong type."""

    code = "invalid_shape"


class InvalidSyntax(InvalidRequest):
    """The body is not JSON as RFC 8259 has it."""

    code = "invalid_syntax"


class TooLarge(InvalidRequest):
    """A value is over its limit in bytes."""

    code = "too_large"


class UnsupportedMedia(InvalidRequest):
    """The body has a content type other than ``application/json``."""

    code = "unsupported_media_type"


class InvalidCursor(InvalidRequest):
    """A cursor that this list never gave out."""

    code = "invalid_cursor"

    def __init__(self, message: str, *, field: str | None = "cursor") -> None:
        super().__init__(message, field=field)


class IdempotencyKeyMissing(InvalidRequest):
    """The operation creates something and came without a key to make a repeat harmless."""

    code = "idempotency_key_missing"


class IdempotencyKeyReused(InvalidRequest):
    """The key belongs to an earlier request with other content."""

    code = "idempotency_key_reused"


class NotFound(HeadgateError):
    """Nothing is stored under that id."""

    code = "not_found"


class ScheduleNotFound(NotFound):
    """No schedule has that id."""

    code = "schedule_not_found"


class JobNotFound(NotFound):
    """No job has that id; a finished job is removed after its retention."""

    code = "job_not_found"


class QueueNotFound(NotFound):
    """No queue of that name was ever used or told anything."""

    code = "queue_not_found"


class QuarantineNotFound(NotFound):
    """That fingerprint is not quarantined."""

    code = "quarantine_not_found"


class Conflict(HeadgateError):
    """Other writers changed the record each time this one tried, or what is stored does not go with the request."""

    code = "conflict"


class IdConflict(Conflict):
    """The id that the caller chose belongs to a job with other content."""

    code = "id_conflict"


class NotPaused(Conflict):
    """The schedule is not paused, so there is nothing to resume."""

    code = "not_paused"


class UniqueKeyHeld(Conflict):
    """The job cannot come back: another one holds its unique key."""

    code = "unique_key_held"


class JobStateConflict(Conflict):
    """The job is in no state for that; the message says which would do."""

    code = "job_state"


class RevisionMismatch(HeadgateError):
    """The schedule has another revision than its writer expected; `current` is the schedule, None if there is none."""

    code = "revision_mismatch"

    def __init__(self, message: str, *, field: str | None = None, current: object = None) -> None:
        super().__init__(message, field=field)
        self.current = current


class Quarantined(HeadgateError):
    """The fingerprint of kind and payload is barred from being enqueued."""

    code = "quarantined"


class Backpressure(HeadgateError):
    """The queue has as many unfinished jobs as it may; try again once some are done."""

    code = "backpressure"


class LeaseLost(HeadgateError):
    """The script refused to write: the duty's lease is not this holder's any more."""

    code = "lease_lost"


class Discard(HeadgateError):
    """Raised by an actor: the job is ended as cancelled, without a retry."""

    code = "discarded"

    def __init__(self, message: str = "not worth another attempt", *, field: str | None = None) -> None:
        super().__init__(message, field=field)


class SkipTick(HeadgateError):
    """Raised by a before-hook: the tick makes no job, and the trail says ``skipped/hook_skipped``."""

    code = "hook_skipped"

    def __init__(self, message: str = "skipped by a hook", *, field: str | None = None) -> None:
        super().__init__(message, field=field)


class HookFailed(HeadgateError):
    """A before-hook raised, or took longer than it may; nothing was enqueued."""

    code = "hook_error"


class StoreError(HeadgateError):
    """A key holds what Headgate did not write there, or a script failed; see the server's log."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """No answer in time. The call may have happened; repeat it only if a repeat is harmless."""

    code = "store_unavailable"


class StoreFull(StoreError):
    """The store is out of memory and refused the call before its first write."""

    code = "store_full"


class StoreUnsupported(StoreError):
    """The server is too old, or set up so that Headgate's promises would not hold."""

    code = "store_unsupported"


class EmbeddedError(HeadgateError):
    """The embedded server did not start or did not answer."""

    code = "embedded_error"


class EmbeddedMissing(EmbeddedError):
    """No server binary exists for this machine; the message says what to install instead."""

    code = "embedded_missing"


class DataDirInUse(EmbeddedError):
    """Another process owns the data directory; the message names it and how to share its server."""

    code = "data_dir_in_use"
