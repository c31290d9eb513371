"""Queues: how they stand, pause and resume, and what they let through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headgate.errors import InvalidRequest, QueueNotFound, StoreError
from headgate.models import JobState, Queue, QueueLimits, QueuePage
from headgate.names import check_queue
from headgate.settings import MAX_PAGE
from headgate.store.paging import check_limit, foreign_cursor, read_cursor, write_cursor
from headgate.store.records import rate_limit_from
from headgate.store.scripts import Scripts

_FIELDS: Final = (*("paused_at_ms", "max_concurrent", "max_unfinished", "rate_limit", "rate_window_ms", "rate_burst"),)


class Queues:
    """The queues of one namespace. One exists from the first job or the first word about it."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> QueuePage:
        """A page of 1 to 200 queues by name. Their counts are kept by the store and not counted here.

        Raises:
            InvalidRequest: the limit breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        check_limit(limit, MAX_PAGE)
        after = _position(cursor) if cursor is not None else ""
        last, *rows = await self._call("after", after, limit)
        return QueuePage(
            queues=[_queue(row) for row in rows], next_cursor=write_cursor("queues", last) if last else None
        )

    async def get(self, queue: str) -> Queue:
        """One queue.

        Raises:
            InvalidRequest: the name breaks its rule.
            QueueNotFound: it was never used or told anything.
        """
        _last, *rows = await self._call("only", check_queue(queue), 1)
        if not rows:
            raise QueueNotFound(f"queue {queue} does not exist")
        return _queue(rows[0])

    async def pause(self, queue: str) -> Queue:
        """Let nothing new begin; what runs goes on, and jobs still enter. Atomic; a repeat changes nothing."""
        return await self._write(queue, "paused_at_ms", "now")

    async def resume(self, queue: str) -> Queue:
        """Let jobs begin again. Atomic; a repeat changes nothing."""
        return await self._write(queue, "paused_at_ms", "")

    async def set_limits(self, queue: str, limits: QueueLimits) -> Queue:
        """Replace what the queue lets through; it counts from the next admission on. Atomic.

        Jobs that run already are left alone, and those that wait stay, should there be more than the new limits allow.

        Raises:
            InvalidRequest: a value breaks its rule, or there are no limits.
        """
        if not isinstance(limits, QueueLimits):
            raise InvalidRequest("limits must be a headgate.QueueLimits", field="limits")
        limits.check()
        rate = limits.rate_limit
        fields = {
            "max_concurrent": limits.max_concurrent,
            "max_unfinished": limits.max_unfinished,
            "rate_limit": rate and rate.limit,
            "rate_window_ms": rate and rate.window_ms,
            "rate_burst": rate and rate.capacity,
        }
        if rate is None:  # a bucket that is made anew is full
            fields |= {"tokens": None, "tokens_at_ms": None}
        flat = [text for name, value in fields.items() for text in (name, "" if value is None else str(value))]
        return await self._write(queue, *flat)

    async def _write(self, queue: str, *fields: str) -> Queue:
        await self._scripts.call("queue_write", check_queue(queue), *fields)
        return await self.get(queue)

    async def _call(self, how: str, name: str, limit: int) -> Any:
        states = tuple(JobState)
        return await self._scripts.call("queue_list", how, name, limit, len(states), *states, *_FIELDS)


def _position(cursor: str) -> str:
    try:
        return check_queue(read_cursor("queues", cursor))
    except InvalidRequest:
        raise foreign_cursor() from None


def _queue(row: Sequence[Any]) -> Queue:
    states = tuple(JobState)
    name, counts = row[0], row[1 : 1 + len(states)]
    paused_at, max_concurrent, max_unfinished, *rate = row[1 + len(states) :]
    try:
        return Queue(
            name=name,
            paused=bool(paused_at),
            paused_since_ms=int(paused_at) if paused_at else None,
            limits=QueueLimits(
                max_concurrent=int(max_concurrent) if max_concurrent else None,
                max_unfinished=int(max_unfinished) if max_unfinished else None,
                rate_limit=rate_limit_from(*rate),
            ),
            counts=dict(zip(map(str, states), counts, strict=True)),
        )
    except ValueError:
        raise StoreError(f"the record of queue {name} has a field that headgate did not write") from None
