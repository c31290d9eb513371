"""Schedules: put, get, list by page, delete.

A write computes the next tick in Python, from store time it read, and is applied only if the record still is as read;
a race is tried again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from headgate.errors import Conflict, InvalidRequest, ScheduleNotFound, StoreError
from headgate.models import Schedule, ScheduleDefinition, check_text
from headgate.names import check_schedule_id
from headgate.settings import MAX_WHO
from headgate.store.changes import change_text, check_revision, revision_text
from headgate.store.leases import check_lease
from headgate.store.listing import Order, SchedulePage, Wanted, page_by_id, page_by_next_run
from headgate.store.records import pairs, schedule_from
from headgate.store.scripts import Scripts
from headgate.store.timing import check_jitter, timing_of
from headgate.store.writing import put_arguments, stored_fields

_TRIES: Final = 10


class PutResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a put did: `change` is ``created``, ``updated`` or ``unchanged``."""

    schedule: Schedule
    change: str


class Schedules:
    """The durable records of one namespace."""

    def __init__(self, scripts: Scripts, *, history_ms: int) -> None:
        self._scripts = scripts
        self._history_ms = history_ms

    async def put(
        self,
        schedule_id: str,
        definition: ScheduleDefinition,
        *,
        paused: bool = False,
        by: str = "",
        expected_revision: int | None = None,
    ) -> PutResult:
        """Create a schedule or replace its definition; atomic.

        An unchanged spec keeps its phase; a changed one, or changed bounds, counts from store time, and a due tick it
        passes is recorded as ``skipped/spec_changed``. Identical content changes nothing. `paused` is used at creation
        only. A write whose answer was lost is sent again, and then answers ``unchanged``.

        Args:
            schedule_id: which.
            definition: what it is to be.
            paused: whether a new one starts paused.
            by: who writes, for the log of changes.
            expected_revision: refuse the write unless the schedule has this revision; 0: unless there is none.

        Raises:
            InvalidRequest: an id, a spec or a value breaks its rule; the message names it.
            RevisionMismatch: it has another revision; `current` is the schedule as it stands.
            Conflict: other writers changed the record each time.
            StoreError: a key of the schedule holds something foreign, or a queued tick still lacks its event.
        """
        check_schedule_id(schedule_id)
        definition.check()
        check_text("by", by, MAX_WHO)
        spec = timing_of(definition)
        check_jitter(definition.jitter_ms, spec)
        fields = stored_fields(definition)
        for tried in range(_TRIES):
            now_text, flat = await self._scripts.call("get", schedule_id)
            record = pairs(flat)
            stored = schedule_from(record) if record else None  # refuses what Headgate did not write
            same = stored is not None and all(record.get(name) == value for name, value in fields.items())
            if not (tried and same):  # else this may be the write itself, whose first answer was lost
                check_revision(schedule_id, stored, expected_revision)
            if stored and same:
                return PutResult(schedule=stored, change="unchanged")
            arguments = put_arguments(schedule_id, record, int(now_text), spec, fields, by=by, paused=paused)
            word, *answer = await self._scripts.call("put", *arguments)
            if word == "broken":
                raise StoreError(f"a key of schedule {schedule_id} holds a type that headgate did not write")
            if word != "moved":
                return PutResult(schedule=schedule_from(pairs(answer[0])), change=word)
        raise Conflict(f"schedule {schedule_id} was changed by others {_TRIES} times in a row")

    async def get(self, schedule_id: str) -> Schedule:
        """One schedule, with its payload.

        Raises:
            InvalidRequest: the id breaks its rule.
            ScheduleNotFound: there is none.
        """
        _now, flat = await self._scripts.call("get", check_schedule_id(schedule_id))
        if not flat:
            raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
        return schedule_from(pairs(flat))

    async def read_many(self, schedule_ids: Sequence[str]) -> Sequence[Schedule | None]:
        """Schedules with their payloads, in order; None where there is none, or one that Headgate did not write.

        One call: the caller bounds the number and the bytes.
        """
        records = await self._scripts.call("contents", *schedule_ids)
        return [_schedule_or_none(pairs(flat)) for flat in records]

    async def list(
        self,
        *,
        limit: int = 50,
        cursor: str | None = None,
        prefix: str = "",
        label: str = "",
        paused: bool | None = None,
        failing: bool | None = None,
        order: str = Order.ID,
    ) -> SchedulePage:
        """A page of schedules, 1 to 200. By id it is stable under writes: one that stays is listed exactly once.

        A record that Headgate did not write is passed over and logged, so a page may be shorter than `limit`. With a
        filter a page looks at 1,000 schedules at most, and may be shorter for that too; `examined` says at how many.

        Args:
            limit: most schedules of the page.
            cursor: where the page before ended; of a list with the same filters and order.
            prefix: only ids that begin so.
            label: only those with this label: ``name`` or ``name=value``.
            paused: only those that are paused, or only those that are not.
            failing: only those whose due tick does not get through, or only the others.
            order: ``id`` or ``next_run``. One that fires while somebody pages by next run may be met again.

        Raises:
            InvalidRequest: a limit or a filter breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        if order not in tuple(Order):
            raise InvalidRequest(f"order must be one of {', '.join(Order)}", field="order")
        page = page_by_next_run if order == Order.NEXT_RUN else page_by_id
        return await page(self._scripts, Wanted(limit, prefix, label, paused, failing), cursor)

    async def delete(self, schedule_id: str, *, by: str = "", expected_revision: int | None = None) -> None:
        """Remove a schedule; its history stays for the history retention. Jobs it made are not touched.

        Raises:
            InvalidRequest: the id breaks its rule.
            ScheduleNotFound: there is none.
            RevisionMismatch: it has another revision than expected.
            StoreError: an index holds a foreign type.
        """
        check_schedule_id(schedule_id)
        check_text("by", by, MAX_WHO)
        expected = revision_text(expected_revision)
        removed = await self._scripts.call(
            "delete", schedule_id, self._history_ms, change_text("deleted", by, {}), expected
        )
        if removed == -1:
            raise StoreError("an index holds a type that headgate did not write")
        if removed == -2:  # noqa: PLR2004 - as the script says
            check_revision(schedule_id, await self.get(schedule_id), expected_revision)
            raise Conflict(f"schedule {schedule_id} was changed by others meanwhile")
        if not removed:
            raise ScheduleNotFound(f"schedule {schedule_id} does not exist")

    async def reindex(self, token: str, after: str, limit: int) -> tuple[str, int]:
        """Put one page of schedules back into the indexes: the id to go on after ('' at the end), entries put back.

        Raises:
            LeaseLost: the lease of the scheduler duty is not this token's; nothing was done.
        """
        word, *found = await self._scripts.call("reindex", token, after, limit)
        check_lease(word)
        last, added = found
        return last, added


def _schedule_or_none(record: dict[str, str]) -> Schedule | None:
    try:
        return schedule_from(record) if record else None
    except StoreError:
        return None
