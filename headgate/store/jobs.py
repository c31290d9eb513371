"""Jobs as an operator sees them: look, list, retry, cancel, delete, and why one is not running."""

from __future__ import annotations

import math
from typing import Final

from headgate.errors import (
    InvalidRequest,
    JobNotFound,
    JobStateConflict,
    Quarantined,
    StoreError,
    UniqueKeyHeld,
)
from headgate.models import FINAL_STATES, Admission, Job, JobPage, JobState
from headgate.names import check_job_id, check_queue, shown
from headgate.settings import MAX_PAGE
from headgate.store.admissions import admission_from
from headgate.store.events import Events
from headgate.store.paging import check_limit, foreign_cursor, read_cursor, write_cursor
from headgate.store.records import JOB_FIELDS, job_from, jobs_from
from headgate.store.schedule_jobs import ScheduleJobs
from headgate.store.scripts import Scripts


class Jobs:
    """The jobs of one namespace."""

    def __init__(self, scripts: Scripts, events: Events) -> None:
        self._scripts = scripts
        self._of_schedules = ScheduleJobs(scripts, events)

    async def get(self, job_id: str, *, include_payload: bool = False) -> Job:
        """One job; its payload only if asked for.

        Raises:
            InvalidRequest: the id breaks its rule.
            JobNotFound: there is none, or it was removed after its retention.
        """
        fields = (*JOB_FIELDS, "payload") if include_payload else JOB_FIELDS
        values = await self._scripts.call("job", check_job_id(job_id), *fields)
        if values[0] is None:
            raise _missing(job_id)
        return job_from(dict(zip(fields, values, strict=True)))

    async def list(self, queue: str, state: str, *, limit: int = 50, cursor: str | None = None) -> JobPage:
        """A page of 1 to 200 jobs of a queue in one state, without payloads.

        Those that wait come in the order in which they are to be looked at, finished ones with the latest first. A job
        that keeps its place while others come and go is met once.

        Raises:
            InvalidRequest: the queue, the state or the limit breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        check_queue(queue)
        if state not in tuple(JobState):
            raise InvalidRequest(f"state {shown(str(state))} is not one of {', '.join(JobState)}", field="state")
        check_limit(limit, MAX_PAGE)
        scope = f"jobs/{queue}/{state}"
        score, job_id = _place(read_cursor(scope, cursor)) if cursor is not None else ("", "")
        direction = "down" if state in FINAL_STATES else "up"
        last_score, last_id, *rows = await self._scripts.call(
            "job_list", queue, state, direction, score, job_id, limit, *JOB_FIELDS
        )
        following = write_cursor(scope, f"{last_score} {last_id}") if last_id else None
        return JobPage(jobs=jobs_from(rows), next_cursor=following)

    async def list_of_schedule(self, schedule_id: str, *, limit: int = 50, cursor: str | None = None) -> JobPage:
        """A page of the jobs that a schedule's ticks became, the latest first; see `ScheduleJobs.list`."""
        return await self._of_schedules.list(schedule_id, limit=limit, cursor=cursor)

    async def retry(self, job_id: str) -> Job:
        """Let a job run at once, with all its attempts again: a finished one, or one that waits for an instant. Atomic.

        The queue's `max_unfinished` does not stand in the way.

        Raises:
            JobNotFound: there is none.
            JobStateConflict: it runs, it may run already, or its deadline has passed.
            Quarantined: its content is barred.
            UniqueKeyHeld: another job holds its unique key.
        """
        return await self._control(job_id, "retry")

    async def cancel(self, job_id: str) -> Job:
        """End a job that is not finished. Atomic; a repeat changes nothing.

        A running one stays `running` until its worker, which is told, has stopped it, or its lease ends; then it is
        `cancelled`, or `completed` if its actor had returned.

        Raises:
            JobNotFound: there is none.
            JobStateConflict: it is finished otherwise.
        """
        return await self._control(job_id, "cancel")

    async def delete(self, job_id: str) -> None:
        """Remove a job that does not run, and all that points to it. Atomic.

        Raises:
            JobNotFound: there is none.
            JobStateConflict: it runs; cancel it first.
        """
        word, state = await self._scripts.call("job_control", check_job_id(job_id), "delete")
        _check_word(word, state, job_id, "delete")

    async def admission(self, job_id: str) -> Admission:
        """Why a job is not running: what stands between it and a worker, at one instant. Reads alone.

        Raises:
            JobNotFound: there is none.
        """
        values = await self._scripts.call("job_admission", check_job_id(job_id))
        if not values:
            raise _missing(job_id)
        return admission_from(job_id, values)

    async def _control(self, job_id: str, what: str) -> Job:
        word, state = await self._scripts.call("job_control", check_job_id(job_id), what)
        _check_word(word, state, job_id, what)
        return await self.get(job_id)


def _place(position: str) -> tuple[str, str]:
    """Score and id, as `list` wrote them."""
    score, _, job_id = position.partition(" ")
    try:
        if math.isfinite(float(score)):
            return score, check_job_id(job_id)
    except (ValueError, InvalidRequest):
        pass
    raise foreign_cursor()


def _missing(job_id: str) -> JobNotFound:
    return JobNotFound(f"job {job_id} does not exist")


_WANTED: Final = {
    "retry": "retry takes one that is finished or waits for an instant",
    "cancel": "cancel takes one that is not finished",
    "delete": "delete takes one that does not run",
}


def _check_word(word: str, state: str, job_id: str, what: str) -> None:
    if word == "ok":
        return
    if word == "missing":
        raise _missing(job_id)
    if word == "quarantined":
        raise Quarantined(f"the content of job {job_id} is quarantined; release its fingerprint first")
    if word == "unique":
        raise UniqueKeyHeld(f"another job holds the unique key of job {job_id}")
    if word == "late":
        raise JobStateConflict(f"the deadline of job {job_id} has passed")
    if word == "broken":
        raise StoreError(f"a key of the queue of job {job_id} holds a type that headgate did not write")
    raise JobStateConflict(f"job {job_id} is {state}; {_WANTED[what]}")
