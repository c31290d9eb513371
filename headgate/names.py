"""Checked names, identities and fingerprints."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from headgate.errors import IdempotencyKeyMissing, InvalidRequest
from headgate.settings import (
    MAX_IDEMPOTENCY_KEY,
    MAX_JOB_ID,
    MAX_NAME,
    MAX_NAMESPACE,
    MAX_SCHEDULE_ID,
    MAX_UNIQUE_KEY_BYTES,
)

TICK_JOB_PREFIX: Final = "sched-"
"""Job ids that only a tick may have; nobody needs to parse one, since the job carries its origin."""

_ALPHABETS: Final = {
    "schedule id": (re.compile(r"[A-Za-z0-9._:@{}-]+"), "A-Z a-z 0-9 . _ : @ { } -", MAX_SCHEDULE_ID),
    "kind": (re.compile(r"[A-Za-z0-9._:/-]+"), "A-Z a-z 0-9 . _ - : /", MAX_NAME),
    "queue": (re.compile(r"[A-Za-z0-9._-]+"), "A-Z a-z 0-9 . _ -", MAX_NAME),
    "namespace": (re.compile(r"[A-Za-z0-9._-]+"), "A-Z a-z 0-9 . _ -", MAX_NAMESPACE),
    "job id": (re.compile(r"[A-Za-z0-9._:@{}-]+"), "A-Z a-z 0-9 . _ : @ { } -", MAX_JOB_ID),
    "fingerprint": (re.compile(r"[0-9a-f]{32}"), "32 of 0-9 a-f", 32),
    "idempotency key": (re.compile(r"[!-~]+"), "printable ASCII without spaces", MAX_IDEMPOTENCY_KEY),
}


def check_schedule_id(text: str) -> str:
    """`text`, if it may be a schedule's id: 1 to 200 of ``[A-Za-z0-9._:@{}-]``, not ``.`` or ``..``.

    Raises:
        InvalidRequest: naming field, rule and length.
    """
    if text in (".", ".."):  # clients of HTTP resolve such a segment away before they send it
        raise InvalidRequest(f"schedule id {text!r} cannot be part of a URL", field="id")
    return _checked(text, "schedule id", "id")


def check_id_prefix(text: str) -> str:
    """`text`, if ids of schedules may begin so; raises `InvalidRequest`."""
    return _checked(text, "schedule id", "prefix")


def check_kind(text: str) -> str:
    """`text`, if it may be a job's kind: 1 to 128 of ``[A-Za-z0-9._:/-]``; raises `InvalidRequest`."""
    return _checked(text, "kind", "kind")


def check_queue(text: str) -> str:
    """`text`, if it may name a queue: 1 to 128 of ``[A-Za-z0-9._-]``; raises `InvalidRequest`."""
    return _checked(text, "queue", "queue")


def check_namespace(text: str) -> str:
    """`text`, if it may name a namespace: 1 to 64 of ``[A-Za-z0-9._-]``; raises `InvalidRequest`."""
    return _checked(text, "namespace", "namespace")


def check_job_id(text: str) -> str:
    """`text`, if it may be a job's id: 1 to 255 of ``[A-Za-z0-9._:@{}-]``; raises `InvalidRequest`."""
    return _checked(text, "job id", "id")


def check_caller_job_id(text: str) -> str:
    """`text`, if a caller may choose it as a job's id.

    Raises:
        InvalidRequest: it is no job id, cannot be part of a URL, or has the prefix of ticks' jobs.
    """
    if text in (".", ".."):  # clients of HTTP resolve such a segment away before they send it
        raise InvalidRequest(f"job id {text!r} cannot be part of a URL", field="id")
    if check_job_id(text).startswith(TICK_JOB_PREFIX):
        raise InvalidRequest(f"job id {shown(text)} begins with {TICK_JOB_PREFIX}, which only ticks may", field="id")
    return text


def check_unique_key(text: str) -> str:
    """`text`, if it may be a unique key: 1 to 255 bytes of UTF-8, all printable; raises `InvalidRequest`."""
    if not isinstance(text, str):
        raise InvalidRequest("unique_key must be text", field="unique_key")
    size = len(text.encode("utf-8", "replace"))
    if not 1 <= size <= MAX_UNIQUE_KEY_BYTES:
        raise InvalidRequest(f"unique_key is {size} bytes; the rule is 1 to {MAX_UNIQUE_KEY_BYTES}", field="unique_key")
    if not text.isprintable():
        raise InvalidRequest(f"unique_key {shown(text)} has a character that cannot be printed", field="unique_key")
    return text


def check_fingerprint(text: str) -> str:
    """`text`, if it may be a fingerprint: 32 hex digits in lower case; raises `InvalidRequest`."""
    return _checked(text, "fingerprint", "fingerprint")


def check_idempotency_key(text: str | None) -> str:
    """`text`, if it may be an idempotency key: 1 to 200 of printable ASCII without spaces.

    Raises:
        IdempotencyKeyMissing: there is none, or an empty one.
        InvalidRequest: it breaks the rule.
    """
    if not text:
        raise IdempotencyKeyMissing("Idempotency-Key is required: it makes a repeat harmless", field="Idempotency-Key")
    return _checked(text, "idempotency key", "Idempotency-Key")


def tick_job_id(schedule_id: str, tick_ms: int) -> str:
    """The id of the one job a tick may become."""
    return f"{TICK_JOB_PREFIX}{schedule_id}-{tick_ms}"


def fingerprint(kind: str, payload: str) -> str:
    """What quarantine and duplicate detection know a job's content by: 32 hex digits.

    SHA-256 over kind and canonical payload, each preceded by its length in bytes, so that no two pairs run together.
    """
    digest = hashlib.sha256()
    for part in (kind.encode(), payload.encode()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:32]


def _checked(text: str, what: str, field: str) -> str:
    pattern, alphabet, longest = _ALPHABETS[what]
    if not isinstance(text, str):
        raise InvalidRequest(f"{what} must be text", field=field)
    if not 1 <= len(text) <= longest:
        raise InvalidRequest(f"{what} is {len(text)} characters long; the rule is 1 to {longest}", field=field)
    if not pattern.fullmatch(text):
        raise InvalidRequest(f"{what} {shown(text)} has a character outside {alphabet}", field=field)
    return text


def shown(text: str, longest: int = 60) -> str:
    """A refused value, quoted, cut and free of control characters, fit for a message."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    return ascii(cut).replace("\\u2026", "…") if not cut.isascii() else repr(cut)
