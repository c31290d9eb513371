"""`docs/threat-model.md` names what shows each defence: the file is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_defence_names_a_test_that_is_there() -> None:
    text = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
    table = text.partition("## What is defended")[2].partition("## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert rows
    for row in rows:
        shown_by = re.findall(r"`(tests/\S+)`", row.rstrip("| ").rpartition("|")[2])
        assert shown_by, row
        assert all((ROOT / path).is_file() for path in shown_by), row
