"""Calls of scripts: whoever waits for a connection gets it in turn, or is told in time."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from headgate.connect import MAX_CONNECTIONS
from headgate.errors import StoreUnavailable
from headgate.store.keys import Keys
from headgate.store.scripts import Scripts


class Client:
    """Answers when it is told to, and keeps the order in which it was called."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.answers: list[anyio.Event] = []

    async def evalsha(self, _sha: str, _count: int, _root: str, name: str) -> str:
        self.called.append(name)
        self.answers.append(anyio.Event())
        await self.answers[-1].wait()
        return name


def scripts_of(client: Any, timeout_ms: int) -> Scripts:
    return Scripts(client, Keys("t"), timeout_ms=timeout_ms)


async def test_a_call_that_waits_for_a_connection_comes_before_one_that_asks_later() -> None:
    client = Client()
    scripts = scripts_of(client, 60_000)

    async def ask_twice() -> None:
        await scripts.call("job", "first")
        await scripts.call("job", "again")

    async with anyio.create_task_group() as tasks:
        for _ in range(MAX_CONNECTIONS):
            tasks.start_soon(ask_twice)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(scripts.call, "job", "waiting")
        await anyio.wait_all_tasks_blocked()
        assert len(client.called) == MAX_CONNECTIONS
        client.answers[0].set()
        await anyio.wait_all_tasks_blocked()
        assert client.called[MAX_CONNECTIONS:] == ["waiting"], "whoever had a connection asked again past it"
        tasks.cancel_scope.cancel()


async def test_a_wait_for_a_connection_ends_with_the_time_of_a_call() -> None:
    client = Client()
    scripts = scripts_of(client, 10)
    async with anyio.create_task_group() as tasks:
        for _ in range(MAX_CONNECTIONS):
            tasks.start_soon(scripts.call, "job", "holds")
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(StoreUnavailable):
            await scripts.call("enqueue", "late")
        assert len(client.called) == MAX_CONNECTIONS
        tasks.cancel_scope.cancel()


async def test_a_cancelled_call_gives_its_turn_back() -> None:
    client = Client()
    scripts = scripts_of(client, 60_000)
    for _ in range(MAX_CONNECTIONS + 1):
        with anyio.move_on_after(0):
            await scripts.call("job", "gone")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scripts.call, "job", "next")
        await anyio.wait_all_tasks_blocked()
        assert client.called[-1:] == ["next"]
        tasks.cancel_scope.cancel()
