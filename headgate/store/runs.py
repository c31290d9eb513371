"""Runs that were asked for by hand: extra ones and ticks made up for, the newest 100 of each schedule."""

from __future__ import annotations

import msgspec

from headgate.errors import StoreError
from headgate.models import ManualRun, ManualRunPage
from headgate.names import check_schedule_id
from headgate.settings import MAX_MANUAL
from headgate.store.paging import check_limit, page_of
from headgate.store.scripts import Scripts


class Runs:
    """The runs by hand of one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def list(self, schedule_id: str, *, limit: int = 30, cursor: str | None = None) -> ManualRunPage:
        """A page of 1 to 100 runs, newest first.

        Raises:
            InvalidRequest: the id or the limit breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        check_schedule_id(schedule_id)
        check_limit(limit, MAX_MANUAL)
        texts: list[str] = await self._scripts.call("kept", "manual", schedule_id)
        runs = [run_from(text) for text in texts]
        scope = f"manual/{schedule_id}"
        page, following = page_of(runs, scope, cursor, limit, name=lambda run: f"{run.recorded_at_ms} {run.job_id}")
        return ManualRunPage(runs=page, next_cursor=following)


def run_from(text: str) -> ManualRun:
    """A run by hand as stored; raises `StoreError` when it is not what Headgate writes."""
    try:
        return msgspec.json.decode(text, type=ManualRun)
    except msgspec.MsgspecError:
        raise StoreError("the list of runs by hand holds an entry that headgate did not write") from None
