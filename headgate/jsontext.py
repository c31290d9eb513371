"""Payloads as canonical JSON text: one spelling per value, so equal content is recognised as equal.

Canonical means: no white space, object keys sorted, integers exact at any size. Both ways are bounded in
bytes and depth before anything is built from the text.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any, Final, NoReturn

import msgspec

from headgate.errors import InvalidRequest, InvalidSyntax, TooLarge
from headgate.settings import MAX_JSON_DEPTH, MAX_PAYLOAD_BYTES

_STRINGS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in _STEPS)


def check_depth(raw: bytes, *, field: str | None = None, levels: int = MAX_JSON_DEPTH) -> None:
    """Refuse text nested deeper than so many levels, in one pass and without building anything from it.

    Raises:
        InvalidRequest: the text nests too deeply.
    """
    brackets = _STRINGS.sub(b"", raw).translate(None, _NOT_BRACKETS)
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > levels:
        raise InvalidRequest(f"{field or 'body'} is nested over {levels} levels", field=field)


def parse_json(raw: bytes, *, field: str | None = None, levels: int = MAX_JSON_DEPTH) -> Any:
    """The value of a JSON text; integers keep their digits.

    Raises:
        InvalidSyntax: not JSON, not UTF-8, or a number JSON does not have (NaN, Infinity).
        InvalidRequest: nested too deeply.
    """
    check_depth(raw, field=field, levels=levels)
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        # The decoder's message may quote the text, and the text may be a payload.
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidSyntax(f"{field or 'body'} is not valid JSON{where}", field=field) from None


def canonical(value: Any, *, field: str = "payload") -> str:
    """The canonical text of a payload.

    Accepts what JSON has, and what msgspec turns into it (structs, dataclasses, datetimes, enums).

    Raises:
        InvalidRequest: a value JSON has no form for, or too deep a nesting.
        TooLarge: over 1 MiB of text.
    """
    try:
        plain = msgspec.to_builtins(value, str_keys=True, order="deterministic")
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
        raw = text.encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        raise InvalidRequest(f"{field} has a value that JSON cannot carry", field=field) from None
    if len(raw) > MAX_PAYLOAD_BYTES:
        raise TooLarge(f"{field} is {len(raw)} bytes; the limit is {MAX_PAYLOAD_BYTES}", field=field)
    check_depth(raw, field=field)
    return text


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError
