"""Jobs: ``/api/v1/jobs``."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import msgspec
from aiohttp import web

from headgate.errors import Code, InvalidRequest
from headgate.http.body import NoFields, answer, read_body, read_nothing, replayed
from headgate.http.context import link, store_of
from headgate.http.query import Query, idempotency_key
from headgate.http.route import CURSOR, KEY, REPLAYED, Parameter, limit_of, reading, writing
from headgate.models import Admission, Enqueued, Job, JobPage, JobRequest, JobState
from headgate.names import check_schedule_id

_PATH: Final = "/api/v1/jobs"


class Batch(msgspec.Struct, frozen=True):
    """The body of a request for several jobs: 1 to 200, all of them or none."""

    jobs: list[JobRequest]


class BatchEnqueued(msgspec.Struct, frozen=True):
    """What became of each job of a batch, in the order in which they were asked for."""

    jobs: list[Enqueued]


def where(request: web.Request, enqueued: Enqueued) -> dict[str, str]:
    """The headers of an answer that names a job: where it is to be found, and whether the answer was given before."""
    path = link(request, f"{_PATH}/{quote(enqueued.job_id, safe='')}")
    return {"Location": path, **replayed(enqueued.replayed)}


async def enqueue_job(request: web.Request) -> web.Response:
    """Queue a job (201); a repeat under the same key gets the same answer, marked as replayed.

    While another job holds its unique key none is made: 200, and the answer names the holder.
    """
    Query(request)
    key = idempotency_key(request)
    body = await read_body(request, JobRequest)
    enqueued = await store_of(request).producer.enqueue(body, idempotency_key=key)
    status = 200 if enqueued.duplicate else 201
    return answer(enqueued, status=status, headers=where(request, enqueued))


async def enqueue_jobs(request: web.Request) -> web.Response:
    """Queue several jobs, all of them or none; a repeat under the same key gets the same answer."""
    Query(request)
    key = idempotency_key(request)
    body = await read_body(request, Batch)
    enqueued = await store_of(request).producer.enqueue_many(body.jobs, idempotency_key=key)
    again = all(each.replayed for each in enqueued)
    return answer(BatchEnqueued(enqueued), status=201, headers=replayed(again))


async def list_jobs(request: web.Request) -> web.Response:
    """A page of the jobs of a queue in one state, or of a schedule's ticks; without payloads."""
    query = Query(request)
    jobs = store_of(request).jobs
    limit, cursor = query.integer("limit"), query.cursor()
    queue, state, schedule_id = (query.text(name) for name in ("queue", "state", "periodic_schedule_id"))
    if schedule_id is not None:
        if queue is not None or state is not None:
            raise InvalidRequest(
                "periodic_schedule_id goes neither with queue nor with state", field="periodic_schedule_id"
            )
        return answer(await jobs.list_of_schedule(_named(schedule_id), limit=limit, cursor=cursor))
    if queue is None:
        raise InvalidRequest("queue is required, together with state, or else periodic_schedule_id", field="queue")
    if state is None:
        raise InvalidRequest("state is required: jobs of a queue are listed by state", field="state")
    return answer(await jobs.list(queue, state, limit=limit, cursor=cursor))


async def get_job(request: web.Request) -> web.Response:
    """One job; its payload only with ``include_payload=true``."""
    query = Query(request)
    jobs = store_of(request).jobs
    return answer(await jobs.get(_job_id(request), include_payload=query.flag("include_payload") is True))


async def delete_job(request: web.Request) -> web.Response:
    """Remove a job that does not run."""
    Query(request)
    await store_of(request).jobs.delete(_job_id(request))
    return web.Response(status=204)


async def retry_job(request: web.Request) -> web.Response:
    """Let a job run at once, with all its attempts again."""
    Query(request)
    await read_nothing(request)
    return answer(await store_of(request).jobs.retry(_job_id(request)))


async def cancel_job(request: web.Request) -> web.Response:
    """End a job that is not finished."""
    Query(request)
    await read_nothing(request)
    return answer(await store_of(request).jobs.cancel(_job_id(request)))


async def get_admission(request: web.Request) -> web.Response:
    """Why a job is not running."""
    Query(request)
    return answer(await store_of(request).jobs.admission(_job_id(request)))


def _job_id(request: web.Request) -> str:
    return request.match_info["id"]


def _named(schedule_id: str) -> str:
    """The schedule's id; an error names the parameter that it came in."""
    try:
        return check_schedule_id(schedule_id)
    except InvalidRequest as error:
        raise InvalidRequest(error.message, field="periodic_schedule_id") from None


_ITEM: Final = f"{_PATH}/{{id}}"

_UNKNOWN: Final = (Code.JOB_NOT_FOUND,)
_REFUSED: Final = (Code.ID_CONFLICT, Code.QUARANTINED, Code.BACKPRESSURE)
_QUERY: Final = (
    Parameter(name="queue", description="whose jobs; together with `state`"),
    Parameter(name="state", description="in which state", values=tuple(JobState)),
    Parameter(name="periodic_schedule_id", description="instead of both: the jobs of this schedule's ticks"),
    limit_of(50),
    CURSOR,
)
_PAYLOAD: Final = Parameter(
    name="include_payload", description="whether the payload is wanted", kind="boolean", default=False
)

ROUTES: Final = (
    writing(
        "POST",
        _PATH,
        enqueue_job,
        {201: Enqueued, 200: Enqueued},
        body=JobRequest,
        body_required=True,
        headers=(KEY,),
        returns=("Location", REPLAYED),
        errors=_REFUSED,
    ),
    reading(_PATH, list_jobs, JobPage, query=_QUERY),
    writing(
        "POST",
        f"{_PATH}/batch",
        enqueue_jobs,
        {201: BatchEnqueued},
        body=Batch,
        body_required=True,
        headers=(KEY,),
        returns=(REPLAYED,),
        errors=_REFUSED,
    ),
    reading(_ITEM, get_job, Job, query=(_PAYLOAD,), errors=_UNKNOWN),
    writing("DELETE", _ITEM, delete_job, {204: None}, errors=(*_UNKNOWN, Code.JOB_STATE)),
    writing(
        "POST",
        f"{_ITEM}/retry",
        retry_job,
        {200: Job},
        body=NoFields,
        errors=(*_UNKNOWN, Code.JOB_STATE, Code.UNIQUE_KEY_HELD, Code.QUARANTINED, Code.BACKPRESSURE),
    ),
    writing("POST", f"{_ITEM}/cancel", cancel_job, {200: Job}, body=NoFields, errors=(*_UNKNOWN, Code.JOB_STATE)),
    reading(f"{_ITEM}/admission", get_admission, Admission, errors=_UNKNOWN),
)
