"""The file of tokens: what it says, or the first thing that is wrong with it, and that it is private.

::

    [tokens.anna]
    role = "operator"
    sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

No message quotes a value of the file: it may be a token that somebody wrote in the wrong place.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from headgate.errors import InvalidRequest
from headgate.http.access.callers import Caller, Role, Token, check_token_name, digest_of
from headgate.schedule_file.lines import Lines

MAX_FILE_BYTES: Final = 1_048_576

FileState: TypeAlias = tuple[int, ...]
"""What changes when a file is replaced, written or given another mode."""

_FIELDS: Final = ("role", "sha256")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PLACE: Final = re.compile(r"\(at line ([0-9]+), column [0-9]+\)\Z")


def state_of(path: Path) -> FileState:
    """What the file is now, to be compared with later; raises `InvalidRequest`."""
    try:
        return _state(path.stat())
    except OSError as error:
        raise unreadable(path, error) from None


def read_text(path: Path) -> tuple[str, FileState]:
    """The text of a private file, and what the file was before it was read.

    Raises:
        InvalidRequest: it cannot be read, is open to others, belongs to somebody else, or is over 1 MiB.
    """
    if sys.platform == "win32":
        raise InvalidRequest(f"{path}: a file of tokens needs a system with file modes; set HEADGATE_TOKEN instead")
    try:
        # What is opened is what is checked, and a pipe in its place must not hold up the server.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            _check_private(path, found)
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(content) > MAX_FILE_BYTES:
        raise InvalidRequest(f"{path}: is over {MAX_FILE_BYTES} bytes")
    try:
        return content.decode(), _state(found)
    except UnicodeDecodeError:
        raise InvalidRequest(f"{path}: is not UTF-8") from None


def parse_tokens(text: str, name: str, *, beside: Iterable[Token] = ()) -> tuple[Token, ...]:
    """The tokens of a file, and before them those `beside` it, which it must not repeat.

    Raises:
        InvalidRequest: as ``tokens.toml:3: anna: role must be viewer or operator``.
    """
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        place = _PLACE.search(str(error))
        line = place[1] if place else text.rstrip("\n").count("\n") + 1
        raise InvalidRequest(f"{name}:{line}: is not TOML") from None
    lines, found = Lines(text), {each.caller.name: each for each in beside}
    if other := next((key for key in tables if key != "tokens"), None):
        raise InvalidRequest(f"{name}:{lines.of(other)}: the file has nothing but [tokens.NAME] tables")
    entries = tables.get("tokens", {})
    if not isinstance(entries, dict):
        raise InvalidRequest(f"{name}:{lines.of('tokens')}: tokens must be [tokens.NAME] tables")
    for key, entry in entries.items():
        try:
            found[key] = _token(key, entry, found)
        except InvalidRequest as error:
            at = lines.of("tokens", key, *([error.field] if error.field in _FIELDS else []))
            whose = "" if error.field == "name" else f"{key}: "
            raise InvalidRequest(f"{name}:{at}: {whose}{error.message}") from None
    return tuple(found.values())


def unreadable(path: Path, error: OSError) -> InvalidRequest:
    """What the system says of a file, in our words."""
    return InvalidRequest(f"{path}: cannot be used: {os.strerror(error.errno or 0)}")


def _token(name: str, entry: Any, others: Mapping[str, Token]) -> Token:
    try:
        check_token_name(name)
    except InvalidRequest:
        raise InvalidRequest("a name is 1 to 64 of A-Z a-z 0-9 . _ -", field="name") from None
    if not isinstance(entry, dict) or set(entry) != set(_FIELDS):
        raise InvalidRequest("must have the fields role and sha256, and no other")
    role, digest = entry["role"], entry["sha256"]
    if role not in [each.value for each in Role]:
        raise InvalidRequest("role must be viewer or operator", field="role")
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise InvalidRequest("sha256 must be 64 hex digits in lower case, as `headgate token` writes", field="sha256")
    token = Token(Caller(name, Role(role)), bytes.fromhex(digest))
    if token.digest == digest_of(""):
        raise InvalidRequest("sha256 is that of an empty token", field="sha256")
    if name in others:
        raise InvalidRequest("is the name of HEADGATE_TOKEN; choose another")
    if any(token.digest == each.digest for each in others.values()):
        raise InvalidRequest("has the same token as another name")
    return token


def _check_private(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise InvalidRequest(f"{path}: is not a plain file")
    if found.st_mode & 0o077:
        raise InvalidRequest(
            f"{path}: has mode {stat.S_IMODE(found.st_mode):04o}; group and others must have no rights: chmod 600 it"
        )
    if found.st_uid not in (os.geteuid(), 0):
        raise InvalidRequest(f"{path}: belongs to user {found.st_uid}; it must be this process's user's or root's")


def _state(found: os.stat_result) -> FileState:
    # Writing, chmod and chown move st_ctime_ns at the least; a rename brings another inode.
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
