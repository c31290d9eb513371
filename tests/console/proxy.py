"""A reverse proxy as people put one in front: it cuts a prefix off the path, and passes streams on as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiohttp import ClientConnectionError, ClientSession, web

from headgate.http.server import listening

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding"}


@asynccontextmanager
async def cutting_off(prefix: str, behind: str) -> AsyncIterator[str]:
    """Where the prefix is served, by the server at `behind`, which sees nothing of it."""
    async with ClientSession(auto_decompress=False) as session:

        async def pass_on(request: web.Request) -> web.StreamResponse:
            url = behind + request.path_qs.removeprefix(prefix)
            headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
            async with session.request(request.method, url, headers=headers, data=await request.read()) as answer:
                kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _HOP]
                response = web.StreamResponse(status=answer.status)
                response.headers.extend(kept)
                await response.prepare(request)
                with suppress(ClientConnectionError, ConnectionResetError):  # either side may end a stream
                    async for chunk in answer.content.iter_any():
                        await response.write(chunk)
                return response

        app = web.Application()
        app.router.add_route("*", prefix + "/{rest:.*}", pass_on)
        async with listening(app, "127.0.0.1", 0) as address:
            yield address + prefix
