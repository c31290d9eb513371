"""The facade as a strict type checker sees it, from a user's file. Runs where mypy is installed, as in CI."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(find_spec("mypy") is None, reason="mypy comes with the lint extra")


def check(path: Path, folder: Path) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", "cache", str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in run.stdout.splitlines() if "error:" in line]


def test_a_file_that_uses_everything_passes(tmp_path: Path) -> None:
    file = tmp_path / "user.py"
    file.write_text((HERE / "uses_everything.py").read_text())
    assert check(file, tmp_path) == []


def test_each_misuse_is_an_error(tmp_path: Path) -> None:
    source = (HERE / "misuses_everything.txt").read_text()
    file = tmp_path / "user.py"
    file.write_text(source)
    wrong = {int(match[1]) for line in check(file, tmp_path) if (match := re.search(r":(\d+): error:", line))}
    lines = source.splitlines()
    expected = {
        number
        for number, line in enumerate(lines, 1)
        if line.startswith(
            ("app = ", "app.periodic", "app.enqueue", "app.request", "@app.", "    async with", "        ")
        )
    }
    assert wrong == expected
