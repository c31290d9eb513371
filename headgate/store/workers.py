"""Workers: the processes that work and live, as their heartbeats say."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from headgate.log import log_event
from headgate.models import WorkerPage, WorkerProcess
from headgate.settings import MAX_PAGE
from headgate.store.paging import check_limit, read_cursor, write_cursor
from headgate.store.scripts import Scripts

_FIELDS: Final = WorkerProcess.__struct_fields__[1:]


class Workers:
    """The workers of one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> WorkerPage:
        """A page of 1 to 200 workers by id; of more than 1,000 live processes, the others are left out.

        Raises:
            InvalidRequest: the limit breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        check_limit(limit, MAX_PAGE)
        after = read_cursor("workers", cursor) if cursor is not None else ""
        rows = sorted(await self._scripts.call("worker_list", *_FIELDS), key=_id_of)
        page = [row for row in rows if _id_of(row) > after][: limit + 1]
        following = write_cursor("workers", _id_of(page[limit - 1])) if len(page) > limit else None
        workers = [worker for row in page[:limit] if (worker := _worker(row)) is not None]
        return WorkerPage(workers=workers, next_cursor=following)


def _id_of(row: Sequence[str]) -> str:
    return row[0]


def _worker(row: Sequence[Any]) -> WorkerProcess | None:
    process_id, *values = row
    fields: dict[str, Any] = dict(zip(_FIELDS, values, strict=True)) | {"id": process_id}
    try:
        for name in ("queues", "kinds"):
            fields[name] = msgspec.json.decode(fields[name], type=list[str])
        return msgspec.convert(fields, WorkerProcess, strict=False)
    except (msgspec.MsgspecError, TypeError):
        log_event(logging.ERROR, "worker.unreadable", worker=process_id)
        return None
