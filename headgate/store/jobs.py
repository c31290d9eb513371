"""Jobs: enqueue once per idempotency key, and look at one."""

from __future__ import annotations

import uuid
from typing import Final

from headgate.errors import IdempotencyKeyReused, JobNotFound, Quarantined, ScheduleNotFound, StoreError
from headgate.models import Decision, Enqueued, Job, JobRequest
from headgate.names import check_idempotency_key, check_job_id, check_schedule_id, fingerprint
from headgate.store.records import JOB_FIELDS, job_from
from headgate.store.scripts import Scripts

_CONTENT: Final = ("kind", "queue", "priority", "max_attempts", "timeout_ms", "retention_ms")


class Jobs:
    """The jobs of one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def enqueue(self, request: JobRequest, *, idempotency_key: str | None) -> Enqueued:
        """Queue a job; atomic, and for 24 h once per key.

        Raises:
            InvalidRequest: a value breaks its rule; the message names it.
            IdempotencyKeyMissing, IdempotencyKeyReused: there is no key, or it came with another request before.
            Quarantined: the content is barred.
            StoreError: a key holds something foreign.
        """
        key = check_idempotency_key(idempotency_key)
        request.check()
        payload, content_fingerprint = request.content()
        options = [str(getattr(request, name)) for name in _CONTENT]
        answer = await self._scripts.call(
            "enqueue",
            key,
            fingerprint("\n".join(options), payload),
            _new_id(),
            *options,
            content_fingerprint,
            payload,
            "",  # no zone: nobody's wall clock asked for it
        )
        return _enqueued(answer, f"queue {request.queue}")

    async def run_now(
        self, schedule_id: str, *, idempotency_key: str | None, decision: Decision | None = None
    ) -> Enqueued:
        """Queue one extra job of a schedule at once; atomic, and for 24 h once per key. The schedule stays as it is.

        With a `decision`, the job has the content that hooks gave it.

        Raises:
            InvalidRequest: the id or the key breaks its rule.
            IdempotencyKeyMissing, IdempotencyKeyReused: there is no key, or it came with another request before.
            ScheduleNotFound: there is no such schedule.
            Quarantined: the content is barred.
            StoreError: a key holds something foreign.
        """
        check_schedule_id(schedule_id)
        key = check_idempotency_key(idempotency_key)
        final = (decision.payload, decision.fingerprint, decision.headers) if decision else ()
        request = fingerprint("run", schedule_id)
        answer = await self._scripts.call("run_now", schedule_id, key, request, _new_id(), *final)
        if answer[0] == "missing":
            raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
        return _enqueued(answer, f"schedule {schedule_id}")

    async def get(self, job_id: str, *, include_payload: bool = False) -> Job:
        """One job; its payload only if asked for.

        Raises:
            InvalidRequest: the id breaks its rule.
            JobNotFound: there is none, or it was removed after its retention.
        """
        fields = (*JOB_FIELDS, "payload") if include_payload else JOB_FIELDS
        values = await self._scripts.call("job", check_job_id(job_id), *fields)
        if values[0] is None:
            raise JobNotFound(f"job {job_id} does not exist")
        return job_from(dict(zip(fields, values, strict=True)))


def _new_id() -> str:
    return f"job-{uuid.uuid4().hex}"


def _enqueued(answer: list[str], where: str) -> Enqueued:
    word, job_id = answer
    if word == "reused":
        raise IdempotencyKeyReused("this Idempotency-Key came with another request before", field="Idempotency-Key")
    if word == "quarantined":
        raise Quarantined("the fingerprint of this kind and payload is quarantined")
    if word == "broken":
        raise StoreError(f"a key of {where} holds a type that headgate did not write")
    return Enqueued(job_id=job_id, replayed=word == "replayed")
