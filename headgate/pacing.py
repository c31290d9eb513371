"""When to try again, and when to wake up early."""

from __future__ import annotations

import random

import anyio


class Backoff:
    """Waits that double from a first to a longest one, each with jitter so that processes do not move in step."""

    def __init__(self, first_ms: int, longest_ms: int) -> None:
        self._first_ms = first_ms
        self._longest_ms = longest_ms
        self.failures = 0

    def reset(self) -> None:
        """Start again at the first wait."""
        self.failures = 0

    def next_ms(self) -> float:
        """The next wait in ms: half of the doubled time, plus up to as much again."""
        ceiling: float = min(self._longest_ms, self._first_ms * 2 ** min(self.failures, 20))
        self.failures += 1
        return ceiling * (0.5 + random.random() / 2)  # noqa: S311 - jitter, not a secret


class Wakeup:
    """A nudge that is not lost: set before or during a wait, it ends that wait, once."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        """End the present wait, or the next one."""
        self._event.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for a nudge, at most so long; whether one came."""
        with anyio.move_on_after(seconds):
            await self._event.wait()
        woken = self._event.is_set()
        if woken:
            self._event = anyio.Event()
        return woken
