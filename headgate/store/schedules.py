"""Schedules: put, get, list by page, delete.

A write computes the next tick in Python, from store time it read, and is applied only if the record still is as read;
a race is tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

import msgspec

from headgate.errors import Conflict, InvalidCursor, InvalidRequest, InvalidSpec, ScheduleNotFound, StoreError
from headgate.log import log_event
from headgate.missed import passed_over
from headgate.models import Schedule, ScheduleDefinition, TickRange
from headgate.names import check_schedule_id
from headgate.settings import MAX_PAGE
from headgate.spec import Spec, parse_spec
from headgate.store.leases import check_lease
from headgate.store.paging import check_limit, read_cursor, write_cursor
from headgate.store.records import SCHEDULE_FIELDS, pairs, schedule_from
from headgate.store.scripts import Scripts

_TRIES: Final = 10
_OPTIONS: Final = (
    "kind",
    "spec",
    "queue",
    "priority",
    "max_attempts",
    "timeout_ms",
    "retention_ms",
    "on_missed",
    "backfill_limit",
)


class PutResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a put did: `change` is ``created``, ``updated`` or ``unchanged``."""

    schedule: Schedule
    change: str


class SchedulePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of schedules without payloads; `next_cursor` continues the list, None at its end."""

    schedules: list[Schedule]
    next_cursor: str | None


class Schedules:
    """The durable records of one namespace."""

    def __init__(self, scripts: Scripts, *, history_ms: int) -> None:
        self._scripts = scripts
        self._history_ms = history_ms

    async def put(self, schedule_id: str, definition: ScheduleDefinition, *, paused: bool = False) -> PutResult:
        """Create a schedule or replace its definition; atomic.

        An unchanged spec keeps its phase; a changed one counts from store time, and a due tick it passes is recorded
        as ``skipped/spec_changed``. Identical content changes nothing. `paused` is used at creation only. A write
        whose answer was lost is sent again, and then answers ``unchanged``.

        Raises:
            InvalidRequest: an id, a spec or a value breaks its rule; the message names it.
            Conflict: other writers changed the record each time.
            StoreError: a key of the schedule holds something foreign, or a queued tick still lacks its event.
        """
        check_schedule_id(schedule_id)
        definition.check()
        spec = parse_spec(definition.spec)
        fields = _stored(definition)
        for _ in range(_TRIES):
            now_text, flat = await self._scripts.call("get", schedule_id)
            record = pairs(flat)
            stored = schedule_from(record) if record else None  # refuses what Headgate did not write
            if stored and all(record.get(name) == value for name, value in fields.items()):
                return PutResult(schedule=stored, change="unchanged")
            word, *answer = await self._scripts.call(
                "put", *_arguments(schedule_id, record, int(now_text), spec, paused=paused), *_flat(fields)
            )
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

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> SchedulePage:
        """A page of schedules by id, 1 to 200. Stable under writes: a schedule that stays is listed exactly once.

        A record that Headgate did not write is passed over and logged, so a page may be shorter than `limit`.

        Raises:
            InvalidRequest: the limit is out of range.
            InvalidCursor: the cursor is not of this list.
        """
        check_limit(limit, MAX_PAGE)
        after = _position(cursor) if cursor is not None else ""
        last, *rows = await self._scripts.call("list", after, limit, *SCHEDULE_FIELDS)
        schedules = []
        for row in rows:
            try:
                schedules.append(schedule_from(dict(zip(SCHEDULE_FIELDS, row, strict=True))))
            except StoreError as error:  # one damaged record must not hide the others
                log_event(logging.ERROR, "schedule.unreadable", schedule=row[0], code=error.code)
        return SchedulePage(schedules=schedules, next_cursor=write_cursor("schedules", last) if last else None)

    async def delete(self, schedule_id: str) -> None:
        """Remove a schedule; its history stays for the history retention. Jobs it made are not touched.

        Raises:
            InvalidRequest: the id breaks its rule.
            ScheduleNotFound: there is none.
            StoreError: an index holds a foreign type.
        """
        removed = await self._scripts.call("delete", check_schedule_id(schedule_id), self._history_ms)
        if removed == -1:
            raise StoreError("an index holds a type that headgate did not write")
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


def _position(cursor: str) -> str:
    try:
        return check_schedule_id(read_cursor("schedules", cursor))
    except InvalidRequest:
        raise InvalidCursor("cursor is not one that this list gave out") from None


def _stored(definition: ScheduleDefinition) -> dict[str, str]:
    fields = {name: str(getattr(definition, name)) for name in _OPTIONS}
    payload, fingerprint = definition.content()
    return fields | {
        "payload": payload,
        "payload_bytes": str(len(payload.encode())),
        "fingerprint": fingerprint,
        "zone": parse_spec(definition.spec).zone,
    }


def _flat(fields: dict[str, str]) -> list[str]:
    return [text for pair in fields.items() for text in pair]


def _arguments(schedule_id: str, record: dict[str, str], now_ms: int, spec: Spec, *, paused: bool) -> list[str | int]:
    """What the put script compares, and where the schedule will stand."""
    if record and record.get("spec") == spec.text:
        return [schedule_id, record["revision"], "keep", "", "", "", "", ""]
    last_tick_ms = int(record.get("last_tick_ms") or 0)
    if record and last_tick_ms > int(record["anchor_ms"]):
        raise StoreError(
            f"tick {last_tick_ms} of schedule {schedule_id} is queued and still lacks its event; mend its history first"
        )
    passed_ms, older = _passed(record, now_ms)
    # Never behind a decided tick, should the store's clock have gone back: the ledger would swallow what lies between.
    anchor_ms = max(now_ms, last_tick_ms)
    next_ms = spec.next_after(anchor_ms)
    return [
        schedule_id,
        record.get("revision", ""),
        f"{record.get('next_run_ms', '')},{record.get('last_tick_ms', '')}" if record else "",
        "" if next_ms is None else next_ms,
        anchor_ms,
        "1" if paused else "0",
        "" if passed_ms is None else passed_ms,
        "" if older is None else f"{older.from_ms},{older.until_ms}",
    ]


def _passed(record: dict[str, str], now_ms: int) -> tuple[int | None, TickRange | None]:
    """The latest tick that is due under the old spec, and the older due ones: a new spec passes them."""
    if not record.get("next_run_ms"):
        return None, None
    try:
        old = parse_spec(record["spec"])
    except InvalidSpec:
        return None, None
    first_ms, latest_ms = old.next_after(int(record["anchor_ms"])), old.latest_at_or_before(now_ms)
    if first_ms is None or latest_ms is None or first_ms > latest_ms:
        return None, None
    return latest_ms, passed_over(old, first_ms, latest_ms)
