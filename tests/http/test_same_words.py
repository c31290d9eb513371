"""A refused spec is refused by every entry point in the same words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headgate.errors import InvalidSpec
from headgate.spec import parse_spec
from tests.http.client import Client, problem_of
from tests.support.worlds import World

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "cron_vectors.json").read_text("utf-8"))
# One vector asks a good spec for a tick after its last one; that is no refusal.
REFUSED = sorted({vector["spec"] for vector in VECTORS if vector.get("error") and vector["spec"] != "0 0 1 1 *"})


async def test_parser_store_and_api_refuse_in_the_same_words(api: Client, world: World) -> None:
    for text in REFUSED:
        with pytest.raises(InvalidSpec) as parsed:
            parse_spec(text)
        with pytest.raises(InvalidSpec) as stored:
            await world.put("a", text)
        assert (stored.value.message, stored.value.field) == (parsed.value.message, "spec")
        answer = await api.put("/api/v1/periodic/a", json={"kind": "test", "spec": text})
        problem = await problem_of(answer, 400, "invalid_spec", "spec")
        assert problem["detail"] == parsed.value.message
    assert await world.record("a") == {}
