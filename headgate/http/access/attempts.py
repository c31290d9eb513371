"""How often somebody may guess: log-ins that failed lately, by address and in all.

While the limit is reached nothing is looked at, right tokens neither, so that guessing on is worth nothing. What is
refused for that reason does not count as a failure, so a wait always ends, and never more than the limit in all is
remembered.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from headgate.http.access.errors import TooManyAttempts

WINDOW_S: Final = 60.0
MAX_OF_ADDRESS: Final = 10
MAX_IN_ALL: Final = 100
"""Failures within the window, in one process."""


class Attempts:
    """A sliding window of failures.

    Args:
        clock: seconds that only go forward.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: deque[tuple[float, str]] = deque()

    def check(self, remote: str) -> None:
        """Raise `TooManyAttempts` while this address, or all of them, failed too often."""
        now = self._clock()
        while self._failures and self._failures[0][0] <= now - WINDOW_S:
            self._failures.popleft()
        everyones = [at for at, _ in self._failures]
        own = [at for at, address in self._failures if address == remote]
        wait = max(_wait(own, MAX_OF_ADDRESS, now), _wait(everyones, MAX_IN_ALL, now))
        if wait:
            raise TooManyAttempts(retry_after_s=wait)

    def failed(self, remote: str) -> None:
        """Remember a failure of this address, after `check` let it try."""
        self._failures.append((self._clock(), remote))


def _wait(instants: Sequence[float], limit: int, now: float) -> int:
    """Whole seconds until fewer than `limit` are left of these; 0 if that is so now."""
    return 0 if len(instants) < limit else max(1, math.ceil(instants[-limit] + WINDOW_S - now))
