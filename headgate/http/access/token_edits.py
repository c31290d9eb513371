"""New entries in the file of tokens, and entries that go. A server that reads the file sees the old one or the new one.

An edit replaces the file as a whole: written beside it, forced to disk, renamed. Comments and the other entries stay as
they are; what would not read back as intended is refused before anything is written.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from headgate.errors import InvalidRequest
from headgate.http.access.callers import Caller, Role, Token, check_token_name, digest_of
from headgate.http.access.token_file import parse_tokens, read_text, unreadable
from headgate.schedule_file.lines import Lines

if sys.platform != "win32":  # where a file of tokens is refused when it is read
    import errno
import fcntl

_NEW_MODE: Final = 0o600
_BEGINS_SOMETHING_ELSE: Final = ("[", "#")


def add_token(path: Path, name: str, role: Role) -> str:
    """Make a token of 256 random bits, enter its hash under the name, and return it: nobody can tell it again.

    The file is made, with mode 0600, if there is none; atomic, also among several who edit it at the same time.

    Raises:
        InvalidRequest: the name breaks its rule or is taken, or the file cannot be used; nothing was written.
    """
    check_token_name(name)
    token = f"hg_{secrets.token_urlsafe(32)}"
    with _alone(path) as file:
        text, tokens = _read(file) if file.exists() else ("", ())
        if any(each.caller.name == name for each in tokens):
            raise InvalidRequest(f"{path} has a token of {name} already; --remove it first, or choose another name")
        entry = Token(Caller(name, role), digest_of(token))
        _replace(file, _with(text, entry), (*tokens, entry))
    return token


def remove_token(path: Path, name: str) -> None:
    """Remove the entry of this name; atomic, as `add_token`.

    Raises:
        InvalidRequest: there is no such entry, or the file cannot be used; nothing was written.
    """
    check_token_name(name)
    with _alone(path) as file:
        text, tokens = _read(file)
        left = tuple(each for each in tokens if each.caller.name != name)
        if left == tokens:
            raise InvalidRequest(f"{path} has no token of {name}")
        _replace(file, _without(text, name), left)


@contextmanager
def _alone(path: Path) -> Iterator[Path]:
    """The file itself, if `path` is a link to it. One edit at a time: a lock on its folder leaves nothing behind."""
    try:
        file = path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        raise unreadable(path, OSError(errno.ELOOP, "")) from None
    try:
        folder = os.open(file.parent, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(path, error) from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield file
        os.fsync(folder)
    except OSError as error:
        raise unreadable(path, error) from None
    finally:
        os.close(folder)


def _read(file: Path) -> tuple[str, tuple[Token, ...]]:
    text, _ = read_text(file)
    return text, parse_tokens(text, str(file))


def _with(text: str, entry: Token) -> str:
    name = entry.caller.name
    key = f'"{name}"' if "." in name else name
    between = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f'{text}{between}[tokens.{key}]\nrole = "{entry.caller.role}"\nsha256 = "{entry.digest.hex()}"\n'


def _without(text: str, name: str) -> str:
    lines = text.split("\n")
    first = Lines(text).of("tokens", name) - 1
    after = first + 1
    while after < len(lines) and not lines[after].lstrip().startswith(_BEGINS_SOMETHING_ELSE):
        after += 1
    left = "\n".join(lines[:first] + lines[after:])
    return left if not left or left.endswith("\n") else f"{left}\n"


def _replace(file: Path, text: str, expected: tuple[Token, ...]) -> None:
    try:
        as_intended = parse_tokens(text, str(file)) == expected
    except InvalidRequest:
        as_intended = False
    if not as_intended:
        raise InvalidRequest(f"{file} is not written as [tokens.NAME] tables; edit it by hand")
    mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else _NEW_MODE
    handle, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as new:
            os.fchmod(handle, mode)
            new.write(text)
            new.flush()
            os.fsync(handle)
        Path(beside).replace(file)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
