"""What every compiled spec answers."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Spec(ABC):
    """A compiled spec; immutable to its users and safe to share between threads.

    Instants are integer milliseconds since the epoch, UTC. Ticks lie in 0 to `MAX_INSTANT_MS`; nothing
    fires before or after, whatever instant is asked about.

    Attributes:
        text: the spec as it was written.
        zone: the name of the zone whose wall clock it is read on; '' for UTC.
    """

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
