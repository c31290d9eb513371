"""Which tokens are in force, while their file changes under a server that runs."""

from __future__ import annotations

import hmac
import logging
from pathlib import Path

import pytest

from headgate.errors import InvalidRequest
from headgate.http.access import Caller, Role, Tokens
from headgate.http.access import tokens as module
from headgate.http.access.callers import digest_of
from headgate.http.access.token_file import FileState, state_of
from tests.http.access.stage import ANNA, TOKENS, VERA, Clock, entry, events, file_of, write

OWN = "of-the-environment-0"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return file_of(tmp_path / "tokens.toml")


def whose(tokens: Tokens, presented: str) -> str | None:
    found = tokens.find(presented)
    return found.caller.name if found else None


def test_a_token_is_found_by_itself_and_by_name(file: Path) -> None:
    tokens = Tokens(OWN, file)
    for presented, caller in (
        (OWN, Caller("operator", Role.OPERATOR)),
        (ANNA, Caller("anna", Role.OPERATOR)),
        (VERA, Caller("vera", Role.VIEWER)),
    ):
        found = tokens.find(presented)
        assert found is not None
        assert found.caller == caller
        assert tokens.named(caller.name) == found
    assert tokens.named("nobody") is None


@pytest.mark.parametrize(
    "wrong", ["", "x", ANNA[:-1], ANNA + "x", ANNA.upper(), digest_of(ANNA).hex(), "ä\udcff", "\ud800"]
)
def test_anything_else_is_nobodys(file: Path, wrong: str) -> None:
    """The hash of a token is none, and text that is no text is none either."""
    assert whose(Tokens(OWN, file), wrong) is None


def test_without_any_entry_nobody_is_let_in(tmp_path: Path) -> None:
    assert whose(Tokens(file=file_of(tmp_path / "t.toml", {})), "") is None


@pytest.mark.parametrize("presented", [OWN, ANNA, VERA, "wrong" * 8])
def test_every_entry_is_compared_in_constant_time(file: Path, monkeypatch: pytest.MonkeyPatch, presented: str) -> None:
    """A match ends nothing early: neither the time nor the number of comparisons tells which entry it was."""
    compared: list[bytes] = []
    really = hmac.compare_digest

    def compare(left: bytes, right: bytes) -> bool:
        compared.append(left)
        assert right == digest_of(presented)
        return really(left, right)

    tokens = Tokens(OWN, file)
    monkeypatch.setattr(hmac, "compare_digest", compare)
    tokens.find(presented)
    assert compared == [digest_of(each) for each in (OWN, ANNA, VERA)]


@pytest.mark.parametrize("short", ["", "x", "x" * 19])
def test_what_is_too_short_for_a_token_is_none_whatever_hash_is_entered(tmp_path: Path, short: str) -> None:
    """The hash of a variable that was never set lets nobody in."""
    entry = {"anna": short}
    if short:
        assert Tokens(file=file_of(tmp_path / "t.toml", entry)).find(short) is None
    else:
        with pytest.raises(InvalidRequest, match="empty token"):
            Tokens(file=file_of(tmp_path / "t.toml", entry))


def test_what_is_longer_than_a_token_is_not_even_hashed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(file=file)
    monkeypatch.setattr(module, "digest_of", lambda _: pytest.fail("hashed"))
    assert whose(tokens, "x" * 1_025) is None


@pytest.mark.parametrize(
    "text", ["", "x" * 19, "x" * 1_025, "x" * 19 + " ", "x" * 20 + "\n", "ä" * 20, "x" * 19 + "\x7f"]
)
def test_a_token_of_the_environment_has_rules_and_is_not_quoted(text: str) -> None:
    """An empty one is a mistake too: whoever sets it expects that callers are asked."""
    with pytest.raises(InvalidRequest, match="HEADGATE_TOKEN must be 20 to 1024 printable ASCII") as refused:
        Tokens(text)
    assert refused.value.field == "HEADGATE_TOKEN"
    assert not text or text not in refused.value.message


def test_a_file_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path) -> None:
    for path in (tmp_path / "none", file_of(tmp_path / "open", mode=0o644), write(tmp_path / "broken", "?")):
        with pytest.raises(InvalidRequest, match=str(path)):
            Tokens(file=path)


