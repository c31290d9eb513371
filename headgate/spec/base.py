"""What every compiled spec answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from headgate.settings import MAX_INSTANT_MS
from headgate.spec.clock import Clock

if TYPE_CHECKING:
    from datetime import datetime

    from headgate.spec.clock import Change
    from headgate.spec.fields import Fields

_UTC: Final = Clock()


class Spec(ABC):
    """A compiled spec; immutable to its users and safe to share between threads.

    Instants are integer milliseconds since the epoch, UTC. Ticks lie in 0 to `MAX_INSTANT_MS`; nothing
    fires before or after, whatever instant is asked about.

    Attributes:
        text: the spec as it was written.
        zone: the name of the zone whose wall clock it is read on; '' for UTC.
        clock: that wall clock.
        fields: the values a cron spec allows; None for an interval.
        interval_ms: distance between two ticks of an interval in milliseconds; None for cron.
        starts_at_ms: nothing fires before this instant (milliseconds).
        ends_at_ms: nothing fires after this instant (milliseconds).
    """

    clock: Clock = _UTC
    fields: Fields | None = None
    interval_ms: int | None = None
    starts_at_ms: int = 0
    ends_at_ms: int = MAX_INSTANT_MS

    def __init__(self, text: str, zone: str = "") -> None:
        self.text = text
        self.zone = zone

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text!r}>"

    @abstractmethod
    def next_after(self, ms: int) -> int | None:
        """The first tick strictly after the instant `ms`; None if there is no further one."""

    @abstractmethod
    def latest_at_or_before(self, ms: int) -> int | None:
        """The last tick not after the instant `ms`; None if there was none since the epoch."""

    @abstractmethod
    def describe(self) -> str:
        """The spec in plain English, with the zone its times are read in."""

    def count(self, after_ms: int, until_ms: int) -> int:
        """How many ticks there are with ``after_ms < tick <= until_ms`` (milliseconds), without stepping."""
        raise NotImplementedError

    def names(self, start: datetime, end: datetime) -> int:  # noqa: ARG002 - an interval reads no clock
        """How many wall times with ``start <= wall < end`` it names, whether or not the clock ever shows them."""
        return 0

    def changes(self, after_ms: int, until_ms: int) -> list[Change]:
        """The changes of its clock with ``after_ms < at_ms <= until_ms`` (milliseconds) while it may fire."""
        return self.clock.changes(max(after_ms, self.starts_at_ms - 1), min(until_ms, self.ends_at_ms))

    def latest_n(self, n: int, after_ms: int, until_ms: int) -> list[int]:
        """The `n` latest ticks with ``after_ms < tick <= until_ms`` (milliseconds), oldest first.

        The cost grows with `n`, never with the distance between the instants.
        """
        ticks: list[int] = []
        at = until_ms
        while len(ticks) < n and (tick := self.latest_at_or_before(at)) is not None and tick > after_ms:
            ticks.append(tick)
            at = tick - 1
        ticks.reverse()
        return ticks
