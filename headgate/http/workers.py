"""Workers: ``/api/v1/workers``, the processes that work and live."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from headgate.http.body import answer
from headgate.http.query import STORE, Query


async def list_workers(request: web.Request) -> web.Response:
    """A page of workers by id, as their heartbeats say."""
    query = Query(request, "limit", "cursor")
    return answer(await request.app[STORE].workers.list(limit=query.integer("limit", 50), cursor=query.cursor()))


ROUTES: Final = (web.get("/api/v1/workers", list_workers),)
