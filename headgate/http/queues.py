"""Queues: ``/api/v1/queues``. A queue exists from the first job or the first word about it."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from headgate.errors import Code
from headgate.http.body import NoFields, answer, read_body, read_nothing
from headgate.http.context import store_of
from headgate.http.query import Query
from headgate.http.route import CURSOR, limit_of, reading, writing
from headgate.models import Queue, QueueLimits, QueuePage


async def list_queues(request: web.Request) -> web.Response:
    """A page of queues by name, with their counts."""
    query = Query(request)
    return answer(await store_of(request).queues.list(limit=query.integer("limit"), cursor=query.cursor()))


async def get_queue(request: web.Request) -> web.Response:
    """One queue."""
    Query(request)
    return answer(await store_of(request).queues.get(_queue(request)))


async def pause_queue(request: web.Request) -> web.Response:
    """Let nothing new begin."""
    Query(request)
    await read_nothing(request)
    return answer(await store_of(request).queues.pause(_queue(request)))


async def resume_queue(request: web.Request) -> web.Response:
    """Let jobs begin again."""
    Query(request)
    await read_nothing(request)
    return answer(await store_of(request).queues.resume(_queue(request)))


async def put_limits(request: web.Request) -> web.Response:
    """Replace what the queue lets through; an absent field means no limit."""
    Query(request)
    limits = await read_body(request, QueueLimits)
    return answer(await store_of(request).queues.set_limits(_queue(request), limits))


def _queue(request: web.Request) -> str:
    return request.match_info["queue"]


_ITEM: Final = "/api/v1/queues/{queue}"

_UNKNOWN: Final = (Code.QUEUE_NOT_FOUND,)

ROUTES: Final = (
    reading("/api/v1/queues", list_queues, QueuePage, query=(limit_of(50), CURSOR)),
    reading(_ITEM, get_queue, Queue, errors=_UNKNOWN),
    writing("POST", f"{_ITEM}/pause", pause_queue, {200: Queue}, body=NoFields),
    writing("POST", f"{_ITEM}/resume", resume_queue, {200: Queue}, body=NoFields),
    writing("PUT", f"{_ITEM}/limits", put_limits, {200: Queue}, body=QueueLimits, body_required=True),
)
