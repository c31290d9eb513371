"""Every worked case of the spec language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import InvalidSpec
from headgate.spec import parse_spec

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "cron_vectors.json").read_text(encoding="utf-8")
)


def _named(vectors: list[dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(vector, id=f"{number}-{vector['why']}".encode("ascii", "replace").decode())
        for number, vector in enumerate(vectors)
    ]


@pytest.mark.parametrize("vector", _named([vector for vector in VECTORS if "next_ms" in vector]))
def test_the_next_tick_is_the_vectors(vector: dict[str, Any]) -> None:
    """The tick is found from before, and is the latest one at its own instant, not a millisecond earlier."""
    spec = parse_spec(vector["spec"])
    tick = vector["next_ms"]
    assert spec.next_after(vector["after_ms"]) == tick
    assert spec.latest_at_or_before(tick) == tick
    assert (spec.latest_at_or_before(tick - 1) or 0) <= vector["after_ms"]


@pytest.mark.parametrize("vector", _named([vector for vector in VECTORS if vector.get("error")]))
def test_what_the_vectors_refuse_is_refused_or_over(vector: dict[str, Any]) -> None:
    """Refused when written; the one exception is a good spec asked about the end of the calendar."""
    try:
        spec = parse_spec(vector["spec"])
    except InvalidSpec:
        return
    assert vector["why"].endswith("no more")
    assert spec.next_after(vector["after_ms"]) is None


def test_no_vector_was_lost() -> None:
    assert len(VECTORS) == 182
