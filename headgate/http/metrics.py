"""What Prometheus is told: ``/metrics``, and how requests are counted for it."""

from __future__ import annotations

import time
from typing import Final

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from headgate.exposition import CONTENT_TYPE, exposition
from headgate.http.context import store_of
from headgate.http.query import Query
from headgate.http.route import ROUTE, reading
from headgate.metrics import observe_request


@web.middleware
async def measured(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Count a request by route and status. A client that went away is 499, which is no answer but must not be lost."""
    began, status = time.monotonic(), 499
    try:
        response = await handler(request)
        status = response.status
    finally:
        route = request.get(ROUTE)
        observe_request(request.method, route.path if route else "", status, time.monotonic() - began)
    return response


async def get_metrics(request: web.Request) -> web.Response:
    """What this process counted of its work, and how the namespace stands, for Prometheus."""
    Query(request)
    return web.Response(body=await exposition(store_of(request)), headers={hdrs.CONTENT_TYPE: CONTENT_TYPE})


ROUTES: Final = (reading("/metrics", get_metrics, str, media="text/plain", urgent=True),)
