"""``@every:<milliseconds>``: every multiple of the interval since the UTC epoch.

The grid is the same on every machine and after every restart, whenever the schedule was written.
"""

from __future__ import annotations

from headgate.settings import MAX_INSTANT_MS
from headgate.spec.base import Spec
from headgate.spec.describe import describe_interval


class IntervalSpec(Spec):
    """Fires whenever the instant is a multiple of `interval_ms`.

    Attributes:
        interval_ms: distance between two ticks in milliseconds, 1 to `MAX_INSTANT_MS`.
    """

    def __init__(self, text: str, interval_ms: int) -> None:
        super().__init__(text)
        self.interval_ms: int = interval_ms

    def next_after(self, ms: int) -> int | None:
        """The smallest multiple above `ms` (milliseconds); None past the end of the calendar."""
        tick = (max(ms, -1) // self.interval_ms + 1) * self.interval_ms
        return tick if tick <= MAX_INSTANT_MS else None

    def latest_at_or_before(self, ms: int) -> int | None:
        """The largest multiple not above `ms` (milliseconds); the epoch itself counts, nothing before it."""
        return None if ms < 0 else min(ms, MAX_INSTANT_MS) // self.interval_ms * self.interval_ms

    def count(self, after_ms: int, until_ms: int) -> int:
        """How many multiples there are with ``after_ms < tick <= until_ms`` (milliseconds)."""
        after_ms, until_ms = max(after_ms, -1), min(until_ms, MAX_INSTANT_MS)
        return max(0, until_ms // self.interval_ms - after_ms // self.interval_ms)

    def describe(self) -> str:
        """The interval in days, hours, minutes and seconds."""
        return describe_interval(self.interval_ms)
