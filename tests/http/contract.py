"""Whether answers are what the contract says of their routes: status, headers, type and every field of the body."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final

import jsonschema_rs
from aiohttp import web

from headgate.http.openapi import MAX_SAFE, describe
from headgate.http.route import ROUTE, Route
from headgate.http.table import ROUTES

DOCUMENT: Final = describe(ROUTES)


def watch(api: web.Application) -> list[str]:
    """Compare every answer of an application from now on; what is found grows in the list."""
    broken: list[str] = []

    async def look(request: web.Request, response: web.StreamResponse) -> None:
        route = request.get(ROUTE)
        if isinstance(route, Route):
            try:
                check(route, response)
            except AssertionError as error:
                broken.append(f"{request.method} {request.path_qs} {response.status}: {error}")

    api.on_response_prepare.append(look)
    return broken


def check(route: Route, response: web.StreamResponse) -> None:
    """Raise `AssertionError` unless the route is described as answering so."""
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    described = operation["responses"].get(str(response.status))
    assert described, "the status is not described"
    strange = {name.lower() for name in response.headers} - {
        name.lower() for name in (*described["headers"], *ANY_ANSWER)
    }
    assert not strange, f"headers that are not described: {strange}"
    content = described.get("content", {})
    if not content:
        assert not getattr(response, "body", None), "a body that is not described"
        return
    assert response.content_type in content, f"content type {response.content_type}"
    if response.content_type in ("application/json", "application/problem+json") and isinstance(response, web.Response):
        assert isinstance(response.body, bytes)
        body = json.loads(response.body)
        errors = validator(route.path, route.method.lower(), str(response.status), response.content_type)
        found = [f"{list(error.instance_path)}: {error.message[:300]}" for error in errors.iter_errors(body)]
        assert not found, found
        check_integers({name: value for name, value in body.items() if name != "payload"})


ANY_ANSWER: Final = {
    *("Cache-Control", "X-Content-Type-Options", "Server", "Content-Type", "Content-Length", "Date", "Connection"),
    *("Content-Security-Policy", "Transfer-Encoding", "X-Accel-Buffering"),
}


@cache
def validator(path: str, method: str, status: str, media: str) -> Any:
    schema = DOCUMENT["paths"][path][method]["responses"][status]["content"][media]["schema"]
    return jsonschema_rs.Draft202012Validator({**closed(schema), "components": closed(DOCUMENT["components"])})


def closed(schema: Any) -> Any:
    """The schema without room for fields that it does not name, which clients must bear and tests need not."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {name: closed(value) for name, value in schema.items()}
    if shut.get("type") == "object" and "properties" in shut and "title" in shut:
        shut.setdefault("additionalProperties", False)
    return shut


def check_integers(value: Any) -> None:
    """No integer that a reader of JSON might round; what a payload holds is its owner's affair."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name != "payload":
                check_integers(each)
    elif isinstance(value, list):
        for each in value:
            check_integers(each)
    else:
        assert not isinstance(value, int) or abs(value) <= MAX_SAFE, f"{value} is no safe integer"
