"""The file of tokens: private or refused, read whole or refused, and no refusal quotes what it holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headgate.errors import InvalidRequest
from headgate.http.access.callers import Caller, Role, Token, digest_of
from headgate.http.access.token_file import MAX_FILE_BYTES, parse_tokens, read_text
from tests.http.access.stage import ANNA, TOKENS, VERA, entry, file_of

HASH = digest_of(ANNA).hex()


def test_it_has_names_roles_and_hashes(tmp_path: Path) -> None:
    text, _ = read_text(file_of(tmp_path / "t.toml"))
    anna, vera = parse_tokens(text, "t.toml")
    assert (anna.caller, vera.caller) == (Caller("anna", Role.OPERATOR), Caller("vera", Role.VIEWER))
    assert (anna.digest, vera.digest) == (digest_of(ANNA), digest_of(VERA))
    assert not any(token in text for token in TOKENS.values())


def test_an_empty_file_has_none() -> None:
    """It lets nobody in."""
    assert parse_tokens("", "t.toml") == ()


def test_names_may_have_dots() -> None:
    [token] = parse_tokens(entry('"a.b"', ANNA, "viewer"), "t.toml")
    assert token.caller.name == "a.b"


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_file_of_its_owner_alone_is_read(tmp_path: Path, mode: int) -> None:
    read_text(file_of(tmp_path / "t.toml", mode=mode))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666])
def test_any_right_of_group_or_others_is_refused(tmp_path: Path, mode: int) -> None:
    path = file_of(tmp_path / "t.toml", mode=mode)
    with pytest.raises(InvalidRequest, match=rf"{path}: has mode 0{mode:o}; .* chmod 600"):
        read_text(path)


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who owns it can write himself into it. Root's is fine: root may do that anyway."""
    path, whose = file_of(tmp_path / "t.toml"), os.geteuid() + 1

    def fstat(handle: int) -> os.stat_result:
        found = list(os.stat(handle))
        found[4] = whose
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.raises(InvalidRequest, match=f"belongs to user {whose}"):
        read_text(path)
    whose = 0
    read_text(path)


def test_a_link_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    """As secrets are often mounted."""
    (tmp_path / "link").symlink_to(file_of(tmp_path / "t.toml"))
    read_text(tmp_path / "link")
    (tmp_path / "t.toml").chmod(0o644)
    with pytest.raises(InvalidRequest, match="has mode 0644"):
        read_text(tmp_path / "link")


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(0o700)
    for name, words in (
        ("pipe", "is not a plain file"),
        ("folder", "not a plain file|directory"),
        ("no", "No such file"),
    ):
        with pytest.raises(InvalidRequest, match=words):
            read_text(tmp_path / name)


def test_a_file_has_bounds(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.touch(0o600)
    path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(InvalidRequest, match="is over 1048576 bytes"):
        read_text(path)
    path.write_bytes(b"# \xff")
    with pytest.raises(InvalidRequest, match="is not UTF-8"):
        read_text(path)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (f"[tokens.anna]\nrole = {ANNA}\n", "t.toml:2: is not TOML"),
        (f"[tokens.anna]\nrole = 'viewer'\nsha256 = '{HASH}", "t.toml:3: is not TOML"),
        ("a = " + "[" * 10_000, "t.toml:1: is not TOML"),
        (f"\n{ANNA} = 1\n", "t.toml:2: the file has nothing but [tokens.NAME] tables"),
        (f"tokens = '{ANNA}'", "t.toml:1: tokens must be [tokens.NAME] tables"),
        (f"[[tokens]]\nrole = '{ANNA}'", "t.toml:1: tokens must be [tokens.NAME] tables"),
        (f"[tokens]\nanna = '{ANNA}'", "t.toml:2: anna: must have the fields role and sha256, and no other"),
        (f"[tokens.anna]\nsha256 = '{HASH}'", "t.toml:1: anna: must have the fields role and sha256, and no other"),
        (
            entry("anna", ANNA, "viewer") + f"token = '{ANNA}'",
            "t.toml:1: anna: must have the fields role and sha256, and no other",
        ),
        (entry("anna", ANNA, "admin"), "t.toml:2: anna: role must be viewer or operator"),
        (f"[tokens.anna]\nrole = ['viewer']\nsha256 = '{HASH}'", "t.toml:2: anna: role must be viewer or operator"),
        (
            f"[tokens.anna]\nrole = 'viewer'\nsha256 = '{ANNA}'",
            "t.toml:3: anna: sha256 must be 64 hex digits in lower case, as `headgate token` writes",
        ),
        (
            f"[tokens.anna]\nrole = 'viewer'\nsha256 = '{HASH.upper()}'",
            "t.toml:3: anna: sha256 must be 64 hex digits in lower case, as `headgate token` writes",
        ),
        (
            f"[tokens.anna]\nrole = 'viewer'\nsha256 = {int(HASH[:15], 16)}",
            "t.toml:3: anna: sha256 must be 64 hex digits in lower case, as `headgate token` writes",
        ),
        (entry(f'"{ANNA} {HASH}"', ANNA, "viewer"), "t.toml:1: a name is 1 to 64 of A-Z a-z 0-9 . _ -"),
        (entry('""', ANNA, "viewer"), "t.toml:1: a name is 1 to 64 of A-Z a-z 0-9 . _ -"),
        (
            entry("anna", ANNA, "viewer") + entry("vera", ANNA, "viewer"),
            "t.toml:4: vera: has the same token as another name",
        ),
        (entry("own", ANNA, "viewer"), "t.toml:1: own: is the name of HEADGATE_TOKEN; choose another"),
        (entry("anna", "of-environment-0123", "viewer"), "t.toml:1: anna: has the same token as another name"),
    ],
)
def test_what_is_wrong_is_said_by_line_and_rule_without_a_value(text: str, refused: str) -> None:
    own = Token(Caller("own", Role.OPERATOR), digest_of("of-environment-0123"))
    with pytest.raises(InvalidRequest) as error:
        parse_tokens(text, "t.toml", beside=(own,))
    assert error.value.message == refused
    assert error.value.__cause__ is None
    assert ANNA not in refused
    assert HASH not in refused.lower()


def test_a_token_does_not_show_its_hash() -> None:
    """Not the whole, nor as bytes: one that somebody thought of could be guessed from it."""
    token = Token(Caller("anna", Role.VIEWER), digest_of(ANNA))
    assert f"{token} {token!r}" == " ".join(["Token(Caller(name='anna', role=<Role.VIEWER: 'viewer'>))"] * 2)
