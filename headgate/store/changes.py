"""Who changed what of a schedule, and writers that insist on the revision they read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headgate.errors import RevisionMismatch, StoreError
from headgate.models import Change, ChangePage, Schedule, check_range
from headgate.names import check_schedule_id
from headgate.settings import MAX_CHANGES, MAX_REVISION
from headgate.store.paging import check_limit, page_of
from headgate.store.scripts import Scripts


class Changes:
    """The logs of changes of one namespace: the newest 50 of each schedule."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def list(self, schedule_id: str, *, limit: int = 30, cursor: str | None = None) -> ChangePage:
        """A page of 1 to 50 changes, newest first. They outlive the schedule as its events do.

        Raises:
            InvalidRequest: the id or the limit breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        check_schedule_id(schedule_id)
        check_limit(limit, MAX_CHANGES)
        texts: list[str] = await self._scripts.call("kept", "changes", schedule_id)
        changes = [change_from(text) for text in texts]
        scope = f"changes/{schedule_id}"
        page, following = page_of(changes, scope, cursor, limit, name=lambda change: f"{change.revision} {change.what}")
        return ChangePage(changes=page, next_cursor=following)


def change_text(what: str, by: str, fields: Mapping[str, Sequence[str | None]], anchor_ms: int | None = None) -> str:
    """A change as the scripts take it: JSON without its first brace. Of payload and headers only that they changed.

    `anchor_ms` is where a schedule counts from (milliseconds) whose spec or bounds it changes.
    """
    told = {name: pair for name, pair in fields.items() if pair[0] != pair[1]}
    moved = {name: [] if name in {"payload", "headers"} else list(pair) for name, pair in told.items()}
    said: dict[str, Any] = {"what": what, "by": by or None, "fields": moved}
    if anchor_ms is not None:
        said["anchor_ms"] = anchor_ms
    return json.dumps(said, ensure_ascii=False)[1:]


def revision_text(expected: int | None) -> str:
    """A revision that a writer expects, as scripts take it; raises `InvalidRequest` unless it can be one."""
    if expected is None:
        return ""
    check_range("expected_revision", expected, 0, MAX_REVISION)
    return str(expected)


def check_revision(schedule_id: str, schedule: Schedule | None, expected: int | None) -> None:
    """Raise `RevisionMismatch` unless the schedule is as its writer read it; 0 stands for one that does not exist."""
    if expected is None:
        return
    check_range("expected_revision", expected, 0, MAX_REVISION)
    found = schedule.revision if schedule else 0
    if found != expected:
        raise RevisionMismatch(
            f"schedule {schedule_id} has revision {found}, not {expected}", field="revision", current=schedule
        )


def change_from(text: str) -> Change:
    """A change as stored; raises `StoreError` when it is not what Headgate writes."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
        return msgspec.convert(fields, Change, strict=False)
    except msgspec.MsgspecError:
        raise StoreError("the log of changes holds an entry that headgate did not write") from None
