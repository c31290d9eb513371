"""The trail: what became of each tick, newest first. Capped at 100 a schedule; it outlives the schedule."""

from __future__ import annotations

import msgspec

from headgate.models import Event
from headgate.names import check_schedule_id
from headgate.settings import MAX_EVENTS_PAGE
from headgate.store.paging import check_limit, read_number, write_cursor
from headgate.store.records import event_from
from headgate.store.scripts import Scripts


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of events; `next_cursor` continues towards older ones, null at the end of what is kept."""

    events: list[Event]
    next_cursor: str | None


class Events:
    """The histories of one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def list(self, schedule_id: str, *, limit: int = 30, cursor: str | None = None) -> EventPage:
        """A page of 1 to 100 events, newest first; right while new ones arrive. An id that never existed has none.

        Raises:
            InvalidRequest: the id or the limit breaks its rule.
            InvalidCursor: the cursor is not of this history.
        """
        check_schedule_id(schedule_id)
        check_limit(limit, MAX_EVENTS_PAGE)
        scope = f"events/{schedule_id}"
        before = str(read_number(scope, cursor)) if cursor is not None else ""
        texts = await self._scripts.call("history", schedule_id, before, limit + 1)
        events = [event_from(text) for text in texts[:limit]]
        more = len(texts) > limit
        return EventPage(events=events, next_cursor=write_cursor(scope, str(events[-1].event_id)) if more else None)
