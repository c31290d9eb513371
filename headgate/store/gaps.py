"""Gaps: ranges of a schedule's ticks that did not run, as they are stored and as they are listed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headgate.errors import InvalidSpec, StoreError
from headgate.models import Gap, GapPage
from headgate.spec import parse_spec
from headgate.store.paging import read_number, write_cursor


def gap_from(text: str) -> Gap:
    """A gap as stored; raises `StoreError` when it is not what Headgate writes."""
    try:
        return msgspec.json.decode(text, type=Gap)
    except msgspec.MsgspecError:
        raise StoreError("the gaps hold an entry that headgate did not write") from None


def page_of_gaps(gaps: Sequence[Gap], schedule_id: str, cursor: str | None, limit: int) -> GapPage:
    """A page of gaps, each with its count.

    A cursor is the instant at which the last gap of its page ended; the next page has the gaps that begin later. Gaps
    share no tick, so whatever is left of one that was met, should it grow, shrink or be split, begins no later and is
    not met again; one that was not met begins later, whatever becomes of the others.

    Args:
        gaps: all that are kept of the schedule, oldest first.
        schedule_id: whose.
        cursor: where the page before ended.
        limit: most gaps of the page.

    Raises:
        InvalidCursor: the cursor is not of this list.
    """
    scope = f"gaps/{schedule_id}"
    after_ms = read_number(scope, cursor) if cursor is not None else -1
    rest = [gap for gap in gaps if gap.from_ms > after_ms]
    page = rest[:limit]
    more = len(rest) > limit
    return GapPage(
        gaps=[_counted(gap) for gap in page], next_cursor=write_cursor(scope, str(page[-1].until_ms)) if more else None
    )


def _counted(gap: Gap) -> Gap:
    try:
        count = parse_spec(gap.spec).count(gap.from_ms - 1, gap.until_ms)
    except InvalidSpec:
        return gap
    return msgspec.structs.replace(gap, count=count)
