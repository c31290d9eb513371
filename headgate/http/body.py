"""Bodies: read within bounds of size, time and depth, checked field by field, and written.

A body is JSON of at most 2 MiB in UTF-8. Where an object names a field twice, the last one counts, as in most readers.
An error names its field by the whole path: ``jobs[3].priority``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin

import msgspec
from aiohttp import hdrs, web
from msgspec.structs import FieldInfo

from headgate.errors import InvalidRequest, InvalidShape, InvalidSyntax, TooLarge, UnsupportedMedia
from headgate.http.route import JSON, REPLAYED, route_of
from headgate.jsontext import parse_json
from headgate.names import shown
from headgate.settings import MAX_BATCH, MAX_BODY_BYTES, MAX_JSON_DEPTH

_READ_SECONDS: Final = 30.0
"""A body that takes longer is given up, so that slow senders cannot hold connections for ever."""

_LEVELS: Final = MAX_JSON_DEPTH + 3
"""A payload as deep as a payload may be can be sent, also inside a job inside a list inside a body."""

_Model = TypeVar("_Model", bound=msgspec.Struct)


class NoFields(msgspec.Struct, frozen=True):
    """The body of an operation that takes no fields: none, or ``{}`` for clients that must send something."""


async def preload(request: web.Request) -> None:
    """Have the bytes of the body at hand, so that reading it waits for nobody.

    Raises:
        UnsupportedMedia: it is not declared as plain JSON.
        TooLarge: over 2 MiB, whether announced or found out.
        InvalidSyntax: cut short.
        HTTPRequestTimeout: it did not arrive in time.
    """
    if request.headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0].strip().lower() != JSON:
        raise UnsupportedMedia(f"the body must be {JSON}", field="Content-Type")
    # A few compressed bytes may stand for any number of others.
    if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
        raise UnsupportedMedia("the body must not be compressed", field="Content-Encoding")
    await _bytes(request)


async def read_body(request: web.Request, model: type[_Model]) -> _Model:
    """The body as `model`, which is that of the route; its values are not checked against their rules yet.

    Raises:
        UnsupportedMedia: there is none.
        TooLarge: a list of more than 200 objects.
        InvalidSyntax: not JSON.
        InvalidRequest: nested too deeply, or a word outside a closed list.
        InvalidShape: an unknown field, a missing one, or a value of the wrong type.
    """
    assert route_of(request).body is model
    if not request.body_exists:
        await preload(request)  # which was left out on the way here, and says what is wrong
    return _shaped(parse_json(await _bytes(request), field="body", levels=_LEVELS), model)


async def read_options(request: web.Request, model: type[_Model]) -> _Model:
    """The body of an operation that needs none: `model` with its defaults where nothing was sent.

    Raises:
        InvalidRequest: as for `read_body`.
    """
    return await read_body(request, model) if request.body_exists else model()


async def read_nothing(request: web.Request) -> None:
    """The body of an operation that takes no fields; raises `InvalidRequest` for any."""
    await read_options(request, NoFields)


def answer(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """A record as JSON."""
    return web.Response(body=msgspec.json.encode(value) + b"\n", status=status, headers=headers, content_type=JSON)


def replayed(again: bool) -> dict[str, str]:
    """The header of an answer that was given before to the same request."""
    return {REPLAYED: "true"} if again else {}


def check_length(request: web.Request) -> None:
    """Raise `TooLarge` for a body that is announced as larger than any may be."""
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise _too_large()


def _too_large() -> TooLarge:
    return TooLarge(f"body is over {MAX_BODY_BYTES} bytes", field="body")


async def _bytes(request: web.Request) -> bytes:
    check_length(request)
    try:
        async with asyncio.timeout(_READ_SECONDS):
            return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise _too_large() from None
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidSyntax("body is cut short or wrongly framed", field="body") from None


@cache
def _fields(model: type[msgspec.Struct]) -> dict[str, FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(model)}


def _shaped(value: Any, model: type[_Model], path: str = "") -> _Model:
    """One object; `path` says where in the body it stands, as ``jobs[3]`` does."""
    where, prefix = path or "body", f"{path}." if path else ""
    if not isinstance(value, dict):
        raise InvalidShape(f"{where} must be a JSON object", field=where)
    fields = _fields(model)
    for name in value:
        if name not in fields:
            known, label = ", ".join(fields) or "none", shown(name)[1:-1]
            raise InvalidShape(f"{label} is not a field of {where}; the fields are: {known}", field=prefix + label)
    for name, field in fields.items():
        if field.required and name not in value:
            raise InvalidShape(f"{prefix}{name} is required", field=prefix + name)
    return model(**{name: _typed(prefix + name, given, fields[name].type) for name, given in value.items()})


def _typed(path: str, given: Any, kind: Any) -> Any:
    """One value; converted on its own, so that the field at fault is known without reading an error's text."""
    record = next((part for part in (kind, *get_args(kind)) if _is_a(msgspec.Struct, part)), None)
    if record and get_origin(kind) is not list and given is not None:
        return _shaped(given, record, path)
    if record and isinstance(given, list):
        if len(given) > MAX_BATCH:
            raise TooLarge(f"{path} are {len(given)}; the limit is {MAX_BATCH}", field=path)
        return [_shaped(each, record, f"{path}[{place}]") for place, each in enumerate(given)]
    if get_origin(kind) is list and isinstance(given, list):
        return [_typed(f"{path}[{place}]", each, get_args(kind)[0]) for place, each in enumerate(given)]
    if _is_a(Enum, kind) and isinstance(given, str):
        words = [member.value for member in kind]
        if given not in words:
            raise InvalidRequest(f"{path} must be one of {', '.join(words)}", field=path)
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise InvalidShape(f"{path} has the wrong type: {error}", field=path) from None
    except UnicodeError:
        raise InvalidShape(f"{path} has half of a surrogate pair, which is no character", field=path) from None


def _is_a(base: type, kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)
