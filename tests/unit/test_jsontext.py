"""Payload text: one spelling for each value, exact integers, bounds that hold before anything is built."""

from __future__ import annotations

import enum
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InvalidRequest, InvalidSyntax, TooLarge
from headgate.jsontext import canonical, check_depth, parse_json
from headgate.settings import MAX_JSON_DEPTH, MAX_PAYLOAD_BYTES

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('aé"\\\n{[🙂'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int


class Mail(msgspec.Struct):
    to: str
    at: datetime


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        ({}, "{}"),
        ([], "[]"),
        ({"b": 1, "a": [1, 2]}, '{"a":[1,2],"b":1}'),
        ({"é": "🙂"}, '{"é":"🙂"}'),
        (2**70, "1180591620717411303424"),
        (-0.5, "-0.5"),
        ((1, "two"), '[1,"two"]'),
        (Colour.RED, '"red"'),
        (Point(1, 2), '{"x":1,"y":2}'),
        (Mail("a@b", datetime(2027, 1, 1, tzinfo=UTC)), '{"at":"2027-01-01T00:00:00Z","to":"a@b"}'),
        ({1: "int key"}, '{"1":"int key"}'),
        ("tab\t</script>", '"tab\\t</script>"'),
    ],
)
def test_a_value_has_one_spelling(value: Any, expected: str) -> None:
    """No white space, keys in order, integers exact, non-ASCII as itself; what msgspec knows becomes plain JSON."""
    assert canonical(value) == expected


@given(values)
def test_canonical_text_reads_back_as_the_value_and_spells_itself_again(value: Any) -> None:
    """The text is JSON for the same value, and canonical text is its own canonical form."""
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(parse_json(text.encode())) == text


@given(st.dictionaries(st.text(max_size=3), st.integers(), min_size=2, max_size=6))
def test_the_order_of_keys_makes_no_difference(value: dict[str, int]) -> None:
    """Two spellings of equal content have one text, so equal content is recognised."""
    assert canonical(dict(reversed(list(value.items())))) == canonical(value)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        {"a": [float("nan")]},
        pytest.param(object(), id="object"),
        print,
        {("a", "b"): 1},
        {None: 1},
        "\ud800",
        {"\udfff": 1},
        1j,
    ],
    ids=repr,
)
def test_what_json_cannot_carry_is_refused_by_field(value: Any) -> None:
    """Never stored as something else, and the message does not quote it."""
    with pytest.raises(InvalidRequest) as caught:
        canonical(value, field="payload")
    assert caught.value.field == "payload"
    assert caught.value.message == "payload has a value that JSON cannot carry"


def test_a_decimal_keeps_its_digits_as_text() -> None:
    """A decimal is no float: msgspec spells it as a string, exactly."""
    assert canonical(Decimal("0.10")) == '"0.10"'


def test_a_value_that_contains_itself_is_refused() -> None:
    """Recursion ends in a refusal, not in a crash."""
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(InvalidRequest):
        canonical(circle)


@pytest.mark.parametrize("character", ["x", "é", "🙂", "\n"])
def test_the_payload_limit_counts_bytes_of_the_text(character: str) -> None:
    """1 MiB of UTF-8 as it is stored, quotes and escapes included; one byte more is too large, by numbers."""
    each = len(canonical(character).encode()) - 2
    count, rest = divmod(MAX_PAYLOAD_BYTES - 2, each)
    fits = character * count + "x" * rest
    assert len(canonical(fits).encode()) == MAX_PAYLOAD_BYTES
    with pytest.raises(TooLarge) as caught:
        canonical(fits + "x")
    assert caught.value.message == f"payload is {MAX_PAYLOAD_BYTES + 1} bytes; the limit is {MAX_PAYLOAD_BYTES}"


def nested(depth: int, leaf: Any = 0) -> Any:
    value = leaf
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def test_the_depth_limit_is_the_same_both_ways() -> None:
    """64 levels pass, 65 do not, whether a value is written or a text is read."""
    fits = nested(MAX_JSON_DEPTH)
    assert parse_json(canonical(fits).encode()) == fits
    with pytest.raises(InvalidRequest, match="payload is nested over 64 levels"):
        canonical(nested(MAX_JSON_DEPTH + 1))
    with pytest.raises(InvalidRequest, match="body is nested over 64 levels"):
        parse_json(json.dumps(nested(MAX_JSON_DEPTH + 1)).encode())


@pytest.mark.parametrize("text", ["[" * 70, '"[' * 70, '\\"[[' * 70, '"\\"[" [[', "]" * 70 + "["])
def test_brackets_inside_of_strings_do_not_nest(text: str) -> None:
    """What looks like structure and is text costs no depth."""
    assert parse_json(json.dumps([text]).encode()) == [text]


@pytest.mark.parametrize("raw", [b"[" * 1_000_000, b'{"a":' * 300_000, b"[" * 65])
def test_a_bomb_of_brackets_is_refused_before_it_is_built(raw: bytes) -> None:
    """Text that is far too deep, complete or not, is refused by depth and not by the parser's stack."""
    with pytest.raises(InvalidRequest, match="nested"):
        check_depth(raw)
    with pytest.raises(InvalidRequest, match="nested"):
        parse_json(raw)


@given(values)
def test_any_json_text_reads_as_the_value(value: Any) -> None:
    """White space and escapes are the writer's business."""
    for options in ({"indent": 2}, {"ensure_ascii": False}):
        assert parse_json(json.dumps(value, **options).encode()) == value


def test_integers_keep_their_digits() -> None:
    """No detour over floats: what was sent is what is stored."""
    digits = b"123456789012345678901234567890"
    assert parse_json(b'{"n":' + digits + b"}") == {"n": int(digits)}


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b" ", b"nul", b"[1,]", b"{'a':1}", b"[1]x", b"01", b"]", b'"open'),
        *(b"NaN", b"-Infinity", b"[Infinity]"),
        *(b'"\x01"', b"\xff", b'"\xed\xa0\x80"', b"\xef\xbb\xbf1"),
    ],
)
def test_what_is_not_json_is_refused_without_quoting_it(raw: bytes) -> None:
    """Also what Python's parser would let through, and what is no UTF-8; the text may be a secret."""
    with pytest.raises(InvalidSyntax) as caught:
        parse_json(raw, field="payload")
    assert caught.value.field == "payload"
    assert caught.value.message.startswith("payload is not valid JSON")
    assert caught.value.__cause__ is None


@given(st.binary(max_size=40) | st.text('[]{}",:\\0a ', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    """No input raises anything but an error of ours."""
    with suppress(InvalidRequest):
        parse_json(raw)
