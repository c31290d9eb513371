"""Workers: ``/api/v1/workers``, the processes that work and live."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from headgate.http.body import answer
from headgate.http.context import store_of
from headgate.http.query import Query
from headgate.http.route import CURSOR, limit_of, reading
from headgate.models import WorkerPage


async def list_workers(request: web.Request) -> web.Response:
    """A page of workers by id, as their heartbeats say."""
    query = Query(request)
    return answer(await store_of(request).workers.list(limit=query.integer("limit"), cursor=query.cursor()))


ROUTES: Final = (reading("/api/v1/workers", list_workers, WorkerPage, query=(limit_of(50), CURSOR)),)
