"""Sessions end in time, with their token, and for whoever tampers with them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from itsdangerous import URLSafeSerializer

from headgate.errors import InvalidRequest
from headgate.http.access import Role, Sessions, Tokens
from headgate.http.access.callers import Token, digest_of
from headgate.http.access.sessions import SESSION_S
from tests.http.access.stage import ANNA, VERA, Clock, entry, write

KEY = "k" * 32


@pytest.fixture
def tokens(file: Path, clock: Clock) -> Tokens:
    return Tokens(file=file, clock=clock)


@pytest.fixture
def anna(tokens: Tokens) -> Token:
    found = tokens.find(ANNA)
    assert found is not None
    return found


def test_a_session_stands_for_its_token_for_twelve_hours(tokens: Tokens, anna: Token, clock: Clock) -> None:
    sessions = Sessions(clock=clock)
    value = sessions.begin(anna)
    assert sessions.read(value, tokens) == anna
    clock.move(SESSION_S - 0.001)
    assert sessions.read(value, tokens) == anna
    clock.move(0.001)
    assert sessions.read(value, tokens) is None


def test_it_ends_when_its_token_is_removed_or_replaced(tokens: Tokens, anna: Token, file: Path, clock: Clock) -> None:
    sessions = Sessions(clock=clock)
    value = sessions.begin(anna)
    write(file, entry("anna", "hg_another-one-of-anna", "operator"))
    clock.move(1)
    assert sessions.read(value, tokens) is None
    write(file, entry("vera", VERA, "viewer"))
    clock.move(1)
    assert sessions.read(value, tokens) is None


def test_another_role_counts_at_once(tokens: Tokens, anna: Token, file: Path, clock: Clock) -> None:
    sessions = Sessions(clock=clock)
    value = sessions.begin(anna)
    write(file, entry("anna", ANNA, "viewer"))
    clock.move(1)
    read = sessions.read(value, tokens)
    assert read is not None
    assert read.caller.role is Role.VIEWER


def test_any_change_to_it_ends_it(tokens: Tokens, anna: Token) -> None:
    sessions = Sessions(KEY)
    value = sessions.begin(anna)
    for place in range(len(value) - 1):  # of the last character not every bit counts
        other = "A" if value[place] != "A" else "B"
        assert sessions.read(value[:place] + other + value[place + 1 :], tokens) is None
    for changed in ("", ".", "..", value[:-1], value + "A", value.partition(".")[0], "ä", "\udcff", "x" * 9_000):
        assert sessions.read(changed, tokens) is None


def test_signing_for_another_purpose_or_with_another_key_is_worth_nothing(tokens: Tokens, anna: Token) -> None:
    """One key for other signed things as well must not make them sessions, nor a key of another process."""
    sessions = Sessions(KEY)
    content = json.loads(_decoded(sessions.begin(anna)))
    for key, salt in ((KEY, "other"), ("x" * 32, "headgate.session")):
        assert sessions.read(str(URLSafeSerializer(key, salt=salt).dumps(content)), tokens) is None
    assert Sessions().read(Sessions().begin(anna), tokens) is None
    assert Sessions("x" * 32).read(sessions.begin(anna), tokens) is None


@pytest.mark.parametrize("content", [[], {}, None, "anna", ["anna"], ["anna", 1, 2], ["anna", "mark", "soon"]])
def test_what_we_signed_and_do_not_understand_is_no_session(tokens: Tokens, content: object) -> None:
    """Say of another release that shares the key."""
    sessions = Sessions(KEY)
    assert sessions.read(str(sessions._signer.dumps(content)), tokens) is None


def test_processes_with_one_key_take_each_others(tokens: Tokens, anna: Token) -> None:
    """Also when the clock of one of them is ahead."""
    ahead = Clock()
    ahead.move(5)
    assert Sessions(KEY, clock=Clock()).read(Sessions(KEY, clock=ahead).begin(anna), tokens) == anna


def test_the_cookie_shows_neither_token_nor_hash(anna: Token) -> None:
    """Whoever has it can read it."""
    inside = _decoded(Sessions(KEY).begin(anna)).decode()
    assert '"anna"' in inside
    assert ANNA not in inside
    for text in (digest_of(ANNA).hex(), base64.b64encode(digest_of(ANNA)).decode()):
        assert not any(text[at : at + 8] in inside for at in range(len(text) - 8))
    marks = {json.loads(_decoded(Sessions(key).begin(anna)))[1] for key in (KEY, "x" * 32)}
    assert len(marks) == 2, "without the key, a guess at the token can be tried on the mark"


@pytest.mark.parametrize("key", ["", "k" * 31])
def test_a_short_key_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(InvalidRequest, match="HEADGATE_SESSION_KEY must have at least 32 characters") as refused:
        Sessions(key)
    assert not key or key not in refused.value.message


@pytest.mark.parametrize(
    ("secure", "https", "marked"), [(False, False, False), (False, True, True), (True, False, True)]
)
def test_the_cookie_is_for_this_site_and_no_script(*, secure: bool, https: bool, marked: bool) -> None:
    cookie = Sessions(secure=secure).cookie("value", path="/headgate", https=https)
    assert cookie == {
        "name": "headgate_session",
        "value": "value",
        "path": "/headgate",
        "max_age": 43_200,
        "secure": marked,
        "httponly": True,
        "samesite": "Strict",
    }


def test_logging_out_replaces_it_by_one_that_is_over() -> None:
    """With the same name and path, or the browser would keep both."""
    gone = Sessions().cookie("", path="/headgate", https=False)
    assert (gone["name"], gone["value"], gone["path"], gone["max_age"]) == ("headgate_session", "", "/headgate", 0)


def _decoded(value: str) -> bytes:
    content = value.partition(".")[0]
    return base64.urlsafe_b64decode(content + "=" * (-len(content) % 4))
