"""One question for all who ask it at the same time: a crowd costs the store what one costs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

_Answer = TypeVar("_Answer")


class Shared(Generic[_Answer]):
    """A question, asked once while it is not answered.

    Args:
        ask: what it is.
    """

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, _Answer]]) -> None:
        self._ask = ask
        self._asking: asyncio.Task[_Answer] | None = None

    async def __call__(self) -> _Answer:
        """The answer; whoever stops waiting for it stops nobody else."""
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(self._answered)
        return await asyncio.shield(self._asking)

    def _answered(self, task: asyncio.Task[_Answer]) -> None:
        self._asking = None
        if not task.cancelled():
            task.exception()  # it is whoever waits for it that is told; there may be nobody left
