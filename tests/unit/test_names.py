"""Names, identities and fingerprints: what is let through, and what a refusal says."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import names
from headgate.errors import IdempotencyKeyMissing, InvalidRequest
from headgate.names import (
    check_caller_job_id,
    check_fingerprint,
    check_idempotency_key,
    check_job_id,
    check_kind,
    check_namespace,
    check_queue,
    check_schedule_id,
    check_unique_key,
    fingerprint,
    shown,
    tick_job_id,
)

LETTERS = string.ascii_letters + string.digits
RULES: list[tuple[Callable[[Any], str], str, int, str]] = [
    (check_schedule_id, "._:@{}-", 200, "id"),
    (check_kind, "._:/-", 128, "kind"),
    (check_queue, "._-", 128, "queue"),
    (check_namespace, "._-", 64, "namespace"),
    (check_job_id, "._:@{}-", 255, "id"),
    (check_caller_job_id, "._:@{}-", 255, "id"),
    (check_idempotency_key, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", 200, "Idempotency-Key"),
]
NAMES = [check.__name__ for check, _, _, _ in RULES]
refusing = pytest.mark.parametrize(("check", "field"), [(check, field) for check, _, _, field in RULES], ids=NAMES)


def refusal(check: Callable[[Any], str], text: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        check(text)
    return caught.value


@pytest.mark.parametrize(("check", "marks", "field"), [(it[0], it[1], it[3]) for it in RULES], ids=NAMES)
def test_the_alphabet_is_exactly_the_documented_one(check: Callable[[Any], str], marks: str, field: str) -> None:
    """Every character below U+0100 is let through if the rule lists it, and refused by field if not."""
    for code in range(256):
        character = chr(code)
        if character in LETTERS + marks:
            assert check(f"a{character}") == f"a{character}"
        else:
            assert refusal(check, f"a{character}").field == field


@pytest.mark.parametrize("text", [".", ".."])
def test_an_id_that_urls_cannot_carry_is_refused(text: str) -> None:
    """Clients resolve such a path segment away before they send it."""
    assert refusal(check_schedule_id, text).field == "id"
    assert check_schedule_id("...") == "..."


@pytest.mark.parametrize(("check", "longest", "field"), [(it[0], it[2], it[3]) for it in RULES], ids=NAMES)
def test_the_length_is_1_to_the_documented_one(check: Callable[[Any], str], longest: int, field: str) -> None:
    """The longest passes, one more and none at all do not."""
    assert check("x" * longest) == "x" * longest
    error = refusal(check, "x" * (longest + 1))
    assert error.field == field
    assert str(longest + 1) in error.message
    assert f"1 to {longest}" in error.message
    assert refusal(check, "").field == field


@refusing
@pytest.mark.parametrize("tail", ["\n", "\x00", " ", "\r\n", "é", "٣", "\ud800"])
def test_nothing_foreign_hides_at_the_end(check: Callable[[Any], str], field: str, tail: str) -> None:
    """A line break at the end, which `$` would let through, or a digit of another script is a foreign character."""
    assert refusal(check, f"a{tail}").field == field


@refusing
@pytest.mark.parametrize("value", [1, b"a", ["a"], True])
def test_what_is_no_text_is_refused_as_such(check: Callable[[Any], str], field: str, value: Any) -> None:
    """Never a TypeError: callers from Python get the same error as callers over HTTP."""
    error = refusal(check, value)
    assert (error.field, "must be text" in error.message) == (field, True)


@pytest.mark.parametrize("text", [".", ".."])
def test_a_schedule_id_can_be_part_of_a_url(text: str) -> None:
    """Clients resolve a segment of dots away before they send it; three dots are a name like any other."""
    assert refusal(check_schedule_id, text).field == "id"
    assert check_schedule_id("...") == "..."


@pytest.mark.parametrize("text", [".", "..", "sched-", "sched-a-1", tick_job_id("a", 1)])
def test_an_id_that_urls_or_ticks_need_is_no_callers(text: str) -> None:
    """A caller who could choose the id of a tick's job would keep that tick from running."""
    assert refusal(check_caller_job_id, text).field == "id"
    assert check_job_id(text) == text, "it may be asked for"
    assert check_caller_job_id("a" + text) == "a" + text


