"""Leases: one atomic call to renew or try for duties, one to give them up, one to look, one that proves writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from headgate.errors import LeaseLost
from headgate.models import DutyState, OverdueSchedule, Overview
from headgate.store.scripts import Scripts

DUTIES: Final = ("scheduler", "reclaimer")


class Bid(msgspec.Struct, frozen=True):
    """What a process asks for a duty.

    Attributes:
        duty: its name.
        token: whose the lease is to be.
        before: the process's token before that, which a late heartbeat may have got the lease for; or "".
    """

    duty: str
    token: str
    before: str = ""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How a process stands with a duty.

    Attributes:
        held: the lease is this token's, granted now or before.
        granted: it was granted by this call.
        epoch: leases granted so far.
        lease_left_ms: how long the lease still lasts, whoever has it; a duration. None for one without an end, which
            Headgate never makes.
        usable: false while a foreign value stands in place of the lease or its epoch: nobody is granted it.
    """

    held: bool
    granted: bool
    epoch: int
    lease_left_ms: int | None
    usable: bool


class Heartbeat(msgspec.Struct, frozen=True):
    """What one heartbeat learnt.

    Attributes:
        now_ms: store time.
        due_next_ms: the earliest entry of the due index, which may be overdue; None when nothing waits.
        index_whole: every schedule stands in an index.
        duties: by name, those that were asked for.
    """

    now_ms: int
    due_next_ms: int | None
    index_whole: bool
    duties: dict[str, Standing]


class Leases:
    """The duties of one namespace.

    Args:
        scripts: of the namespace.
        overdue_after_ms: how far past its due time a schedule counts as overdue; a duration.
    """

    def __init__(self, scripts: Scripts, *, overdue_after_ms: int) -> None:
        self._scripts = scripts
        self._overdue_after_ms = overdue_after_ms

    async def heartbeat(
        self, process_id: str, bids: Sequence[Bid], about: Mapping[str, str], *, ttl_ms: int
    ) -> Heartbeat:
        """Renew each lease that is its token's, take each that is free or its `before`'s; register the process.

        Atomic; a repeat is harmless: a token that has the lease is told so. A lease, renewed or new, lasts `ttl_ms`
        from the store's now; the process record twice that.
        """
        asked = [text for bid in bids for text in (bid.duty, bid.token, bid.before)]
        fields = [text for pair in about.items() for text in pair]
        now, due, index, *standings = await self._scripts.call(
            "heartbeat", process_id, ttl_ms, ttl_ms * 2, len(bids), *asked, *fields
        )
        return Heartbeat(
            now_ms=int(now),
            due_next_ms=int(due) if due else None,
            index_whole=index == "whole",
            duties={bid.duty: _standing(*row) for bid, row in zip(bids, standings, strict=True)},
        )

    async def release(self, process_id: str, tokens: Mapping[str, str], *, forget: bool) -> list[str]:
        """Give up the leases that are these tokens', and wake whoever waits for one; atomic.

        Args:
            process_id: whose they are.
            tokens: by duty.
            forget: remove the process as well, which ends.

        Returns:
            The duties that were given up.
        """
        pairs = [text for pair in tokens.items() for text in pair]
        released: list[str] = await self._scripts.call("release", process_id, int(forget), *pairs)
        return released

    async def overview(self) -> Overview:
        """Who holds each duty and how far scheduling is behind, at one instant; by bounded reads alone."""
        things, *duties = await self._scripts.call("duties", self._overdue_after_ms, *DUTIES)
        now, due, swept, schedules, paused, failing, processes, overdue, oldest, oldest_due = things
        return Overview(
            store_time_ms=int(now),
            duties=[_duty(name, *row) for name, row in zip(DUTIES, duties, strict=True)],
            processes=processes,
            swept_at_ms=int(swept) if swept else None,
            due_next_ms=int(due) if due else None,
            overdue_by_ms=max(0, int(now) - int(due)) if due else 0,
            overdue=overdue,
            oldest_overdue=OverdueSchedule(schedule_id=oldest, due_ms=int(oldest_due)) if oldest else None,
            schedules=schedules,
            paused=paused,
            failing=failing,
        )

    async def check_writable(self) -> None:
        """Find out whether the store takes writes, without one.

        Raises:
            StoreFull: memory is exhausted.
            StoreUnavailable: it is a replica, may not write to its disk, or gives no answer.
        """
        await self._scripts.call("probe")


def check_lease(word: str, duty: str = "scheduler") -> None:
    """Raise `LeaseLost` if a script's first word says so."""
    if word == "lost":
        raise LeaseLost(f"the lease of the {duty} duty belongs to another process now")


def _standing(state: str, epoch: str, left_ms: int) -> Standing:
    return Standing(
        held=state in {"held", "granted"},
        granted=state == "granted",
        epoch=int(epoch),
        lease_left_ms=left_ms if left_ms >= 0 else None,
        usable=state != "unusable",
    )


def _duty(name: str, token: str, epoch: str, left_ms: int) -> DutyState:
    # A token is "<process id>/<nonce>"; the nonce is nobody's business.
    holder = token.partition("/")[0] or None
    return DutyState(name=name, holder=holder, epoch=int(epoch), lease_left_ms=left_ms if left_ms >= 0 else None)
