"""Jobs: ``/api/v1/jobs``."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from aiohttp import hdrs, web

from headgate.http.body import answer, read_body
from headgate.http.query import STORE, Query, idempotency_key
from headgate.models import JobRequest

_PATH: Final = "/api/v1/jobs"


def job_path(job_id: str) -> str:
    """Where a job is to be found."""
    return f"{_PATH}/{quote(job_id, safe='')}"


async def enqueue_job(request: web.Request) -> web.Response:
    """Queue a job; a repeat under the same key gets the same answer, marked as replayed."""
    Query(request)
    key = idempotency_key(request)
    body = await read_body(request, JobRequest)
    enqueued = await request.app[STORE].jobs.enqueue(body, idempotency_key=key)
    return answer(enqueued, status=201, headers={hdrs.LOCATION: job_path(enqueued.job_id)})


async def get_job(request: web.Request) -> web.Response:
    """One job; its payload only with ``include_payload=true``."""
    query = Query(request, "include_payload")
    jobs = request.app[STORE].jobs
    return answer(await jobs.get(request.match_info["id"], include_payload=query.flag("include_payload")))


# Not the default pattern of a segment: an id may hold braces.
ROUTES: Final = (
    web.post(_PATH, enqueue_job),
    web.get(f"{_PATH}/{{id:[^/]+}}", get_job),
)
