"""Find, compose and hash the Lua scripts.

A script is one file of ``lua/``. Its first line is the engine's shebang with the flags that decide what the
server checks at entry; its header states the contract, of which one line is also read here: ``-- Repeat: harmless``
allows the caller to send the call again after a lost answer. A line ``-- include: name`` pulls in ``lua/lib/name.lua``
and whatever that includes, each piece once. Upper-case names of `_CONSTANTS` and ``key_…`` functions come from Python.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from headgate import names, settings
from headgate.errors import StoreError
from headgate.store.keys import lua_key_functions

_INCLUDE: Final = re.compile(r"^-- include: ([a-z_]+)$", re.MULTILINE)
_MISSPELT: Final = re.compile(r"^--\s*include\b", re.MULTILINE | re.IGNORECASE)
_REPEAT: Final = re.compile(r"^-- Repeat: +(harmless|not harmless)\b", re.MULTILINE)
_CONSTANT: Final = re.compile(r"\b[A-Z][A-Z_]{3,}\b")
_CONSTANTS: Final = {
    "MAX_EVENTS": settings.MAX_EVENTS,
    "MAX_INSTANT_MS": settings.MAX_INSTANT_MS,
    "MAX_GAPS": settings.MAX_GAPS,
    "MAX_OUTCOMES": settings.MAX_OUTCOMES,
    "MAX_MANUAL": settings.MAX_MANUAL,
    "MAX_CHANGES": settings.MAX_CHANGES,
    "IDEMPOTENCY_MS": settings.IDEMPOTENCY_MS,
    "RETRY_MIN_MS": settings.RETRY_MIN_MS,
    "RETRY_MAX_MS": settings.RETRY_MAX_MS,
    "PRIORITY_STEP_MS": settings.PRIORITY_STEP_MS,
    "MAX_PRIORITY": settings.MAX_PRIORITY,
    "MAX_CALL_TICKS": settings.MAX_CALL_TICKS,
    "MAX_CALL_BYTES": settings.MAX_CALL_BYTES,
    "ARCHIVE_RETENTION_MS": settings.ARCHIVE_RETENTION_MS,
    "REPEAT_MS": settings.REPEAT_MS,
    "GRACE_EVERY_MS": settings.GRACE_EVERY_MS,
    "TOKEN_DUST": settings.TOKEN_DUST,
    "TICK_JOB_PREFIX": f"'{names.TICK_JOB_PREFIX}'",
}


class Script(msgspec.Struct, frozen=True):
    """A composed script: what is sent, what names it on the server, and whether a lost answer may be asked again."""

    name: str
    text: str
    sha: str
    repeatable: bool


def find_lua() -> Path:
    """The folder of scripts: inside an installed package, or beside it in a checkout.

    Raises:
        StoreError: neither exists; the installation is incomplete.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "lua", package.parent / "lua"):
        if (folder / "fire.lua").is_file():
            return folder
    raise StoreError("the Lua scripts are missing from this installation of headgate")


def load_scripts(pieces: Mapping[str, str] | None = None) -> dict[str, Script]:
    """Every script, composed.

    Args:
        pieces: shared pieces to use in place of the files of ``lua/lib``, by name; a moved clock, for instance.

    Raises:
        StoreError: a script has no shebang or contract line, or an include is missing or runs in a circle.
    """
    return _load(find_lua(), tuple(sorted((pieces or {}).items())))


@cache
def _load(folder: Path, pieces: tuple[tuple[str, str], ...]) -> dict[str, Script]:
    library = {path.stem: path.read_text("utf-8") for path in sorted((folder / "lib").glob("*.lua"))}
    library.update(pieces)
    return {path.stem: compose(path.stem, path.read_text("utf-8"), library) for path in sorted(folder.glob("*.lua"))}


def compose(name: str, source: str, library: Mapping[str, str]) -> Script:
    """One script with its includes in place, each piece once, before its first user."""
    shebang, _, body = source.partition("\n")
    repeat = _REPEAT.search(body)
    if not shebang.startswith("#!lua") or repeat is None:
        raise StoreError(f"script {name} lacks its #!lua line or its Repeat line")
    body = _with_includes(body, library, seen=set(), path=(name,))
    if _MISSPELT.search(body):
        raise StoreError(f"script {name} has an include line that is not spelt '-- include: name'")
    constants = sorted(set(_CONSTANT.findall(_without_comments(body))) & _CONSTANTS.keys())
    prelude = "".join(f"local {constant} = {_CONSTANTS[constant]}\n" for constant in constants)
    text = f"{shebang}\n{prelude}{lua_key_functions(body)}{body}"
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Script(name, text, sha, repeat.group(1) == "harmless")


def _with_includes(body: str, library: Mapping[str, str], *, seen: set[str], path: tuple[str, ...]) -> str:
    def piece(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in path:
            raise StoreError(f"includes run in a circle: {' -> '.join((*path, name))}")
        if name not in library:
            raise StoreError(f"script {path[0]} includes {name}, which does not exist")
        if name in seen:
            return ""
        seen.add(name)
        return _with_includes(library[name], library, seen=seen, path=(*path, name))

    return _INCLUDE.sub(piece, body)


def _without_comments(body: str) -> str:
    return re.sub(r"--.*", "", body)
