"""Bodies: read within bounds of size, time and depth, checked field by field, and written.

A body is JSON of at most 2 MiB in UTF-8. Where an object names a field twice, the last one counts, as in most readers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import hdrs, web

from headgate.errors import InvalidRequest, InvalidShape, InvalidSyntax, TooLarge, UnsupportedMedia
from headgate.jsontext import parse_json
from headgate.names import shown
from headgate.settings import MAX_BODY_BYTES, MAX_JSON_DEPTH

_JSON: Final = "application/json"
_READ_SECONDS: Final = 30.0
"""A body that takes longer is given up, so that slow senders cannot hold connections for ever."""

_Model = TypeVar("_Model", bound=msgspec.Struct)


async def read_body(request: web.Request, model: type[_Model]) -> _Model:
    """The body as `model`; its values are not checked against their rules yet.

    Raises:
        UnsupportedMedia: it is not declared as plain JSON.
        TooLarge: over 2 MiB, whether announced or found out.
        InvalidSyntax: not JSON, or cut short.
        InvalidRequest: nested too deeply, or a word outside a closed list.
        InvalidShape: an unknown field, a missing one, or a value of the wrong type.
        HTTPRequestTimeout: it did not arrive in time.
    """
    if request.headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0].strip().lower() != _JSON:
        raise UnsupportedMedia(f"the body must be {_JSON}", field="Content-Type")
    # A few compressed bytes may stand for any number of others.
    if request.headers.get(hdrs.CONTENT_ENCODING, "identity").lower() != "identity":
        raise UnsupportedMedia("the body must not be compressed", field="Content-Encoding")
    # One level for the body itself: a payload as deep as a payload may be can be sent.
    return _shaped(parse_json(await _bytes(request), field="body", levels=MAX_JSON_DEPTH + 1), model)


def answer(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """A record as JSON."""
    return web.Response(body=msgspec.json.encode(value) + b"\n", status=status, headers=headers, content_type=_JSON)


async def _bytes(request: web.Request) -> bytes:
    too_large = TooLarge(f"body is over {MAX_BODY_BYTES} bytes", field="body")
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise too_large
    try:
        async with asyncio.timeout(_READ_SECONDS):
            return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise too_large from None
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except (web.RequestPayloadError, ConnectionError):
        raise InvalidSyntax("body is cut short or wrongly framed", field="body") from None


def _shaped(value: Any, model: type[_Model]) -> _Model:
    if not isinstance(value, dict):
        raise InvalidShape("body must be a JSON object", field="body")
    fields = {field.name: field for field in msgspec.structs.fields(model)}
    for name in value:
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise InvalidShape(f"{shown(name)} is not a field here; the fields are: {known}", field=shown(name)[1:-1])
    for name, field in fields.items():
        if field.required and name not in value:
            raise InvalidShape(f"{name} is required", field=name)
    return model(**{name: _typed(name, given, fields[name].type) for name, given in value.items()})


def _typed(name: str, given: Any, kind: Any) -> Any:
    """One value; converted on its own, so that the field at fault is known without reading an error's text."""
    if isinstance(kind, type) and issubclass(kind, Enum) and isinstance(given, str):
        words = [member.value for member in kind]
        if given not in words:
            raise InvalidRequest(f"{name} must be one of {', '.join(words)}", field=name)
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise InvalidShape(f"{name} has the wrong type: {error}", field=name) from None
    except UnicodeError:
        raise InvalidShape(f"{name} has half of a surrogate pair, which is no character", field=name) from None
