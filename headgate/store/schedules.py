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
from headgate.jsontext import canonical
from headgate.log import log_event
from headgate.missed import passed_over
from headgate.models import Overlap, Schedule, ScheduleDefinition, TickRange, check_labels, check_text
from headgate.names import check_id_prefix, check_schedule_id
from headgate.settings import MAX_EXAMINED, MAX_PAGE, MAX_WHO
from headgate.spec import Spec, parse_spec
from headgate.store.changes import change_text, check_revision
from headgate.store.leases import check_lease
from headgate.store.paging import check_limit, read_cursor, write_cursor
from headgate.store.records import SCHEDULE_FIELDS, pairs, schedule_from
from headgate.store.scripts import Scripts
from headgate.store.timing import check_jitter, timing_from, timing_of

_TRIES: Final = 10
_OPTIONS: Final = (
    *("kind", "spec", "queue", "priority", "max_attempts", "timeout_ms", "retention_ms", "on_missed", "backfill_limit"),
    *(
        "description",
        "overlap",
        "max_lateness_ms",
        "starts_at_ms",
        "ends_at_ms",
        "jitter_ms",
        "unique_key",
        "deadline_ms",
    ),
    "owner",
)
_TIMING: Final = ("spec", "starts_at_ms", "ends_at_ms")
_RULES: Final = ("max_lateness_ms", "jitter_ms", "unique_key", "deadline_ms", "headers")


class PutResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a put did: `change` is ``created``, ``updated`` or ``unchanged``."""

    schedule: Schedule
    change: str


class SchedulePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of schedules without payloads; `next_cursor` continues the list, None at its end.

    Attributes:
        examined: schedules that were looked at for it.
    """

    schedules: list[Schedule]
    next_cursor: str | None
    examined: int


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
        fields = _stored(definition)
        for tried in range(_TRIES):
            now_text, flat = await self._scripts.call("get", schedule_id)
            record = pairs(flat)
            stored = schedule_from(record) if record else None  # refuses what Headgate did not write
            same = stored is not None and all(record.get(name) == value for name, value in fields.items())
            if not (tried and same):  # else this may be the write itself, whose first answer was lost
                check_revision(schedule_id, stored, expected_revision)
            if stored and same:
                return PutResult(schedule=stored, change="unchanged")
            standing = _standing(schedule_id, record, int(now_text), spec, fields, paused=paused)
            change = _change(record, fields, by, standing)
            word, *answer = await self._scripts.call("put", *standing, change, *_flat(fields))
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
    ) -> SchedulePage:
        """A page of schedules by id, 1 to 200. Stable under writes: a schedule that stays is listed exactly once.

        A record that Headgate did not write is passed over and logged, so a page may be shorter than `limit`. With a
        filter a page looks at 1,000 schedules at most, and may be shorter for that too; `examined` says at how many.

        Args:
            limit: most schedules of the page.
            cursor: where the page before ended; of a list with the same filters.
            prefix: only ids that begin so.
            label: only those with this label: ``name`` or ``name=value``.
            paused: only those that are paused, or only those that are not.
            failing: only those whose due tick does not get through, or only the others.

        Raises:
            InvalidRequest: a limit or a filter breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        check_limit(limit, MAX_PAGE)
        if prefix:
            check_id_prefix(prefix)
        after = _position(cursor) if cursor is not None else ""
        filters = (_label_text(label), _flag(paused), _flag(failing))
        last, examined, *rows = await self._scripts.call(
            "list", after, limit, prefix, MAX_EXAMINED, *filters, *SCHEDULE_FIELDS
        )
        schedules = []
        for row in rows:
            try:
                schedules.append(schedule_from(dict(zip(SCHEDULE_FIELDS, row, strict=True))))
            except StoreError as error:  # one damaged record must not hide the others
                log_event(logging.ERROR, "schedule.unreadable", schedule=row[0], code=error.code)
        following = write_cursor("schedules", last) if last else None
        return SchedulePage(schedules=schedules, next_cursor=following, examined=examined)

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
        expected = "" if expected_revision is None else str(expected_revision)
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


def _position(cursor: str) -> str:
    try:
        return check_schedule_id(read_cursor("schedules", cursor))
    except InvalidRequest:
        raise InvalidCursor("cursor is not one that this list gave out") from None


def _stored(definition: ScheduleDefinition) -> dict[str, str]:
    fields = {name: _text(getattr(definition, name)) for name in _OPTIONS}
    payload, fingerprint = definition.content()
    maps = {name: canonical(getattr(definition, name), field=name) for name in ("labels", "headers")}
    ruled = definition.overlap != Overlap.ALLOW or any(getattr(definition, name) for name in _RULES)
    return (
        fields
        | maps
        | {
            "payload": payload,
            "payload_bytes": str(len(payload.encode())),
            "fingerprint": fingerprint,
            "zone": parse_spec(definition.spec).zone,
            "rules": "1" if ruled else "",
        }
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _flag(value: bool | None) -> str:
    return "" if value is None else str(int(value))


def _label_text(label: str) -> str:
    """A label as its record has it, for a search in the text: ``name`` with any value, or ``name=value``."""
    if not label:
        return ""
    name, equals, value = label.partition("=")
    try:
        check_labels({name: value if equals else name})
    except InvalidRequest as error:
        raise InvalidRequest(error.message, field="label") from None
    return f"{canonical(name)}:{canonical(value)}" if equals else f"{canonical(name)}:"


def _change(record: dict[str, str], fields: dict[str, str], by: str, standing: Sequence[str | int]) -> str:
    if not record:
        return change_text("created", by, {})
    _id, _revision, as_read, _next, anchor_ms, *_ = standing
    return change_text("updated", by, _moved(record, fields), None if as_read == "keep" else int(anchor_ms))


def _moved(record: dict[str, str], fields: dict[str, str]) -> dict[str, list[str | None]]:
    """From what to what, of the fields that a write moves."""
    derived = {"payload_bytes", "fingerprint", "zone", "rules"}
    return {
        name: [record.get(name), value]
        for name, value in fields.items()
        if name not in derived and record.get(name, "") != value
    }


def _flat(fields: dict[str, str]) -> list[str]:
    return [text for pair in fields.items() for text in pair]


def _standing(
    schedule_id: str, record: dict[str, str], now_ms: int, spec: Spec, fields: dict[str, str], *, paused: bool
) -> list[str | int]:
    """What the put script compares, and where the schedule will stand."""
    if record and all((record.get(name) or "") == fields[name] for name in _TIMING):
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
    """The latest tick that is due under the old spec, paused or not, and the older due ones: a new spec passes them."""
    if not record:
        return None, None
    try:
        old = timing_from(record)
    except InvalidSpec:
        return None, None
    first_ms, latest_ms = old.next_after(int(record["anchor_ms"])), old.latest_at_or_before(now_ms)
    if first_ms is None or latest_ms is None or first_ms > latest_ms:
        return None, None
    return latest_ms, passed_over(old, first_ms, latest_ms)
