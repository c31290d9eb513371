"""Queues: ``/api/v1/queues``. A queue exists from the first job or the first word about it."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from headgate.http.body import answer, read_body, read_nothing
from headgate.http.query import STORE, Query
from headgate.models import QueueLimits


async def list_queues(request: web.Request) -> web.Response:
    """A page of queues by name, with their counts."""
    query = Query(request, "limit", "cursor")
    return answer(await request.app[STORE].queues.list(limit=query.integer("limit", 50), cursor=query.cursor()))


async def get_queue(request: web.Request) -> web.Response:
    """One queue."""
    Query(request)
    return answer(await request.app[STORE].queues.get(_queue(request)))


async def pause_queue(request: web.Request) -> web.Response:
    """Let nothing new begin."""
    Query(request)
    await read_nothing(request)
    return answer(await request.app[STORE].queues.pause(_queue(request)))


async def resume_queue(request: web.Request) -> web.Response:
    """Let jobs begin again."""
    Query(request)
    await read_nothing(request)
    return answer(await request.app[STORE].queues.resume(_queue(request)))


async def put_limits(request: web.Request) -> web.Response:
    """Replace what the queue lets through; an absent field means no limit."""
    Query(request)
    limits = await read_body(request, QueueLimits)
    return answer(await request.app[STORE].queues.set_limits(_queue(request), limits))


def _queue(request: web.Request) -> str:
    return request.match_info["queue"]


# Not the default pattern of a segment: a name that breaks its rule is to be told so.
_ITEM: Final = "/api/v1/queues/{queue:[^/]+}"

ROUTES: Final = (
    web.get("/api/v1/queues", list_queues),
    web.get(_ITEM, get_queue),
    web.post(f"{_ITEM}/pause", pause_queue),
    web.post(f"{_ITEM}/resume", resume_queue),
    web.put(f"{_ITEM}/limits", put_limits),
)
