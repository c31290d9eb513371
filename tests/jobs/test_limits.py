"""Limits of a queue: what they may be."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import InvalidRequest, QueueNotFound
from headgate.models import RateLimit
from tests.support.worlds import World


@pytest.mark.parametrize("limits", [None, 3, {"max_concurrent": 1}, RateLimit(limit=1)])
async def test_what_are_no_limits_is_refused_and_changes_nothing(moved: World, limits: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await moved.store.queues.set_limits("mail", limits)
    assert refused.value.field == "limits"
    with pytest.raises(QueueNotFound):
        await moved.store.queues.get("mail")
