"""The contract of the API, as a document for programs and as a page for people. Neither needs another host."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from aiohttp import web

from headgate.http.context import CONTEXT, link
from headgate.http.openapi import describe
from headgate.http.page import CONTENT_SECURITY_POLICY, render
from headgate.http.query import Query
from headgate.http.route import JSON, reading

_HTML: Final = "text/html"


async def get_contract(request: web.Request) -> web.Response:
    """This API as OpenAPI 3.1."""
    Query(request)
    document = describe(request.app[CONTEXT].routes, link(request, ""))
    return web.Response(body=msgspec.json.encode(document) + b"\n", content_type=JSON)


async def get_page(request: web.Request) -> web.Response:
    """This API as a page to read."""
    Query(request)
    page = render(describe(request.app[CONTEXT].routes, link(request, "")))
    headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY}
    return web.Response(text=page, content_type=_HTML, headers=headers)


ROUTES: Final = (
    reading("/api/v1/openapi.json", get_contract, dict[str, Any], role=None, store=False),
    reading("/docs/api", get_page, str, role=None, store=False, media=_HTML),
)
