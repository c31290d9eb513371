"""A spec that fires only from one instant to another."""

from __future__ import annotations

from datetime import datetime

from headgate.settings import MAX_INSTANT_MS
from headgate.spec.base import Spec
from headgate.spec.describe import describe_bounds


def bounded(spec: Spec, starts_at_ms: int | None, ends_at_ms: int | None) -> Spec:
    """`spec` without its ticks before `starts_at_ms` and after `ends_at_ms` (milliseconds, both inclusive).

    None sets no bound; without either it is `spec` itself. Bounds that leave no tick give a spec that never fires.
    """
    if starts_at_ms is None and ends_at_ms is None:
        return spec
    return BoundedSpec(
        spec,
        spec.starts_at_ms if starts_at_ms is None else max(starts_at_ms, spec.starts_at_ms),
        spec.ends_at_ms if ends_at_ms is None else min(ends_at_ms, spec.ends_at_ms),
    )


class BoundedSpec(Spec):
    """Fires when `spec` does, from `starts_at_ms` to `ends_at_ms`."""

    def __init__(self, spec: Spec, starts_at_ms: int, ends_at_ms: int) -> None:
        super().__init__(spec.text, spec.zone)
        self.clock = spec.clock
        self.fields = spec.fields
        self.interval_ms = spec.interval_ms
        self.starts_at_ms = starts_at_ms
        self.ends_at_ms = ends_at_ms
        self._spec = spec

    def next_after(self, ms: int) -> int | None:
        """The first tick strictly after the instant `ms` (milliseconds); None past the last bound."""
        tick = self._spec.next_after(max(ms, self.starts_at_ms - 1))
        return None if tick is None or tick > self.ends_at_ms else tick

    def latest_at_or_before(self, ms: int) -> int | None:
        """The last tick not after the instant `ms` (milliseconds); None before the first bound."""
        tick = self._spec.latest_at_or_before(min(ms, self.ends_at_ms))
        return None if tick is None or tick < self.starts_at_ms else tick

    def count(self, after_ms: int, until_ms: int) -> int:
        """How many ticks there are with ``after_ms < tick <= until_ms`` (milliseconds)."""
        return self._spec.count(max(after_ms, self.starts_at_ms - 1), min(until_ms, self.ends_at_ms))

    def names(self, start: datetime, end: datetime) -> int:
        """How many wall times with ``start <= wall < end`` the fields allow, within the bounds or not."""
        return self._spec.names(start, end)

    def describe(self) -> str:
        """The spec in words, and the bounds there are, in UTC."""
        starts_at_ms = self.starts_at_ms if self.starts_at_ms > 0 else None
        ends_at_ms = self.ends_at_ms if self.ends_at_ms < MAX_INSTANT_MS else None
        return self._spec.describe() + describe_bounds(starts_at_ms, ends_at_ms)
