"""The contract of the API, as a document for programs and as a page for people. Neither needs another host."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from headgate.http.context import link
from headgate.http.documents import Documents
from headgate.http.page import CONTENT_SECURITY_POLICY
from headgate.http.query import Query
from headgate.http.route import JSON, reading

DOCUMENTS: Final = web.AppKey("documents", Documents)
_HTML: Final = "text/html"


async def get_contract(request: web.Request) -> web.Response:
    """This API as OpenAPI 3.1."""
    Query(request)
    return web.Response(body=request.app[DOCUMENTS].as_json(link(request, "")), content_type=JSON)


async def get_page(request: web.Request) -> web.Response:
    """This API as a page to read."""
    Query(request)
    page = request.app[DOCUMENTS].as_page(link(request, ""))
    headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY}
    return web.Response(body=page, content_type=_HTML, charset="utf-8", headers=headers)


ROUTES: Final = (
    reading("/api/v1/openapi.json", get_contract, dict[str, Any], role=None, store=False),
    reading("/docs/api", get_page, str, role=None, store=False, media=_HTML),
)
