"""What the tests of the command line share: a short folder to work in, and commands that are ended with the test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from headgate.cli.main import main
from tests.support.commands import HEADGATE, Command, short_folder

SECRET = "words-of-a-payload"
"""Part of payloads that are sent; no command ever prints it."""

SCRIPT = Path(sys.executable).with_name("headgate")

Start = Callable[..., Command]
Ended = tuple[int, list[str]]


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as made:
        yield made


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start a command in the folder. Whatever it is put through, it prints no traceback and no payload."""
    commands: list[Command] = []
    with ExitStack() as stack:

        def begin(*arguments: str, **env: str) -> Command:
            command = stack.enter_context(Command(*arguments, cwd=folder, env=env))
            commands.append(command)
            return command

        yield begin
    for command in commands:
        assert "Traceback" not in command.output, command.output
        assert SECRET not in command.output, command.output


@pytest.fixture
def ended(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Exit code and output of a command that starts nothing, without the time that a process takes to start."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("HEADGATE_REDIS_URL", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(*arguments: str) -> Ended:
        try:
            main([*arguments])
        except SystemExit as caught:
            code = caught.code
        else:
            code = 0
        printed = "".join(capsys.readouterr())
        # The interpreter prints a text and ends with 1.
        return (1, [*printed.splitlines(), code]) if isinstance(code, str) else (int(code or 0), printed.splitlines())

    return run


def check_refused(ended: Ended, folder: Path, *words: str) -> None:
    """One line says why, and nothing was begun."""
    code, lines = ended
    assert code == 1
    assert len(lines) == 1, lines
    assert lines[0].startswith("headgate: ")
    for word in words:
        assert word in lines[0]
    assert [entry.name for entry in folder.iterdir() if entry.suffix != ".py" and entry.name != "__pycache__"] == []


@pytest.fixture(params=["module", "script"])
def program(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Both ways to start it."""
    if request.param == "module":
        return HEADGATE
    if not SCRIPT.exists():
        pytest.skip("the package is not installed, so it has no script")
    return (str(SCRIPT),)
