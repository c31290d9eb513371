"""Leases: one atomic call to renew or try for a duty, one to give it up, one to look."""

from __future__ import annotations

from typing import Final

import msgspec

from headgate.errors import LeaseLost
from headgate.models import DutyState
from headgate.store.scripts import Scripts

DUTIES: Final = ("scheduler",)


class Heartbeat(msgspec.Struct, frozen=True):
    """What one heartbeat learnt.

    Attributes:
        now_ms: store time.
        held: the lease is this token's, granted now or before.
        granted: it was granted by this call.
        epoch: leases granted so far.
        lease_left_ms: how long the lease still lasts, whoever has it; a duration. None for one without an end, which
            Headgate never makes.
        due_next_ms: the earliest entry of the due index, which may be overdue; None when nothing waits.
        index_whole: every schedule stands in an index.
    """

    now_ms: int
    held: bool
    granted: bool
    epoch: int
    lease_left_ms: int | None
    due_next_ms: int | None
    index_whole: bool


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Who is on duty and how things stand, read at one instant of store time."""

    store_time_ms: int
    duties: list[DutyState]
    due_next_ms: int | None
    overdue_by_ms: int
    schedules: int
    paused: int
    failing: int


class Leases:
    """The duties of one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def heartbeat(
        self, duty: str, token: str, ttl_ms: int, process_id: str, about: dict[str, str], *, before: str = ""
    ) -> Heartbeat:
        """Renew the lease if it is `token`'s, take it if it is free or `before`'s; register the process either way.

        A repeat is harmless: a token that has the lease is told so. A renewed lease lasts `ttl_ms` from the store's
        now; the process record twice that.
        """
        fields = [text for pair in about.items() for text in pair]
        now, state, epoch, left, due, index = await self._scripts.call(
            "heartbeat", duty, token, before, ttl_ms, process_id, ttl_ms * 2, *fields
        )
        return Heartbeat(
            now_ms=int(now),
            held=state != "taken",
            granted=state == "granted",
            epoch=int(epoch),
            lease_left_ms=left if left >= 0 else None,
            due_next_ms=int(due) if due else None,
            index_whole=index == "whole",
        )

    async def release(self, duty: str, token: str, process_id: str) -> bool:
        """Give the lease up if it is `token`'s, wake whoever waits for it, and forget the process."""
        return bool(await self._scripts.call("release", duty, token, process_id))

    async def overview(self) -> Overview:
        """Who holds each duty and how far scheduling is behind; by reads alone."""
        now, due, schedules, paused, failing, *duties = await self._scripts.call("duties", *DUTIES)
        return Overview(
            store_time_ms=int(now),
            duties=[_duty(name, *row) for name, row in zip(DUTIES, duties, strict=True)],
            due_next_ms=int(due) if due else None,
            overdue_by_ms=max(0, int(now) - int(due)) if due else 0,
            schedules=schedules,
            paused=paused,
            failing=failing,
        )


def check_lease(word: str) -> None:
    """Raise `LeaseLost` if a script's first word says so."""
    if word == "lost":
        raise LeaseLost("the lease of the scheduler duty belongs to another process now")


def _duty(name: str, token: str, epoch: str, left_ms: int) -> DutyState:
    # A token is "<process id>/<nonce>"; the nonce is nobody's business.
    holder = token.partition("/")[0] or None
    return DutyState(name=name, holder=holder, epoch=int(epoch), lease_left_ms=left_ms if left_ms >= 0 else None)
