"""Fixtures of the tests of access: a clock to move, and a file of tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.http.access.stage import Clock, file_of


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return file_of(tmp_path / "t.toml")
