"""Pages of schedules: by id, or by what runs next; filters; and cursors that go on where a page ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from headgate.errors import InvalidRequest, StoreError
from headgate.jsontext import canonical
from headgate.log import log_event
from headgate.models import Schedule, check_labels
from headgate.names import check_id_prefix, check_schedule_id
from headgate.settings import MAX_EXAMINED, MAX_PAGE
from headgate.store.paging import check_limit, foreign_cursor, is_whole, read_cursor, write_cursor
from headgate.store.records import SCHEDULE_FIELDS, schedule_from
from headgate.store.scripts import Scripts

_BY_ID: Final = "schedules"
_BY_NEXT_RUN: Final = "schedules-next"


class Order(StrEnum):
    """What a list goes by."""

    ID = "id"
    NEXT_RUN = "next_run"
    """The next one to be looked at first; behind them those with no next run, by id."""


class SchedulePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of schedules without payloads; `next_cursor` continues the list, null at its end.

    Attributes:
        examined: schedules that were looked at for it.
    """

    schedules: list[Schedule]
    next_cursor: str | None
    examined: int


class Wanted(NamedTuple):
    """What a list is asked for; see `headgate.store.schedules.Schedules.list`."""

    limit: int
    prefix: str
    label: str
    paused: bool | None
    failing: bool | None

    def arguments(self) -> tuple[str | int, ...]:
        """As the scripts take it; raises `InvalidRequest` for a value that breaks its rule."""
        check_limit(self.limit, MAX_PAGE)
        if self.prefix:
            check_id_prefix(self.prefix)
        flags = ("" if flag is None else str(int(flag)) for flag in (self.paused, self.failing))
        return (self.limit, self.prefix, MAX_EXAMINED, _label_text(self.label), *flags)


async def page_by_id(scripts: Scripts, wanted: Wanted, cursor: str | None) -> SchedulePage:
    """A page in the order of ids."""
    asked = wanted.arguments()
    return await _resting_page(scripts, asked, _BY_ID, _position(_BY_ID, cursor) if cursor is not None else "", only="")


async def page_by_next_run(scripts: Scripts, wanted: Wanted, cursor: str | None) -> SchedulePage:
    """A page in the order of next runs.

    A schedule that fires moves back in this order: who pages on may meet it again.
    """
    asked = wanted.arguments()
    instant, schedule_id = _place(cursor) if cursor is not None else ("", "")
    examined = 0
    if instant or not schedule_id:
        last_ms, last, examined, *rows = await scripts.call("list_next", instant, schedule_id, *asked, *SCHEDULE_FIELDS)
        following = write_cursor(_BY_NEXT_RUN, f"{last_ms} {last}" if last else "- -")
        if rows or last:
            return SchedulePage(schedules=_read(rows), next_cursor=following, examined=examined)
    after = "" if schedule_id == "-" or instant else schedule_id
    page = await _resting_page(scripts, asked, _BY_NEXT_RUN, after, only="1")
    return msgspec.structs.replace(page, examined=page.examined + examined)


async def _resting_page(
    scripts: Scripts, asked: Sequence[str | int], scope: str, after: str, *, only: str
) -> SchedulePage:
    """A page by id: of all, or only of those that stand in no due index."""
    last, examined, *rows = await scripts.call("list", after, *asked, only, *SCHEDULE_FIELDS)
    position = f"- {last}" if only else last
    following = write_cursor(scope, position) if last else None
    return SchedulePage(schedules=_read(rows), next_cursor=following, examined=examined)


def _read(rows: Sequence[Sequence[Any]]) -> list[Schedule]:
    schedules = []
    for row in rows:
        try:
            schedules.append(schedule_from(dict(zip(SCHEDULE_FIELDS, row, strict=True))))
        except StoreError as error:  # one damaged record must not hide the others
            log_event(logging.ERROR, "schedule.unreadable", schedule=row[0], code=error.code)
    return schedules


def _position(scope: str, cursor: str) -> str:
    try:
        return check_schedule_id(read_cursor(scope, cursor))
    except InvalidRequest:
        raise foreign_cursor() from None


def _place(cursor: str) -> tuple[str, str]:
    """Instant and id to go on behind; without an instant, behind that id of those without a next run ('-' = any)."""
    instant, space, schedule_id = read_cursor(_BY_NEXT_RUN, cursor).partition(" ")
    # A schedule without a next run may stand at the end of the index, at infinity.
    number = instant == "inf" or is_whole(instant)
    if not space or not (number or instant == "-"):
        raise foreign_cursor()
    if schedule_id != "-" or number:
        try:
            check_schedule_id(schedule_id)
        except InvalidRequest:
            raise foreign_cursor() from None
    return (instant if number else ""), schedule_id


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
