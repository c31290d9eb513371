"""Who calls, and what that caller may do; logging in and out."""

from __future__ import annotations

import copy
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import HeadgateError, InvalidRequest
from headgate.http.access import (
    Access,
    Attempts,
    Caller,
    CrossSite,
    Forbidden,
    HostNotAllowed,
    ReadOnly,
    Role,
    Sessions,
    Tokens,
    TooManyAttempts,
    Unauthorized,
    allowed_hosts,
    errors,
    log_in,
    log_out,
)
from headgate.http.access.callers import digest_of
from headgate.http.access.sessions import COOKIE
from tests.http.access.stage import ANNA, VERA, Clock, entry, events, write

OPERATOR, VIEWER = Caller("anna", Role.OPERATOR), Caller("vera", Role.VIEWER)
BROWSER: dict[str, Any] = {"remote": "10.0.0.1", "path": "/", "https": False}


@pytest.fixture
def access(file: Path, clock: Clock) -> Access:
    return Access(
        tokens=Tokens(file=file, clock=clock),
        allowed_hosts=allowed_hosts(["headgate.example.org"]),
        sessions=Sessions(clock=clock),
        attempts=Attempts(clock=clock),
    )


def session(access: Access, token: str = ANNA) -> dict[str, str]:
    _, cookie = log_in(access, token, **BROWSER)
    return {COOKIE: cookie["value"]}


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer  "])
def test_a_bearer_token_says_who_calls(access: Access, scheme: str) -> None:
    assert access.identify({"Authorization": f"{scheme} {ANNA}"}, {}) == OPERATOR
    assert access.identify({"Authorization": f"{scheme} {VERA}"}, {}) == VIEWER


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer{ANNA}",
        f"Bearer\t{ANNA}",
        f"Bearer {ANNA} ",
        f"Bearer {ANNA} {VERA}",
        f"Bearer {ANNA}, Bearer {VERA}",
        f"Bearer {ANNA}x",
        f"Bearer {ANNA[:-1]}",
        f"Bearer {digest_of(ANNA).hex()}",
        "Bearer ä",
        "Bearer \udcff",
        ANNA,
        f"Token {ANNA}",
        f"Basic {ANNA}",
        f"Negotiate Bearer {ANNA}",
    ],
)
def test_any_other_authorization_is_refused_whatever_the_cookie_is(access: Access, authorization: str) -> None:
    """A script whose token was removed must hear of it, and not act as whoever is logged in."""
    with pytest.raises(Unauthorized) as refused:
        access.identify({"Authorization": authorization}, session(access))
    assert refused.value.headers == {"WWW-Authenticate": "Bearer"}
    assert ANNA not in refused.value.message


def test_a_session_says_who_calls_until_it_is_over(access: Access, file: Path, clock: Clock) -> None:
    cookies = session(access)
    assert access.identify({}, cookies) == OPERATOR
    write(file, entry("anna", ANNA, "viewer"))
    clock.move(1)
    assert access.identify({}, cookies) == Caller("anna", Role.VIEWER)
    write(file, "")
    clock.move(1)
    assert access.identify({}, cookies) is None


@pytest.mark.parametrize("cookies", [{}, {COOKIE: ""}, {COOKIE: ANNA}, {COOKIE: "a.b"}, {"other": "x"}])
def test_without_token_and_session_nobody_calls(access: Access, cookies: dict[str, str]) -> None:
    assert access.identify({}, cookies) is None


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic of-whoever-is-in-front"}])
def test_where_there_are_no_tokens_everybody_is_an_operator(headers: dict[str, str]) -> None:
    """And a header that is meant for somebody else is nothing to refuse."""
    assert Access.open().identify(headers, {}) == Caller("", Role.OPERATOR)


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.OPERATOR])
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("caller", [None, VIEWER, OPERATOR])
def test_who_may_do_what(caller: Caller | None, role: Role | None, *, writes: bool, read_only: bool) -> None:
    """Unknown callers only what is open to all, viewers no operator's work, and nobody writes while reading only."""
    expected: type[HeadgateError] | None = None
    if role is not None and caller is None:
        expected = Unauthorized
    elif role is Role.OPERATOR and caller == VIEWER:
        expected = Forbidden
    elif writes and read_only:
        expected = ReadOnly
    access = Access(read_only=read_only)
    if expected is None:
        access.check(caller, role=role, writes=writes)
    else:
        with pytest.raises(expected):
            access.check(caller, role=role, writes=writes)