@pytest.mark.parametrize("text", ["a", "é", "with space", "🙂", "x" * 255, "é" * 127, "{}[]*?%s"])
def test_a_unique_key_is_any_printable_text(text: str) -> None:
    assert check_unique_key(text) == text


@pytest.mark.parametrize("text", ["", "x" * 256, "é" * 128, "a\n", "a\x00", "a\u2028", "\ud800", 1, None, b"a", True])
def test_a_unique_key_that_is_too_long_or_cannot_be_printed_is_refused(text: Any) -> None:
    """Counted in bytes of UTF-8; the refusal can stand in a log."""
    error = refusal(check_unique_key, text)
    assert error.field == "unique_key"
    assert error.message.isprintable()


def test_a_fingerprint_is_what_fingerprint_makes() -> None:
    assert check_fingerprint(fingerprint("k", "null")) == fingerprint("k", "null")


@pytest.mark.parametrize("text", ["", "a" * 31, "a" * 33, "A" * 32, "g" * 32, "a" * 32 + "\n", "٣" * 32, 1, None])
def test_what_is_no_fingerprint_is_refused(text: Any) -> None:
    assert refusal(check_fingerprint, text).field == "fingerprint"


@pytest.mark.parametrize("key", [None, ""])
def test_a_missing_idempotency_key_has_an_error_of_its_own(key: str | None) -> None:
    """None and the empty key are the same: there is none."""
    with pytest.raises(IdempotencyKeyMissing) as caught:
        check_idempotency_key(key)
    assert caught.value.field == "Idempotency-Key"


@given(st.text(max_size=300).map(lambda text: text + "\n"))
def test_a_refusal_is_one_short_line_of_printable_characters(text: str) -> None:
    """Whatever was sent, the message can stand in a log."""
    message = refusal(check_schedule_id, text).message
    assert message.replace("…", "").isascii()
    assert message.isprintable()
    assert len(message) < 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", "'a b'"),
        ("a\nb", "'a\\nb'"),
        ("é", "'\\xe9'"),
        ("x" * 60, f"'{'x' * 60}'"),
        ("x" * 61, f"'{'x' * 60}…'"),
    ],
)
def test_a_shown_value_is_quoted_cut_and_escaped(text: str, expected: str) -> None:
    """At most sixty characters of what was refused, then an ellipsis."""
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        ("test", "null", "c8efba0c9c662a9dcc4983ceaf480c43"),
        ("test", "4", "21a73336456ac6781fc809ce2840b21b"),
        ("k", "null", "40a7e14f1894e777fb9d47328f830821"),
    ],
)
def test_fingerprints_are_stable(kind: str, payload: str, expected: str) -> None:
    """They are stored and compared across versions: the same content has the same one for ever."""
    assert fingerprint(kind, payload) == expected


@given(*[st.text("aé🙂", max_size=3)] * 4)
def test_no_two_contents_run_together(kind: str, payload: str, other_kind: str, other_payload: str) -> None:
    """Moving the border between kind and payload makes another fingerprint, multi-byte characters included."""
    same = (kind, payload) == (other_kind, other_payload)
    assert (fingerprint(kind, payload) == fingerprint(other_kind, other_payload)) == same
    assert (fingerprint(kind + payload, "") == fingerprint(kind, payload)) == (not payload)


def test_every_alphabet_has_a_rule_here() -> None:
    """A name that is added later must be added to the table above."""
    assert {*names._ALPHABETS} == {
        *("schedule id", "kind", "queue", "namespace", "job id", "idempotency key"),
        "fingerprint",  # of one length alone: it has tests of its own
    }