def test_an_entry_counts_within_a_second_of_a_change(file: Path) -> None:
    """New, removed, and with another role; without a restart, and looking at the file once a second at most."""
    clock = Clock()
    tokens = Tokens(file=file, clock=clock)
    write(file, entry("vera", VERA, "operator") + entry("karl", "hg_of-karl-0123456789", "viewer"))
    clock.move(0.999)
    assert (whose(tokens, ANNA), whose(tokens, "hg_of-karl-0123456789")) == ("anna", None)
    clock.move(0.001)
    assert (whose(tokens, ANNA), whose(tokens, "hg_of-karl-0123456789")) == (None, "karl")
    vera = tokens.named("vera")
    assert vera is not None
    assert vera.caller.role is Role.OPERATOR
    write(file, "")
    clock.move(1)
    assert tokens.named("vera") is None


def test_the_file_is_looked_at_once_a_second_and_read_when_it_changed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests in any number cost nothing more."""
    clock = Clock()
    tokens = Tokens(file=file, clock=clock)
    looks: list[Path] = []

    def look(path: Path) -> FileState:
        looks.append(path)
        return state_of(path)

    monkeypatch.setattr(module, "state_of", look)
    monkeypatch.setattr(module, "read_text", lambda _: pytest.fail("read"))
    for _ in range(30):
        tokens.find(ANNA)
        clock.move(0.1)
    assert len(looks) == 2


def test_a_file_written_in_place_is_noticed(file: Path) -> None:
    """As some editors write; the inode stays."""
    clock = Clock()
    tokens = Tokens(file=file, clock=clock)
    file.write_text(entry("vera", VERA, "viewer"))
    clock.move(1)
    assert whose(tokens, ANNA) is None


@pytest.mark.parametrize("trouble", ["gone", "open to others", "broken"])
def test_a_file_in_trouble_keeps_what_was_in_force_and_says_so_once(
    file: Path, caplog: pytest.LogCaptureFixture, trouble: str
) -> None:
    """Until it is well again: then what it says counts, and trouble that comes later is said again."""
    clock = Clock()
    tokens = Tokens(file=file, clock=clock)
    with caplog.at_level(logging.INFO, "headgate"):
        for times in (1, 2):
            caplog.clear()
            if trouble == "gone":
                file.unlink()
            elif trouble == "open to others":
                file.chmod(0o640)
            else:
                write(file, f"[tokens.anna]\nrole = {ANNA}")
            for _ in range(5):
                clock.move(1)
                assert (whose(tokens, ANNA), whose(tokens, VERA)) == ("anna", "vera")
            [record] = events(caplog.records, "tokens.unreadable")
            assert str(file) in record.getMessage()
            assert record.levelno == logging.ERROR
            write(file, entry("anna", ANNA, "operator") + entry("vera", VERA, "viewer") + "#" * times)
            clock.move(1)
            assert whose(tokens, ANNA) == "anna"
            assert len(events(caplog.records, "tokens.loaded")) == 1
    write(file, entry("vera", VERA, "viewer"))
    clock.move(1)
    assert (whose(tokens, ANNA), whose(tokens, VERA)) == (None, "vera")
    for token in TOKENS.values():
        assert token not in caplog.text
        assert digest_of(token).hex() not in caplog.text


def test_trouble_that_leaves_the_file_as_it_was_is_said_to_be_over(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its folder could not be looked into for a while, say."""
    clock = Clock()
    tokens = Tokens(file=file, clock=clock)
    away = file.parent.with_name("away")
    with caplog.at_level(logging.INFO, "headgate"):
        file.parent.rename(away)
        clock.move(1)
        assert whose(tokens, ANNA) == "anna"
        away.rename(file.parent)
        clock.move(1)
        assert whose(tokens, ANNA) == "anna"
    assert [record.getMessage().split()[0] for record in caplog.records] == ["tokens.unreadable", "tokens.loaded"]


def test_trouble_that_passes_by_itself_is_tried_again_each_second(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is new, and could not be opened just then: it is not taken for read."""
    clock = Clock()
    tokens = Tokens(file=file, clock=clock)
    write(file, entry("vera", VERA, "viewer"))

    def fails(_: Path) -> None:
        raise InvalidRequest("too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(module, "read_text", fails)
        clock.move(1)
        assert whose(tokens, ANNA) == "anna"
    clock.move(1)
    assert whose(tokens, ANNA) is None


def test_a_file_may_not_take_the_name_of_the_environments_token(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="operator: is the name of HEADGATE_TOKEN"):
        Tokens(OWN, file_of(tmp_path / "t.toml", {"operator": ANNA}))
