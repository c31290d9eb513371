"""Explanations: one read of all that is kept of a tick, and what follows from it."""

from __future__ import annotations

from typing import Final

from headgate.errors import ScheduleNotFound, StoreError
from headgate.explain import Kept, explain
from headgate.models import Explanation, check_range
from headgate.names import check_schedule_id, tick_job_id
from headgate.settings import MAX_INSTANT_MS
from headgate.store.changes import change_from
from headgate.store.gaps import gap_from
from headgate.store.records import JOB_FIELDS, SCHEDULE_FIELDS, event_from, job_from, schedule_from
from headgate.store.runs import run_from
from headgate.store.scripts import Scripts

_FIELDS: Final = (*SCHEDULE_FIELDS, "forgotten_ms")


class Explains:
    """The answers to "did it run, and why not" in one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def explain(self, schedule_id: str, tick_ms: int) -> Explanation:
        """What became of a schedule's tick, or is to become of it; of an instant that is none, why it is none.

        One bounded read, right at one instant of store time; it works while the store refuses writes, and for as long
        as the history of a deleted schedule is kept.

        Args:
            schedule_id: which.
            tick_ms: the instant, 0 to the end of the year 9999, in milliseconds.

        Raises:
            InvalidRequest: the id or the instant breaks its rule.
            ScheduleNotFound: there is no such schedule, and no history of one.
            StoreError: something is kept there that Headgate did not write.
        """
        check_schedule_id(schedule_id)
        check_range("tick_ms", tick_ms, 0, MAX_INSTANT_MS)
        fields: tuple[str | int, ...] = (len(_FIELDS), *_FIELDS, *JOB_FIELDS)
        now, record, events, gaps, runs, changes, job = await self._scripts.call(
            "explain", schedule_id, tick_job_id(schedule_id, tick_ms), *fields
        )
        exists = record[0] is not None
        if not (exists or events or runs or changes):
            raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
        kept = Kept(
            schedule_id=schedule_id,
            tick_ms=tick_ms,
            now_ms=int(now),
            schedule=schedule_from(dict(zip(_FIELDS, record, strict=True))) if exists else None,
            events=[event_from(text) for text in events],
            gaps=[gap_from(text) for text in gaps],
            runs=[run_from(text) for text in runs],
            changes=[change_from(text) for text in changes],
            job=job_from(dict(zip(JOB_FIELDS, job, strict=True))) if job and job[0] is not None else None,
            forgotten_ms=_forgotten(record[-1]),
        )
        return explain(kept)


def _forgotten(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        raise StoreError("a stored schedule has a field that headgate did not write") from None
