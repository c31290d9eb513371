"""What an import brings with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ADAPTERS = ("headgate.http", "headgate.cli", "aiohttp")


@pytest.mark.parametrize("module", ["headgate", "headgate.spec", "headgate.store", "headgate.scheduler"])
def test_an_import_brings_no_adapter_with_it(module: str, tmp_path: Path) -> None:
    """In a fresh process: who schedules from Python pays for no web server and no command line."""
    code = f"import sys, {module}; print(*sys.modules, sep='\\n')"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert module in loaded
    assert loaded.isdisjoint(ADAPTERS)
