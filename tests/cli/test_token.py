"""`headgate token`: makes a token that a server takes, shows it once, keeps its hash alone, and removes it."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headgate.cli.main import main
from headgate.errors import InvalidRequest
from headgate.http.access import Caller, Role, Tokens
from headgate.http.access.callers import digest_of
from headgate.http.access.token_edits import add_token, remove_token
from tests.cli.conftest import Ended
from tests.support.commands import HEADGATE, environment

NEW = re.compile(r"hg_[A-Za-z0-9_-]{43}")
BY_HAND = """# of the team

[tokens.anna]  # since May
sha256 = "{anna}"
role = "viewer"

# two of Vera's
[tokens."vera.1"]
role = "operator"
sha256 = "{vera}"
"""


def named(path: Path) -> list[tuple[str, Role]]:
    tokens = Tokens(file=path)
    return [(token.caller.name, token.caller.role) for token in tokens._all]


@pytest.fixture
def by_hand(folder: Path) -> Path:
    path = folder / "tokens.toml"
    path.touch(0o600)
    path.write_text(BY_HAND.format(anna=digest_of("a" * 20).hex(), vera=digest_of("v" * 20).hex()))
    return path


def test_a_token_is_printed_alone_and_its_hash_kept(folder: Path) -> None:
    """So that a script can take it from standard output; 256 random bits."""
    run = subprocess.run(
        [*HEADGATE, "token", "anna", "--role", "operator"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    token = run.stdout.removesuffix("\n")
    assert NEW.fullmatch(token)
    assert "anna is operator by tokens.toml" in run.stderr
    assert token not in run.stderr
    file = folder / "tokens.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == f'[tokens.anna]\nrole = "operator"\nsha256 = "{digest_of(token).hex()}"\n'
    assert [path.name for path in folder.iterdir()] == ["tokens.toml"]
    found = Tokens(file=file).find(token)
    assert found is not None
    assert found.caller == Caller("anna", Role.OPERATOR)


def test_tokens_are_added_and_removed(ended: Callable[..., Ended], folder: Path) -> None:
    tokens = []
    for name, role in (("anna", "operator"), ("vera.1", "viewer"), ("karl", "viewer")):
        code, lines = ended("token", name, "--role", role, "--file", "t.toml")
        assert code == 0
        tokens += [line for line in lines if NEW.fullmatch(line)]
    assert len(set(tokens)) == 3
    assert named(folder / "t.toml") == [("anna", Role.OPERATOR), ("vera.1", Role.VIEWER), ("karl", Role.VIEWER)]
    assert ended("token", "vera.1", "--remove", "--file", "t.toml") == (0, ["vera.1 has no token in t.toml any more"])
    assert named(folder / "t.toml") == [("anna", Role.OPERATOR), ("karl", Role.VIEWER)]
    read = Tokens(file=folder / "t.toml")
    assert [read.find(token) is None for token in tokens] == [False, True, False]


def test_what_was_written_by_hand_stays(by_hand: Path) -> None:
    before = by_hand.read_text()
    add_token(by_hand, "karl", Role.VIEWER)
    assert by_hand.read_text().startswith(before + "\n[tokens.karl]\n")
    remove_token(by_hand, "karl")
    remove_token(by_hand, "anna")
    assert by_hand.read_text() == "# of the team\n\n" + before[before.index("# two") :]
    remove_token(by_hand, "vera.1")
    assert by_hand.read_text() == "# of the team\n\n# two of Vera's\n"


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_the_mode_stays(by_hand: Path, mode: int) -> None:
    by_hand.chmod(mode)
    add_token(by_hand, "karl", Role.VIEWER)
    assert stat.S_IMODE(by_hand.stat().st_mode) == mode


def test_a_link_stays_a_link(by_hand: Path, folder: Path) -> None:
    link = folder / "link.toml"
    link.symlink_to(by_hand.name)
    add_token(link, "karl", Role.VIEWER)
    assert link.is_symlink()
    assert len(named(by_hand)) == 3


def test_links_that_lead_nowhere_are_said_to(folder: Path) -> None:
    loop = folder / "loop.toml"
    loop.symlink_to(loop.name)
    with pytest.raises(InvalidRequest, match="loop"):
        add_token(loop, "karl", Role.VIEWER)
    assert [each.name for each in folder.iterdir()] == [loop.name]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("anna", "--role", "viewer"), "has a token of anna already; --remove it first"),
        (("nobody", "--remove"), "has no token of nobody"),
        (("a b", "--role", "viewer"), "token name 'a b' is not 1 to 64 of"),
        (("a" * 65, "--role", "viewer"), "is not 1 to 64 of"),
        (("", "--remove"), "is not 1 to 64 of"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    ended: Callable[..., Ended], by_hand: Path, arguments: tuple[str, ...], words: str
) -> None:
    before = by_hand.read_text(), by_hand.stat()
    code, [line] = ended("token", *arguments)
    assert code == 1
    assert line.startswith("headgate: ")
    assert words in line
    assert (by_hand.read_text(), by_hand.stat()) == before


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("", 0o644, "has mode 0644"),
        ("[tokens.anna", 0o600, ":1: is not TOML"),
        ("[tokens.anna]\nrole = 'admin'\nsha256 = ''\n", 0o600, ":2: anna: role must be"),
        ("[tokens]\n[other]\n", 0o600, "nothing but [tokens.NAME] tables"),
        ("tokens = {}\n", 0o600, "is not written as [tokens.NAME] tables; edit it by hand"),
    ],
)
def test_a_file_that_a_server_would_refuse_is_left_as_it_is(folder: Path, text: str, mode: int, words: str) -> None:
    file = folder / "tokens.toml"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(InvalidRequest, match=re.escape(words)):
        add_token(file, "karl", Role.VIEWER)
    assert file.read_text() == text
    assert [path.name for path in folder.iterdir()] == ["tokens.toml"]


def test_an_entry_in_another_form_is_not_removed_by_halves(folder: Path) -> None:
    file = folder / "tokens.toml"
    file.touch(0o600)
    anna, vera = (f"{{role = 'viewer', sha256 = '{digest_of(name * 20).hex()}'}}" for name in "av")
    for text in (
        f"[tokens]\nanna = {anna}\nvera = {vera}\n",
        f"[tokens.anna]\nrole = 'viewer'\n# a word\nsha256 = '{'0' * 64}'\n",
    ):
        file.write_text(text)
        with pytest.raises(InvalidRequest, match="edit it by hand"):
            remove_token(file, "anna")
        assert file.read_text() == text


def test_a_folder_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot be used: No such file or directory"):
        add_token(folder / "no" / "tokens.toml", "anna", Role.VIEWER)


def test_a_write_that_fails_leaves_the_file_and_nothing_beside_it(
    by_hand: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, say: the old tokens go on."""
    before = by_hand.read_text()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidRequest, match="cannot be used: No space left on device"):
        add_token(by_hand, "karl", Role.VIEWER)
    assert by_hand.read_text() == before
    assert [path.name for path in by_hand.parent.iterdir()] == ["tokens.toml"]


def test_edits_at_the_same_time_lose_nothing(folder: Path) -> None:
    path = folder / "tokens.toml"
    with ThreadPoolExecutor() as threads:  # a lock of the system is one of open files, also within a process
        list(threads.map(lambda number: add_token(path, f"name-{number}", Role.VIEWER), range(40)))
    assert len(named(path)) == 40


@pytest.mark.parametrize(
    "arguments", [(), ("anna",), ("anna", "--role", "admin"), ("anna", "--role", "viewer", "--remove")]
)
def test_wrong_arguments_exit_with_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["token", *arguments])
    assert ended.value.code == 2
    assert "usage: headgate token" in capsys.readouterr().err
