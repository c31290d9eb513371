"""What the tests of access share: a clock to move, and files of tokens."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from headgate.http.access import Role
from headgate.http.access.callers import digest_of

ANNA, VERA = "hg_of-anna-0123456789", "hg_of-vera-0123456789"
ROLES = {"anna": Role.OPERATOR, "vera": Role.VIEWER}
TOKENS = {"anna": ANNA, "vera": VERA}


class Clock:
    """Seconds, which only the test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


def entry(name: str, token: str, role: str) -> str:
    return f'[tokens.{name}]\nrole = "{role}"\nsha256 = "{digest_of(token).hex()}"\n'


def file_of(path: Path, tokens: Mapping[str, str] = TOKENS, *, mode: int = 0o600) -> Path:
    """Write a file of tokens as editors do that replace it."""
    return write(
        path, "\n".join(entry(name, token, ROLES.get(name, Role.VIEWER)) for name, token in tokens.items()), mode
    )


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    new.chmod(mode)
    return new.replace(path)


def events(records: list[logging.LogRecord], name: str) -> list[logging.LogRecord]:
    return [record for record in records if getattr(record, "headgate_event", None) == name]
