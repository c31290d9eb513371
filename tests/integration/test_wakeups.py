"""Following announcements: hints, whose loss or fault ends nothing."""

from __future__ import annotations

import logging
from functools import partial

import anyio
import pytest

from headgate.pacing import Backoff
from headgate.store.wakeups import Wakeups
from tests.support.worlds import World, wait_until


async def heard_at_least(heard: list[str], count: int) -> bool:
    return len(heard) >= count


async def test_a_broken_connection_is_said_once_and_followed_by_a_new_subscription(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Each begins with ``subscribed``: anything may have happened before."""
    caplog.set_level(logging.INFO, "headgate")
    heard: list[str] = []
    wakeups = Wakeups(world._pubsub, world.namespace)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wakeups.follow, heard.append, Backoff(1, 5))
        await wait_until(partial(heard_at_least, heard, 1))
        await world.client.publish(world.keys("wake"), "schedule")
        await wait_until(partial(heard_at_least, heard, 2))
        await world._pubsub.connection_pool.disconnect()
        await wait_until(partial(heard_at_least, heard, 3))
        tasks.cancel_scope.cancel()
    assert heard == ["subscribed", "schedule", "subscribed"]
    events = [record.headgate_event for record in caplog.records if hasattr(record, "headgate_event")]
    assert events == ["wakeups.failed", "wakeups.recovered"]


async def test_a_fault_of_who_heeds_them_does_not_end_it(world: World) -> None:
    heard: list[str] = []

    def heed(what: str) -> None:
        heard.append(what)
        if len(heard) == 1:
            raise RuntimeError

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Wakeups(world._pubsub, world.namespace).follow, heed, Backoff(1, 5))
        await wait_until(partial(heard_at_least, heard, 2))
        tasks.cancel_scope.cancel()
    assert heard == ["subscribed", "subscribed"]
