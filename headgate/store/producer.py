"""The producer: jobs that somebody asks for, one or many, each request carried out once."""

from __future__ import annotations

import itertools
import json
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn

from headgate.errors import (
    Backpressure,
    HeadgateError,
    IdConflict,
    IdempotencyKeyReused,
    InvalidRequest,
    Quarantined,
    ScheduleNotFound,
    StoreError,
    TooLarge,
)
from headgate.jsontext import canonical
from headgate.models import Decision, Enqueued, JobRequest, check_text
from headgate.names import check_idempotency_key, check_schedule_id, fingerprint
from headgate.settings import MAX_BATCH, MAX_BATCH_BYTES, MAX_WHO
from headgate.store.scripts import Scripts

_NUMBERS: Final = itertools.count()
_CONTENT: Final = ("kind", "queue", "priority", "max_attempts", "timeout_ms", "retention_ms")
_EXTRA: Final = ("delay_ms", "run_at_ms", "deadline_ms", "unique_key", "unique_ms")


class Producer:
    """What enqueues in one namespace, besides the scheduler."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def enqueue(self, request: JobRequest, *, idempotency_key: str | None = None) -> Enqueued:
        """Queue a job; atomic. With a key, the same request within 24 h gets the same answer.

        Raises:
            InvalidRequest: a value breaks its rule, or the deadline comes before the job could run.
            IdempotencyKeyReused: the key came with another request before.
            IdConflict: the chosen id belongs to a job with other content.
            Quarantined: the content is barred.
            Backpressure: the queue has as many unfinished jobs as it may.
            StoreError: a key holds something foreign.
        """
        [enqueued] = await self._enqueue([request], idempotency_key, many=False)
        return enqueued

    async def enqueue_many(
        self, requests: Sequence[JobRequest], *, idempotency_key: str | None = None
    ) -> list[Enqueued]:
        """Queue up to 200 jobs of up to 2 MiB of payload, all of them or none; atomic.

        A duplicate or a job that is there already is no refusal.

        Raises:
            InvalidRequest: as for `enqueue`, naming the job by its place; or there is none, or an id stands twice.
            TooLarge: there are more jobs or more bytes.
            HeadgateError: as for `enqueue`, naming the job by its place.
        """
        if not isinstance(requests, Sequence):
            raise InvalidRequest("jobs must be a list of headgate.JobRequest", field="jobs")
        if not requests:
            raise InvalidRequest("jobs must be 1 to 200; there is none", field="jobs")
        if len(requests) > MAX_BATCH:
            raise TooLarge(f"jobs are {len(requests)}; the limit is {MAX_BATCH}", field="jobs")
        return await self._enqueue(requests, idempotency_key, many=True)

    async def run_now(
        self, schedule_id: str, *, idempotency_key: str | None, by: str = "", decision: Decision | None = None
    ) -> Enqueued:
        """Queue one extra job of a schedule at once; atomic, and for 24 h once per key. The schedule stays as it is.

        With a `decision`, the job has the content that hooks gave it. `by` is who asks, for the list of runs by hand.

        Raises:
            InvalidRequest: the id or the key breaks its rule.
            IdempotencyKeyMissing, IdempotencyKeyReused: there is no key, or it came with another request before.
            ScheduleNotFound: there is no such schedule.
            Quarantined: the content is barred.
            Backpressure: the queue has as many unfinished jobs as it may.
            StoreError: a key holds something foreign.
        """
        check_schedule_id(schedule_id)
        key = check_idempotency_key(idempotency_key)
        check_text("by", by, MAX_WHO)
        who = json.dumps(by or None, ensure_ascii=False)
        final = (decision.payload, decision.fingerprint, decision.headers) if decision else ()
        request = fingerprint("run", schedule_id)
        word, *rest = await self._scripts.call("run_now", schedule_id, key, request, _new_id(), who, *final)
        if word == "missing":
            raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
        if word == "refused":
            _refuse(rest[0], f"schedule {schedule_id}")
        return _answers(word, rest)[0]

    async def _enqueue(self, requests: Sequence[JobRequest], key: str | None, *, many: bool) -> list[Enqueued]:
        if key is not None:
            check_idempotency_key(key)
        jobs = []
        for place, request in enumerate(requests):
            with _naming(place if many else None):
                if not isinstance(request, JobRequest):
                    raise InvalidRequest("job must be a headgate.JobRequest", field="job")
                jobs.append(_arguments(request))
        if many:
            _check_batch(requests, jobs)
        chosen = [request.id or "" for request in requests]
        asked = fingerprint("jobs", json.dumps([chosen, jobs])) if key else ""
        args = [text for name, job in zip(chosen, jobs, strict=True) for text in (name or _new_id(), *job)]
        word, *rest = await self._scripts.call("enqueue", key or "", asked, *args)
        if word == "refused":
            why, which = rest
            with _naming(which - 1 if many else None):
                _refuse(why, f"queue {requests[which - 1].queue}")
        answers = _answers(word, rest)
        if key is None:  # the repeat of a call whose answer was lost finds the jobs that the call itself made
            answers = [
                Enqueued(job_id=answer.job_id) if answer.replayed and not name else answer
                for answer, name in zip(answers, chosen, strict=True)
            ]
        return answers


def _arguments(request: JobRequest) -> list[str]:
    """A job as the script takes it, without its id."""
    request.check()
    payload, content_fingerprint = request.content()
    options = [str(getattr(request, name)) for name in _CONTENT]
    extra = [getattr(request, name) for name in _EXTRA]
    return [
        *options,
        content_fingerprint,
        payload,
        "",  # no zone: nobody's wall clock asked for it
        canonical(request.headers, field="headers"),
        *("" if value is None else str(value) for value in extra),
    ]


def _check_batch(requests: Sequence[JobRequest], jobs: Sequence[Sequence[str]]) -> None:
    size = sum(len(text.encode()) for job in jobs for text in job)
    if size > MAX_BATCH_BYTES:
        raise TooLarge(f"jobs are {size} bytes; the limit is {MAX_BATCH_BYTES}", field="jobs")
    ids: set[str] = set()
    for place, request in enumerate(requests):
        if request.id in ids:
            raise InvalidRequest(f"job id {request.id} stands twice in one request", field=f"jobs[{place}].id")
        if request.id:
            ids.add(request.id)


@contextmanager
def _naming(place: int | None) -> Iterator[None]:
    """Errors of the job at `place` of a request say so."""
    try:
        yield
    except HeadgateError as error:
        if place is None:
            raise
        field = f"jobs[{place}].{error.field}" if error.field else f"jobs[{place}]"
        raise type(error)(f"jobs[{place}]: {error.message}", field=field) from None


def _new_id() -> str:
    """An id that no other job has; those of one process sort as they were made, and so do jobs of one instant."""
    return f"job-{time.time_ns() // 1_000_000:012x}{next(_NUMBERS) % 2**24:06x}{secrets.token_hex(5)}"


def _answers(word: str, rest: Sequence[str]) -> list[Enqueued]:
    if word == "reused":
        raise IdempotencyKeyReused("this Idempotency-Key came with another request before", field="Idempotency-Key")
    answers = []
    for each in rest[0].split(","):
        what, _, job_id = each.partition(" ")
        replayed = word == "replayed" or what == "replayed"
        answers.append(Enqueued(job_id=job_id, replayed=replayed, duplicate=what == "duplicate"))
    return answers


def _refuse(why: str, where: str) -> NoReturn:
    if why == "late":
        raise InvalidRequest("deadline_ms must come after now and after the job may run", field="deadline_ms")
    if why == "id_conflict":
        raise IdConflict("this id belongs to a job with other content", field="id")
    if why == "quarantined":
        raise Quarantined("the fingerprint of this kind and payload is quarantined")
    if why == "backpressure":
        raise Backpressure(f"{where} has as many unfinished jobs as its max_unfinished allows")
    raise StoreError(f"a key of {where}, or a unique key, holds a type that headgate did not write")
