"""Jobs: ``/api/v1/jobs``."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import msgspec
from aiohttp import hdrs, web

from headgate.errors import InvalidRequest
from headgate.http.body import answer, read_body, read_nothing
from headgate.http.query import STORE, Query, idempotency_key
from headgate.models import Enqueued, JobRequest
from headgate.names import check_schedule_id

_PATH: Final = "/api/v1/jobs"


class Batch(msgspec.Struct, frozen=True):
    """The body of a request for several jobs: 1 to 200, all of them or none."""

    jobs: list[JobRequest]


class BatchEnqueued(msgspec.Struct, frozen=True):
    """What became of each job of a batch, in the order in which they were asked for."""

    jobs: list[Enqueued]


def job_path(job_id: str) -> str:
    """Where a job is to be found."""
    return f"{_PATH}/{quote(job_id, safe='')}"


async def enqueue_job(request: web.Request) -> web.Response:
    """Queue a job (201); a repeat under the same key gets the same answer, marked as replayed.

    While another job holds its unique key none is made: 200, and the answer names the holder.
    """
    Query(request)
    key = idempotency_key(request)
    body = await read_body(request, JobRequest)
    enqueued = await request.app[STORE].producer.enqueue(body, idempotency_key=key)
    status = 200 if enqueued.duplicate else 201
    return answer(enqueued, status=status, headers={hdrs.LOCATION: job_path(enqueued.job_id)})


async def enqueue_jobs(request: web.Request) -> web.Response:
    """Queue several jobs, all of them or none; a repeat under the same key gets the same answer."""
    Query(request)
    key = idempotency_key(request)
    body = await read_body(request, Batch)
    enqueued = await request.app[STORE].producer.enqueue_many(body.jobs, idempotency_key=key)
    return answer(BatchEnqueued(enqueued), status=201)


async def list_jobs(request: web.Request) -> web.Response:
    """A page of the jobs of a queue in one state, or of a schedule's ticks; without payloads."""
    query = Query(request, "queue", "state", "periodic_schedule_id", "limit", "cursor")
    jobs = request.app[STORE].jobs
    limit, cursor = query.integer("limit", 50), query.cursor()
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
    query = Query(request, "include_payload")
    jobs = request.app[STORE].jobs
    return answer(await jobs.get(_job_id(request), include_payload=query.flag("include_payload")))


async def delete_job(request: web.Request) -> web.Response:
    """Remove a job that does not run."""
    Query(request)
    await request.app[STORE].jobs.delete(_job_id(request))
    return web.Response(status=204)


async def retry_job(request: web.Request) -> web.Response:
    """Let a job run at once, with all its attempts again."""
    Query(request)
    await read_nothing(request)
    return answer(await request.app[STORE].jobs.retry(_job_id(request)))


async def cancel_job(request: web.Request) -> web.Response:
    """End a job that is not finished."""
    Query(request)
    await read_nothing(request)
    return answer(await request.app[STORE].jobs.cancel(_job_id(request)))


async def get_admission(request: web.Request) -> web.Response:
    """Why a job is not running."""
    Query(request)
    return answer(await request.app[STORE].jobs.admission(_job_id(request)))


def _job_id(request: web.Request) -> str:
    return request.match_info["id"]


def _named(schedule_id: str) -> str:
    """The schedule's id; an error names the parameter that it came in."""
    try:
        return check_schedule_id(schedule_id)
    except InvalidRequest as error:
        raise InvalidRequest(error.message, field="periodic_schedule_id") from None


# Not the default pattern of a segment: an id may hold braces.
_ITEM: Final = f"{_PATH}/{{id:[^/]+}}"

ROUTES: Final = (
    web.post(_PATH, enqueue_job),
    web.get(_PATH, list_jobs),
    web.post(f"{_PATH}/batch", enqueue_jobs),
    web.get(_ITEM, get_job),
    web.delete(_ITEM, delete_job),
    web.post(f"{_ITEM}/retry", retry_job),
    web.post(f"{_ITEM}/cancel", cancel_job),
    web.get(f"{_ITEM}/admission", get_admission),
)
