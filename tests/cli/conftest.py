"""What the tests of the command line share: a short folder to work in, and commands that are ended with the test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.commands import HEADGATE, Command, short_folder

SECRET = "words-of-a-payload"
"""Part of payloads that are sent; no command ever prints it."""

SCRIPT = Path(sys.executable).with_name("headgate")

Start = Callable[..., Command]


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as made:
        yield made


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start a command in the folder. Whatever it is put through, it prints no traceback and no payload."""
    commands: list[Command] = []
    with ExitStack() as stack:

        def begin(*arguments: str) -> Command:
            command = stack.enter_context(Command(*arguments, cwd=folder))
            commands.append(command)
            return command

        yield begin
    for command in commands:
        assert "Traceback" not in command.output, command.output
        assert SECRET not in command.output, command.output


@pytest.fixture(params=["module", "script"])
def program(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Both ways to start it."""
    if request.param == "module":
        return HEADGATE
    if not SCRIPT.exists():
        pytest.skip("the package is not installed, so it has no script")
    return (str(SCRIPT),)
