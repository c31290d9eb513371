"""The contract says all of every route, in words that programs and people understand, and is served itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from aiohttp import web

from headgate.errors import Code
from headgate.http import documents
from headgate.http.openapi import MAX_SAFE
from headgate.http.problems import STATUS
from headgate.http.route import Route, codes
from headgate.http.table import ROUTES
from tests.http.client import Client, serving
from tests.http.contract import DOCUMENT, check
from tests.support.worlds import World

DOCS = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")


def operation(route: Route) -> Any:
    return DOCUMENT["paths"][route.path][route.method.lower()]


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(each)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_says_what_it_takes_answers_and_refuses(route: Route) -> None:
    about = operation(route)
    assert about["summary"].endswith(".")
    assert [each["name"] for each in about["parameters"] if each["in"] == "path"] == re.findall(r"{(\w+)}", route.path)
    assert all(each["description"] and each["schema"]["type"] for each in about["parameters"])
    assert ("requestBody" in about) == (route.body is not None)
    assert route.answers
    for status, model in route.answers.items():
        assert ("content" in about["responses"][str(status)]) == (model is not None)
    problems = {code for answer in about["responses"].values() for code in known_codes(answer)}
    assert problems == set(codes(route)) - {code for code in codes(route) if STATUS[code] in route.answers}
    assert problems >= {Code.INTERNAL_ERROR, Code.INVALID_REQUEST}


def known_codes(answer: dict[str, Any]) -> list[str]:
    schema = answer.get("content", {}).get("application/problem+json", {}).get("schema", {})
    return [
        code for part in schema.get("allOf", ()) for code in part.get("properties", {}).get("code", {}).get("enum", ())
    ]


def test_every_route_is_in_the_documentation() -> None:
    text = DOCS + (Path(__file__).parents[2] / "docs" / "access.md").read_text("utf-8")
    for route in ROUTES:
        assert route.path.removeprefix("/api/v1") in text, route.path


def test_each_code_has_one_status_and_belongs_to_a_route() -> None:
    of_routes = {code for route in ROUTES for code in codes(route)}
    assert set(STATUS) - of_routes == {Code.ROUTE_NOT_FOUND, Code.METHOD_NOT_ALLOWED}
    assert of_routes <= set(STATUS)


def test_names_of_operations_differ_and_types_have_descriptions() -> None:
    names = [operation(route)["operationId"] for route in ROUTES]
    assert len(names) == len(set(names))
    for name, schema in DOCUMENT["components"]["schemas"].items():
        assert schema.get("description"), f"{name} says nothing of itself"


def test_no_integer_is_beyond_what_every_reader_keeps() -> None:
    whole = [node for node in nodes(DOCUMENT) if node.get("type") == "integer"]
    assert len(whole) > 50
    for node in whole:
        assert node["maximum"] <= MAX_SAFE
        assert node["minimum"] >= -MAX_SAFE


def test_every_reference_leads_somewhere_and_every_schema_is_one() -> None:
    for node in nodes(DOCUMENT):
        if "$ref" in node:
            found: Any = DOCUMENT
            for part in node["$ref"].removeprefix("#/").split("/"):
                found = found[part]
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def test_an_answer_that_breaks_the_contract_is_found() -> None:
    """The check that all other tests of the API go through."""
    [route] = [route for route in ROUTES if (route.method, route.path) == ("GET", "/api/v1/workers")]
    ids = {"X-Request-Id": "r"}

    def answered(body: Any, status: int = 200, **headers: str) -> web.Response:
        return web.json_response(body, status=status, headers=ids | headers)

    check(route, answered({"workers": [], "next_cursor": None}))
    for broken in (
        answered({"workers": []}),
        answered({"workers": [], "next_cursor": 1}),
        answered({"workers": [], "next_cursor": None, "more": 1}),
        answered({"workers": [], "next_cursor": None}, status=201),
        answered({"workers": [], "next_cursor": None}, Strange="x"),
        web.Response(text="[]", headers=ids),
    ):
        with pytest.raises(AssertionError):
            check(route, broken)


async def test_it_is_served_below_the_root_path_and_names_it(world: World) -> None:
    async with serving(world.store, root_path="/headgate") as api:
        response = await api.get("/api/v1/openapi.json")
        assert await response.json() == DOCUMENT | {"servers": [{"url": "/headgate"}]}
        assert json.dumps(DOCUMENT)


async def test_it_is_written_once(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a while, needs no token, and would hold up the scheduler each time."""
    first = [await (await api.get(path)).read() for path in ("/api/v1/openapi.json", "/docs/api")]
    monkeypatch.setattr(documents, "describe", lambda *_: pytest.fail("it is written already"))
    assert [await (await api.get(path)).read() for path in ("/api/v1/openapi.json", "/docs/api")] == first


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: set[str] = set()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            if name in ("href", "src"):
                self.targets.add(value or "")


async def test_the_page_needs_no_other_host_and_no_script(api: Client) -> None:
    response = await api.get("/docs/api")
    assert response.content_type == "text/html"
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    page = _Links()
    page.feed(await response.text())
    assert page.targets == {f"#{name}" for name in page.ids if f"#{name}" in page.targets} | {"/api/v1/openapi.json"}
    assert not page.tags & {"script", "img", "link", "iframe", "form"}
    assert {"types", "periodic", "jobs", "Schedule", "Problem"} <= page.ids
