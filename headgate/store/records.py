"""Stored hashes and lists as models: numbers from their digits, '' as None, a foreign value as a store error."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from headgate.errors import InvalidRequest, InvalidSpec, StoreError
from headgate.jsontext import parse_json
from headgate.log import log_event
from headgate.models import Event, Job, RateLimit, Schedule
from headgate.spec import parse_spec

_PLAIN_FIELDS: Final = (
    *("id", "kind", "spec", "payload_bytes", "fingerprint", "queue", "priority", "max_attempts", "timeout_ms"),
    *("retention_ms", "on_missed", "backfill_limit", "revision", "created_at_ms", "updated_at_ms"),
    *("next_run_ms", "anchor_ms", "last_tick_ms", "last_lateness_ms"),
    *("max_lateness_ms", "starts_at_ms", "ends_at_ms", "unique_key", "deadline_ms"),
)
_DEFAULTED_FIELDS: Final = {"description": "", "overlap": "allow", "jitter_ms": "0", "owner": "", "outcomes": ""}
_PAUSE_FIELDS: Final = {
    "reason": "pause_reason",
    "by": "paused_by",
    "since_ms": "paused_at_ms",
    "until_ms": "paused_until_ms",
}
_FAILURE_FIELDS: Final = {
    "tick_ms": "failing_tick_ms",
    "reason": "failing_reason",
    "attempts": "failing_attempts",
    "since_ms": "failing_since_ms",
    "retry_at_ms": "retry_at_ms",
}
SCHEDULE_FIELDS: Final = (
    *(*_PLAIN_FIELDS, "paused", *_DEFAULTED_FIELDS, "labels"),
    *(*_PAUSE_FIELDS.values(), *_FAILURE_FIELDS.values()),
)
JOB_FIELDS: Final = (
    *("id", "kind", "queue", "state", "priority", "attempt", "crash_attempt", "max_attempts", "timeout_ms"),
    *("retention_ms", "fingerprint", "enqueued_at_ms", "available_at_ms", "deadline_ms", "unique_key"),
    *("started_at_ms", "finished_at_ms"),
    *("worker", "last_error", "periodic_schedule_id", "periodic_tick_ms", "manual_schedule_id"),
)


def pairs(flat: Sequence[str]) -> dict[str, str]:
    """A flat reply of fields and values as a dict."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def schedule_from(record: Mapping[str, str | None]) -> Schedule:
    """A schedule's record; with its payload if the record has it.

    Raises:
        StoreError: the record is not what Headgate writes.
    """
    values: dict[str, Any] = {name: record.get(name) or None for name in _PLAIN_FIELDS}
    values |= {name: record.get(name) or default for name, default in _DEFAULTED_FIELDS.items()}
    values["labels"] = _map(record.get("labels"))
    values["reading"], values["zone"] = _read_spec(record.get("spec") or "")
    if record.get("payload") is not None:
        values["headers"] = _map(record.get("headers"))
    paused = values["paused"] = record.get("paused") == "1"
    values["pause"] = {name: record.get(field) or None for name, field in _PAUSE_FIELDS.items()} if paused else None
    values["finished"] = not paused and not values["next_run_ms"]
    failing = bool(record.get("failing_tick_ms"))
    values["failure"] = {name: record.get(field) for name, field in _FAILURE_FIELDS.items()} if failing else None
    return _with_payload(values, Schedule, record.get("payload"))


@lru_cache(maxsize=4_096)
def _read_spec(text: str) -> tuple[str, str]:
    """A spec in words, and its zone; '' twice for one that is refused, which is told where it would fire."""
    try:
        spec = parse_spec(text)
    except InvalidSpec:
        return "", ""
    return spec.describe(), spec.zone


def _map(text: str | None) -> dict[str, str]:
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, str])
    except msgspec.MsgspecError:
        raise StoreError("a stored schedule has a field that headgate did not write") from None


def job_from(record: Mapping[str, str | None]) -> Job:
    """A job's record; with its payload if the record has it.

    Raises:
        StoreError: the record is not what Headgate writes.
    """
    values: dict[str, Any] = {name: record.get(name) or None for name in JOB_FIELDS}
    schedule_id, tick_ms = values.pop("periodic_schedule_id"), values.pop("periodic_tick_ms")
    values["periodic_origin"] = {"schedule_id": schedule_id, "tick_ms": tick_ms} if schedule_id and tick_ms else None
    return _with_payload(values, Job, record.get("payload"))


def jobs_from(rows: Sequence[Sequence[str | None]]) -> list[Job]:
    """The jobs of a list, in the order of `JOB_FIELDS`; one that cannot be read is logged and passed over."""
    jobs = []
    for row in rows:
        record = dict(zip(JOB_FIELDS, row, strict=True))
        try:
            jobs.append(job_from(record))
        except StoreError:
            log_event(logging.ERROR, "job.unreadable", job=record["id"])
    return jobs


def rate_limit_from(limit: str | None, window_ms: str | None, burst: str | None) -> RateLimit | None:
    """A queue's rate limit; None where it has none. Raises `ValueError` for what is no number."""
    if not (limit and window_ms and burst):
        return None
    return RateLimit(limit=int(limit), window_ms=int(window_ms), burst=int(burst))


def event_from(text: str) -> Event:
    """An event as stored; raises `StoreError` when it is not what Headgate writes."""
    try:
        return msgspec.json.decode(text, type=Event)
    except msgspec.MsgspecError:
        raise StoreError("the history holds an event that headgate did not write") from None


_Record = TypeVar("_Record", Schedule, Job)


def _with_payload(values: dict[str, Any], model: type[_Record], payload: str | None) -> _Record:
    try:
        if payload is not None:
            values["payload"] = parse_json(payload.encode(), field="payload")
        return msgspec.convert(values, model, strict=False)
    except (msgspec.MsgspecError, ValueError, InvalidRequest):
        raise StoreError(f"a stored {model.__name__.lower()} has a field that headgate did not write") from None
