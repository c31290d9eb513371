"""What is no request: answered like any other error, and with nothing of what was sent."""

from __future__ import annotations

from typing import Final

from aiohttp import hdrs, web

from headgate.errors import Code
from headgate.http.app import SECURITY_HEADERS, SERVER_NAME
from headgate.http.problems import STATUS, refuse
from headgate.metrics import observe_request

_HEADERS: Final = {**SECURITY_HEADERS, hdrs.SERVER: SERVER_NAME}


class Requests(web.RequestHandler):
    """The requests of one connection."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,  # noqa: ARG002 - as the base class calls it
        exc: BaseException | None = None,  # noqa: ARG002
        message: str | None = None,  # noqa: ARG002
    ) -> web.StreamResponse:
        """Answer what came before any application: a head that cannot be read. The connection ends with it."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        observe_request("", "", STATUS[Code.INVALID_SYNTAX], 0)
        response = refuse(request, Code.INVALID_SYNTAX, "this is no HTTP request, or its head is too long", _HEADERS)
        response.force_close()
        return response
