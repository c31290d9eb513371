"""The jobs that a schedule's ticks became: a tick's job has one id, so they are found without an index of their own."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import groupby, islice
from typing import Final

from headgate.errors import InvalidSpec
from headgate.models import Job, JobPage
from headgate.names import check_schedule_id, tick_job_id
from headgate.settings import MAX_EVENTS_PAGE, MAX_PAGE
from headgate.spec import Spec
from headgate.store.events import Events
from headgate.store.paging import check_limit, foreign_cursor, read_cursor, write_cursor
from headgate.store.records import JOB_FIELDS, jobs_from, pairs
from headgate.store.scripts import Scripts
from headgate.store.timing import timing_from

_LOOK_AT: Final = 1_000
"""Ticks of one page; in a long pause or after a removal, few of them have a job."""


class ScheduleJobs:
    """The jobs of ticks in one namespace."""

    def __init__(self, scripts: Scripts, events: Events) -> None:
        self._scripts = scripts
        self._events = events

    async def list(self, schedule_id: str, *, limit: int = 50, cursor: str | None = None) -> JobPage:
        """A page of 1 to 200 jobs that a schedule's ticks became, the latest tick first, without payloads.

        Looked at are the ticks of its present spec since it was created, and those in its history; 1,000 a page, so a
        page may be shorter than `limit` or even empty while there is a next one.

        Raises:
            InvalidRequest: the id or the limit breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        check_schedule_id(schedule_id)
        check_limit(limit, MAX_PAGE)
        scope = f"schedule-jobs/{schedule_id}"
        before_ms = _instant(read_cursor(scope, cursor)) if cursor is not None else None
        ticks = await self._ticks(schedule_id, before_ms)
        found: list[Job] = []
        looked_at, last_ms = 0, 0
        while looked_at < _LOOK_AT and len(found) < limit:
            some = list(islice(ticks, min(MAX_PAGE, _LOOK_AT - looked_at)))
            if not some:
                return JobPage(jobs=found, next_cursor=None)
            ids = [tick_job_id(schedule_id, tick_ms) for tick_ms in some]
            jobs = jobs_from(await self._scripts.call("job_many", len(ids), *ids, *JOB_FIELDS))
            room = limit - len(found)
            found += jobs[:room]
            looked_at, last_ms = looked_at + len(some), some[-1]
            if len(jobs) > room:
                origin = found[-1].periodic_origin
                last_ms = origin.tick_ms if origin else last_ms
        return JobPage(jobs=found, next_cursor=write_cursor(scope, str(last_ms)))

    async def _ticks(self, schedule_id: str, before_ms: int | None) -> Iterator[int]:
        """Ticks before an instant, the latest first, each once."""
        now_text, flat = await self._scripts.call("get", schedule_id)
        record = pairs(flat)
        until_ms = int(now_text) if before_ms is None else before_ms - 1
        known = (await self._events.list(schedule_id, limit=MAX_EVENTS_PAGE)).events
        recorded = sorted({event.tick_ms for event in known if event.tick_ms <= until_ms}, reverse=True)
        try:
            spec = timing_from(record)
        except (InvalidSpec, ValueError):  # there is no schedule any more, or none that can be read
            return iter(recorded)
        walked = _walk(spec, until_ms, int(record.get("created_at_ms") or 0))
        return (tick for tick, _ in groupby(merge(walked, recorded, reverse=True)))


def _walk(spec: Spec, until_ms: int, since_ms: int) -> Iterator[int]:
    tick = spec.latest_at_or_before(until_ms)
    while tick is not None and tick >= since_ms:
        yield tick
        tick = spec.latest_at_or_before(tick - 1)


def _instant(position: str) -> int:
    if not (position.isdecimal() and len(position) <= 15):  # noqa: PLR2004 - digits a double holds exactly
        raise foreign_cursor()
    return int(position)
