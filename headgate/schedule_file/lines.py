"""Where the keys of a TOML text stand, which `tomllib` does not say.

A scan by line, exact for files written one key a line. Of a key within an inline table only the line of the outer one
is known.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_NAME: Final = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_HEADER: Final = re.compile(rf"\s*(\[\[?)\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*\]\]?\s*(?:#.*)?")
_KEY: Final = re.compile(rf"\s*({_NAME})\s*[.=]")
_NO_BRACKETS: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']*'|\#.*""")
_LONG: Final = re.compile(r'"""|\'\'\'')


class Lines:
    """The lines of tables and keys, counted from 1."""

    def __init__(self, text: str) -> None:
        self._found: dict[Path, int] = {(): 1}
        self._tables: Counter[str] = Counter()
        inside: Path = ()
        open_text, depth = "", 0  # the quotes of a text, and the brackets, that are open from the lines before
        for number, line in enumerate(text.split("\n"), 1):
            if not open_text and depth == 0:
                if header := _HEADER.fullmatch(line):
                    inside = self._enter(header[1], header[2], number)
                    continue
                if key := _KEY.match(line):
                    self._found.setdefault((*inside, _bare(key[1])), number)
            for quotes in _LONG.findall(line):
                open_text = quotes if not open_text else "" if quotes == open_text else open_text
            if not open_text:
                rest = _NO_BRACKETS.sub("", line)
                depth = max(0, depth + sum(map(rest.count, "[{")) - sum(map(rest.count, "]}")))

    def of(self, *path: str | int) -> int:
        """The line of a key, or else of the nearest table around it; a table of an array is known by its number."""
        while path not in self._found:
            path = path[:-1]
        return self._found[path]

    def _enter(self, brackets: str, name: str, number: int) -> Path:
        first, *rest = [_bare(part) for part in re.findall(_NAME, name)]
        if brackets == "[[" and not rest:
            self._tables[first] += 1
        path: Path = (first, self._tables[first] - 1, *rest) if first in self._tables else (first, *rest)
        self._found.setdefault(path, number)
        return path


def _bare(name: str) -> str:
    return name[1:-1] if name[0] in "\"'" else name
