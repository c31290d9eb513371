"""The contract as OpenAPI 3.1, written from the route table and the types that serve requests.

Descriptions are the docstrings: a handler's is its operation's, a type's and its attributes' are their schemas'.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from inspect import cleandoc
from typing import Any, Final, get_args

import msgspec

from headgate import __version__
from headgate.errors import Code
from headgate.http.problems import PROBLEM_JSON, REQUEST_ID_HEADER, STATUS, Problem
from headgate.http.route import JSON, REPLAYED, Parameter, Route, codes
from headgate.http.storetime import HEADER

MAX_SAFE: Final = 2**53 - 1
"""The largest integer that every reader of JSON keeps exact; the API has none beyond it."""

_REF: Final = "#/components/schemas/{name}"
_BEARER: Final = "token"
_COOKIE: Final = "session"
_SEGMENT: Final = re.compile(r"{(\w+)}")
_HEADERS: Final[Mapping[str, dict[str, Any]]] = {
    REQUEST_ID_HEADER: {
        "description": "names this request in the logs; the client's own, if it sent a plain word",
        "schema": {"type": "string"},
    },
    HEADER: {
        "description": "store time in ms; absent until the store has been heard once",
        "schema": {"type": "integer", "minimum": 0, "maximum": MAX_SAFE},
    },
    REPLAYED: {
        "description": "`true`: the same request was carried out before, and this is its answer",
        "schema": {"const": "true"},
    },
    "ETag": {"description": "the schedule's revision, for `If-Match`", "schema": {"type": "string"}},
    "Location": {"description": "where the job is to be found", "schema": {"type": "string"}},
    "Retry-After": {
        "description": "seconds after which to try again",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_SAFE},
    },
    "Set-Cookie": {"description": "the session, or its end", "schema": {"type": "string"}},
    "WWW-Authenticate": {"description": "how to say who calls", "schema": {"type": "string"}},
}
_EVERY: Final = (REQUEST_ID_HEADER, HEADER)
_OF_STATUS: Final = {401: ("WWW-Authenticate",), 412: ("ETag",), 429: ("Retry-After",), 503: ("Retry-After",)}
_SEGMENTS: Final = {
    "/api/v1/periodic": "the schedule's id",
    "/api/v1/jobs": "the job's id",
    "/api/v1/queues": "the queue's name",
    "/api/v1/quarantine": "of kind and payload",
}


def describe(routes: Sequence[Route], root: str = "") -> dict[str, Any]:
    """The document.

    Args:
        routes: the table.
        root: the path below which clients find the API.
    """
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    types = _types(routes)
    refs, components = msgspec.json.schema_components(types, ref_template=_REF)
    schemas = dict(zip(types, refs, strict=True))
    attributes = {kind.__name__: _attributes(kind) for kind in _structs(types)}
    for route in routes:
        paths[route.path][route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headgate",
            "version": __version__,
            "summary": "Periodic jobs on Redis: schedules, what became of their ticks, jobs, queues.",
            "description": "Instants are integer milliseconds since the epoch, UTC, by the store's clock.",
        },
        "servers": [{"url": root or "/"}],
        "security": [{_BEARER: []}, {_COOKIE: []}, {}],
        "paths": dict(paths),
        "components": {
            "schemas": {name: _polished(schema, attributes.get(name, {})) for name, schema in components.items()},
            "headers": dict(_HEADERS),
            "securitySchemes": {
                _BEARER: {"type": "http", "scheme": "bearer"},
                _COOKIE: {"type": "apiKey", "in": "cookie", "name": "headgate_session"},
            },
        },
    }


def _types(routes: Iterable[Route]) -> list[Any]:
    found = dict.fromkeys(model for route in routes for model in route.answers.values() if _is_json(route, model))
    found.update(dict.fromkeys(route.body for route in routes if route.body is not None))
    return [*found, Problem]


def _is_json(route: Route, model: Any) -> bool:
    return route.media == JSON and model is not None


def _operation(route: Route, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    summary, _, description = cleandoc(route.handler.__doc__ or "").partition("\n\n")
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        "tags": [_tag(route.path)],
        "summary": " ".join(summary.split()),
        "parameters": [
            *(_segment(route.path, name) for name in _SEGMENT.findall(route.path)),
            *(_parameter(parameter, "query") for parameter in route.query),
            *(_parameter(parameter, "header") for parameter in route.headers),
        ],
        "responses": _answers(route, schemas) | _problems(route),
    }
    if description:
        operation["description"] = " ".join(description.split())
    if route.role is None:
        operation["security"] = []
    else:
        operation["x-role"] = str(route.role)
    if route.body is not None:
        operation["requestBody"] = {
            "required": route.body_required,
            "content": {JSON: {"schema": schemas[route.body]}},
        }
    return operation


def _tag(path: str) -> str:
    """What a route is listed under: its resource, or the system for all that stands alone."""
    return next((prefix.rpartition("/")[2] for prefix in _SEGMENTS if path.startswith(prefix)), "system")


def _segment(path: str, name: str) -> dict[str, Any]:
    described = next(text for prefix, text in _SEGMENTS.items() if path.startswith(prefix))
    return {"name": name, "in": "path", "required": True, "description": described, "schema": {"type": "string"}}


def _parameter(parameter: Parameter, place: str) -> dict[str, Any]:
    said = {
        "type": parameter.kind,
        "minimum": parameter.least,
        "maximum": parameter.most,
        "default": parameter.default,
        "enum": list(map(str, parameter.values)) or None,
    }
    return {
        "name": parameter.name,
        "in": place,
        "required": parameter.required,
        "description": parameter.description,
        "schema": {word: value for word, value in said.items() if value is not None},
    }


def _answers(route: Route, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, model in route.answers.items():
        answer = _answer(status, route.returns)
        if model is not None:
            answer["content"] = {route.media: {"schema": schemas[model] if route.media == JSON else {"type": "string"}}}
        found[str(status)] = answer
    return found


def _problems(route: Route) -> dict[str, Any]:
    by_status: dict[int, set[Code]] = defaultdict(set)
    for code in codes(route):
        by_status[STATUS[code]].add(code)
    found = {}
    for status, several in sorted(by_status.items()):
        if status in route.answers:
            continue  # a probe's own answer
        answer = _answer(status)
        known = {"properties": {"code": {"enum": sorted(several)}, "status": {"const": status}}}
        answer["content"] = {PROBLEM_JSON: {"schema": {"allOf": [{"$ref": _REF.format(name="Problem")}, known]}}}
        found[str(status)] = answer
    return found


def _answer(status: int, returns: Iterable[str] = ()) -> dict[str, Any]:
    names = (*_EVERY, *_OF_STATUS.get(status, ()), *returns)
    return {
        "description": HTTPStatus(status).phrase,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
    }


def _structs(types: Iterable[Any]) -> set[type[msgspec.Struct]]:
    """All that these types are made of."""
    found: set[type[msgspec.Struct]] = set()
    waiting = list(types)
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in found:
            found.add(kind)
            waiting += [field.type for field in msgspec.structs.fields(kind)]
    return found


def _attributes(kind: type[msgspec.Struct]) -> dict[str, str]:
    """What docstrings say of a type's attributes, those it inherits included."""
    told: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        _, _, text = cleandoc(each.__doc__ or "").partition("Attributes:\n")
        for name, what in re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", text, re.MULTILINE):
            told[name] = " ".join(what.split())
    return told


def _polished(schema: dict[str, Any], attributes: Mapping[str, str]) -> dict[str, Any]:
    """A type's schema with each attribute's text at the attribute, and with bounds that readers of JSON can rely on."""
    text = cleandoc(schema.get("description", "")).partition("Attributes:\n")[0]
    schema = _bounded(schema)
    if text.strip():
        schema["description"] = " ".join(text.split())
    for name, property_ in schema.get("properties", {}).items():
        if name in attributes:
            property_["description"] = attributes[name]
    return schema


def _bounded(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    bounded = {name: _bounded(value) for name, value in schema.items()}
    if bounded.get("type") == "integer":
        bounded = {"minimum": -MAX_SAFE, "maximum": MAX_SAFE} | bounded
    return bounded
