"""Store time for the header of every answer, so that clients need no clock of their own.

It is asked for at most once a second, beside a request that needs the store anyway, and carried on by the process's
monotonic clock in between. A store whose clock jumps is noticed within that second. Nothing is decided by it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from headgate.errors import HeadgateError

HEADER: Final = "X-Headgate-Store-Time"
_FRESH_SECONDS: Final = 1.0


class StoreTime:
    """What time it is at the store, as far as one process knows.

    Args:
        ask: for store time in ms; raises what the store raises.
        monotonic: seconds that never go back.
    """

    def __init__(self, ask: Callable[[], Awaitable[int]], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._monotonic = monotonic
        self._asked_at = float("-inf")
        self._ahead_ms: float | None = None
        self._asking: asyncio.Task[None] | None = None

    @property
    def now_ms(self) -> int | None:
        """Store time, estimated; None until the store has been heard once."""
        return None if self._ahead_ms is None else round(self._monotonic() * 1000 + self._ahead_ms)

    def refresh(self) -> asyncio.Task[None] | None:
        """Ask the store, unless that was done within the last second; what is to be waited for, if anything is."""
        if self._asking is None and self._monotonic() - self._asked_at >= _FRESH_SECONDS:
            self._asking = asyncio.create_task(self._refresh())
            self._asking.add_done_callback(self._asked)
        return self._asking

    async def _refresh(self) -> None:
        self._asked_at = asked_at = self._monotonic()
        try:
            now_ms = await self._ask()
        except HeadgateError:  # whoever needs the store is told by its own call
            return
        # The store looked at its clock somewhere between question and answer.
        self._ahead_ms = now_ms - (asked_at + self._monotonic()) / 2 * 1000

    def _asked(self, _: asyncio.Task[None]) -> None:
        self._asking = None