def test_a_browser_is_checked_for_host_and_site(access: Access) -> None:
    other = {"Sec-Fetch-Site": "cross-site"}
    access.check_browser({"Host": "headgate.example.org"} | other, writes=False)
    with pytest.raises(CrossSite):
        access.check_browser({"Host": "headgate.example.org"} | other, writes=True)
    for writes in (False, True):
        with pytest.raises(HostNotAllowed):
            access.check_browser({"Host": "evil.example"}, writes=writes)


def test_without_a_list_of_hosts_any_passes_and_writes_are_still_this_sites_own() -> None:
    """Whoever mounts the API below an application knows its hosts."""
    access = Access.open()
    access.check_browser({"Host": "any.example", "Origin": "https://any.example"}, writes=True)
    access.check_browser({}, writes=True)
    with pytest.raises(CrossSite):
        access.check_browser({"Host": "any.example", "Origin": "https://other.example"}, writes=True)


def test_logging_in_says_who_and_begins_a_session(access: Access, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "headgate"):
        caller, cookie = log_in(access, VERA, remote="10.0.0.1", path="/headgate", https=True)
    assert caller == VIEWER
    assert (cookie["path"], cookie["secure"], cookie["httponly"]) == ("/headgate", True, True)
    assert access.identify({}, {cookie["name"]: cookie["value"]}) == VIEWER
    [record] = events(caplog.records, "session.begun")
    assert record.getMessage() == "session.begun name=vera role=viewer remote=10.0.0.1"


@pytest.mark.parametrize("token", ["", "wrong", f" {ANNA}", digest_of(ANNA).hex(), "\ud800", "x" * 100_000])
def test_a_wrong_token_begins_none_and_is_not_logged(
    access: Access, caplog: pytest.LogCaptureFixture, token: str
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(Unauthorized) as refused:
        log_in(access, token, **BROWSER)
    [record] = events(caplog.records, "session.refused")
    assert record.getMessage() == "session.refused remote=10.0.0.1"
    assert len(token) < 3 or token not in refused.value.message


def test_right_tokens_wait_too_while_log_ins_are_limited(access: Access, clock: Clock) -> None:
    """Or the answer to a right one would still tell it from the others. Those who are known are not held up."""
    cookies = session(access)
    for _ in range(10):
        with pytest.raises(Unauthorized):
            log_in(access, "wrong", **BROWSER)
    with pytest.raises(TooManyAttempts):
        log_in(access, ANNA, **BROWSER)
    log_in(access, ANNA, **BROWSER | {"remote": "10.0.0.2"})
    assert access.identify({}, cookies) == OPERATOR
    assert access.identify({"Authorization": f"Bearer {ANNA}"}, {}) == OPERATOR
    clock.move(60)
    assert log_in(access, ANNA, **BROWSER)[0] == OPERATOR


def test_right_log_ins_do_not_count(access: Access) -> None:
    for _ in range(30):
        log_in(access, ANNA, **BROWSER)


def test_where_there_are_no_tokens_there_is_nothing_to_log_in_with() -> None:
    with pytest.raises(InvalidRequest, match="asks nobody for a token"):
        log_in(Access.open(), ANNA, **BROWSER)


def test_logging_out_makes_the_browser_forget(access: Access) -> None:
    cookie = log_out(access, path="/", https=True)
    assert (cookie["value"], cookie["max_age"]) == ("", 0)
    assert access.identify({}, {cookie["name"]: cookie["value"]}) is None


def test_an_access_shows_no_secret(file: Path) -> None:
    key = "k" * 40
    shown = repr(Access(tokens=Tokens("of-the-environment-0", file), sessions=Sessions(key)))
    for secret in (key, "of-the-environment-0", ANNA, digest_of(ANNA).hex(), repr(digest_of(ANNA))):
        assert secret not in shown


REFUSALS = (Unauthorized(), Forbidden(), ReadOnly(), CrossSite(), HostNotAllowed(), TooManyAttempts(retry_after_s=7))


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: str(error.code))
def test_a_refusal_is_an_error_of_the_tree_that_says_what_to_do(error: HeadgateError) -> None:
    assert error.message
    for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(same), str(same), vars(same)) == (type(error), error.message, vars(error))


def test_the_codes_are_these() -> None:
    """Clients switch on them."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == errors.__name__]
    assert {kind.code: kind for kind in kinds if issubclass(kind, HeadgateError)} == {
        "unauthorized": Unauthorized,
        "forbidden": Forbidden,
        "read_only": ReadOnly,
        "cross_site": CrossSite,
        "host_not_allowed": HostNotAllowed,
        "too_many_attempts": TooManyAttempts,
    }
