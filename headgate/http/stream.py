"""The stream of hints, one request for as long as its client listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from aiohttp import hdrs, web

from headgate.errors import Code
from headgate.http.access import Unauthorized
from headgate.http.context import CONTEXT
from headgate.http.hub import Follow, Hub
from headgate.http.listener import Limits
from headgate.http.query import Query
from headgate.http.route import reading
from headgate.models import Overview

HUB: Final = web.AppKey("hub", Hub)

_MEDIA: Final = "text/event-stream"
_HEADERS: Final = {
    hdrs.CONTENT_TYPE: _MEDIA,
    hdrs.CACHE_CONTROL: "no-store",
    "X-Accel-Buffering": "no",  # a proxy that gathers an answer before it passes it on would pass on nothing
}
_DEFAULTS: Final = Limits()


def add_hub(
    app: web.Application, follow: Follow, overview: Callable[[], Awaitable[Overview]], limits: Limits = _DEFAULTS
) -> None:
    """Give an application what `stream` tells its clients; all streams end at once when it shuts down.

    Args:
        app: which.
        follow: as `Hints.follow`. Should it end or raise, every stream ends, for its client to come again.
        overview: as `Leases.overview`.
        limits: what streams may cost.
    """
    hub = app[HUB] = Hub(follow, overview, limits)

    async def end_streams(_: web.Application) -> None:
        await hub.close()

    # Not at its clean-up, before which a server waits for what it serves.
    app.on_shutdown.append(end_streams)


async def stream(request: web.Request) -> web.StreamResponse:
    """What has changed, as server-sent events with an id and a revision: something to read anew, and not what it says.

    A `reset` comes first and after each loss: whatever was read before may be out of date.
    """
    Query(request)
    response = web.StreamResponse(headers=_HEADERS)
    if request.transport is None or request.method == hdrs.METH_HEAD:
        return response
    access = request.app[CONTEXT].access

    def still() -> bool:
        """Whether the token is in force: a stream must not outlive it."""
        try:
            return access.identify(request.headers, request.cookies) is not None
        except Unauthorized:
            return False

    with request.app[HUB].joined(request.transport, still) as listener, suppress(ConnectionError):
        response.force_close()
        await listener.serve(request, response)
    return response


ROUTES: Final = (
    reading("/api/v1/stream", stream, str, store=False, media=_MEDIA, urgent=True, errors=(Code.TOO_MANY_STREAMS,)),
)
