"""Fixtures of the HTTP tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.http.client import Client, serving
from tests.support.worlds import World


@pytest.fixture
async def api(world: World) -> AsyncIterator[Client]:
    """The API of `world`'s namespace."""
    async with serving(world.store) as client:
        yield client


@pytest.fixture
async def moved_api(moved: World) -> AsyncIterator[Client]:
    """The API of `moved`'s namespace."""
    async with serving(moved.store) as client:
        yield client
