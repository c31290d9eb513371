"""What fires next: of one schedule, of a spec, of all schedules together. Reads alone; store time is the present.

Ticks are the schedules': a jitter may let their jobs run somewhat later.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, Literal

import anyio.to_thread
import msgspec

from headgate.errors import InvalidRequest, InvalidSpec, ScheduleNotFound
from headgate.log import log_event
from headgate.models import check_range
from headgate.names import check_schedule_id
from headgate.preview import MAX_PREVIEW, PreviewedTick, preview_ticks
from headgate.settings import MAX_DURATION_MS, MAX_INSTANT_MS
from headgate.spec import Spec, SpecWarning, bounded, parse_spec, warnings
from headgate.store.records import pairs, schedule_from
from headgate.store.scripts import Scripts
from headgate.store.timing import check_jitter, timing_from, timing_of
from headgate.upcoming import MAX_UPCOMING, Entry, UpcomingInstant, merge

_FIELDS: Final = ("id", "spec", "starts_at_ms", "ends_at_ms", "next_run_ms", "anchor_ms", "paused", "paused_until_ms")


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a spec means, and its next ticks.

    Attributes:
        description: in plain English, with its zone.
        zone: whose clock it is read on; '' for UTC.
        warnings: what may surprise about it.
        store_time_ms: the present.
        ticks: those after it, or after the instant that was named; fewer than asked for if the spec ends.
    """

    spec: str
    zone: str
    description: str
    warnings: list[SpecWarning]
    store_time_ms: int
    ticks: list[PreviewedTick]


class NextTicks(Preview, frozen=True, kw_only=True):
    """The same of a schedule.

    Attributes:
        reason: why there are no ticks: ``paused``, or ``finished`` when none is to come; also ``paused`` where there
            are some, but only after the pause ends by itself; else null.
        paused_until_ms: when that pause ends; null for none, and for one that somebody has to end.
    """

    schedule_id: str
    reason: Literal["paused", "finished"] | None
    paused_until_ms: int | None


class UpcomingTicks(msgspec.Struct, frozen=True, kw_only=True):
    """What all schedules fire next. Paused ones do so after the end of their pause, if it has one.

    Attributes:
        complete_until_ms: every tick from store time up to here is in it.
        instants: oldest first.
        schedules: how many were looked at.
    """

    store_time_ms: int
    until_ms: int
    complete_until_ms: int
    instants: list[UpcomingInstant]
    schedules: int


class Upcoming:
    """What fires next in one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def of(self, schedule_id: str, n: int = 10) -> NextTicks:
        """The next `n` ticks of a schedule after store time, 1 to 1,000; of a paused one those after its pause.

        There are none while it is paused until somebody resumes it, and when it is finished.

        Raises:
            InvalidRequest: a value breaks its rule.
            ScheduleNotFound: there is none of that id.
            InvalidSpec: its spec is refused now, for instance because its zone left the zone database.
        """
        check_range("n", n, 1, MAX_PREVIEW)
        now, flat = await self._scripts.call("get", check_schedule_id(schedule_id))
        if not flat:
            raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
        schedule = schedule_from(pairs(flat))
        # Behind the anchor nothing fires again, should the store's clock have gone back.
        ends_ms = schedule.pause.until_ms if schedule.pause else None
        after_ms = max(int(now), schedule.anchor_ms, ends_ms or 0)
        barred = schedule.paused and ends_ms is None
        preview = await _previewed(timing_of(schedule), int(now), after_ms, 0 if barred else n)
        reason: Literal["paused", "finished"] | None = None
        if schedule.paused or not preview.ticks:
            reason = "paused" if schedule.paused else "finished"
        facts = msgspec.structs.asdict(preview)
        return NextTicks(schedule_id=schedule.id, reason=reason, paused_until_ms=ends_ms, **facts)

    async def preview(
        self,
        spec: str,
        n: int = 10,
        *,
        starts_at_ms: int | None = None,
        ends_at_ms: int | None = None,
        jitter_ms: int = 0,
        after_ms: int | None = None,
    ) -> Preview:
        """The next `n` ticks of a spec, 1 to 1,000, within bounds; nothing is stored.

        Args:
            spec: when, see `headgate.spec`.
            n: how many.
            starts_at_ms: no tick before this instant.
            ends_at_ms: no tick after this instant.
            jitter_ms: checked as a schedule's is; it moves jobs and no ticks.
            after_ms: they come after this instant; None for store time.

        Raises:
            InvalidRequest: a value breaks its rule.
            InvalidSpec: the grammar refuses the spec.
        """
        check_range("n", n, 1, MAX_PREVIEW)
        check_range("jitter_ms", jitter_ms, 0, MAX_DURATION_MS)
        for field, value in (("starts_at_ms", starts_at_ms), ("ends_at_ms", ends_at_ms), ("after_ms", after_ms)):
            if value is not None:
                check_range(field, value, 0, MAX_INSTANT_MS)
        if starts_at_ms is not None and ends_at_ms is not None and ends_at_ms < starts_at_ms:
            raise InvalidRequest(f"ends_at_ms {ends_at_ms} is before starts_at_ms {starts_at_ms}", field="ends_at_ms")
        timing = bounded(parse_spec(spec), starts_at_ms, ends_at_ms)
        check_jitter(jitter_ms, timing)
        now, _ = await self._scripts.call("upcoming", 0, 0)
        return await _previewed(timing, int(now), int(now) if after_ms is None else after_ms, n)

    async def all(self, until_ms: int, *, limit: int = MAX_UPCOMING) -> UpcomingTicks:
        """What all schedules fire after store time up to `until_ms`, by instant, cut where it stops being complete.

        The 1,000 schedules that are looked at next are read, and about `limit` ticks merged: an instant is whole or
        not there, and the first one always is. A schedule that fails counts from its next attempt, one whose pause ends
        by itself from there.

        Raises:
            InvalidRequest: `until_ms` is not after store time, or a value breaks its rule.
        """
        check_range("until_ms", until_ms, 0, MAX_INSTANT_MS)
        check_range("limit", limit, 1, MAX_UPCOMING)
        now, cut, *rows = await self._scripts.call("upcoming", until_ms, MAX_UPCOMING, *_FIELDS)
        now_ms = int(now)
        if until_ms <= now_ms:
            raise InvalidRequest(f"until_ms {until_ms} is not after store time {now_ms}", field="until_ms")
        # A schedule that was not read fires nothing before it is looked at.
        known_until_ms = max(now_ms, int(cut) - 1) if cut else until_ms
        instants, complete_until_ms = await anyio.to_thread.run_sync(
            lambda: merge(_entries(rows, now_ms), known_until_ms, limit)
        )
        return UpcomingTicks(
            store_time_ms=now_ms,
            until_ms=until_ms,
            complete_until_ms=complete_until_ms,
            instants=instants,
            schedules=len(rows),
        )


async def _previewed(spec: Spec, now_ms: int, after_ms: int, n: int) -> Preview:
    """In a thread: a thousand ticks of a rare cron spec take a quarter of a second."""

    def work() -> Preview:
        return Preview(
            spec=spec.text,
            zone=spec.zone,
            description=spec.describe(),
            warnings=warnings(spec, now_ms),
            store_time_ms=now_ms,
            ticks=preview_ticks(spec, after_ms, n) if n else [],
        )

    return await anyio.to_thread.run_sync(work)


def _entries(rows: Sequence[Sequence[str | None]], now_ms: int) -> Iterator[Entry]:
    for looked_at, *values in rows:
        record = dict(zip(_FIELDS, values, strict=True))
        schedule_id = record["id"] or ""
        timing = partial(timing_from, record)
        try:
            first_ms = _first_after(record, int(looked_at or 0), now_ms)
        except (InvalidSpec, ValueError):
            log_event(logging.ERROR, "schedule.unreadable", schedule=schedule_id)
            continue
        if first_ms is not None:
            yield Entry(first_ms, schedule_id, timing)


def _first_after(record: dict[str, str | None], looked_at_ms: int, now_ms: int) -> int | None:
    """The first tick that is to come. Most records name it, so that few specs need be compiled."""
    after_ms = max(now_ms, int(record["anchor_ms"] or 0))
    if record["paused"] == "1":
        until = record["paused_until_ms"]
        return timing_from(record).next_after(max(after_ms, int(until))) if until else None
    next_run_ms = int(record["next_run_ms"] or 0)
    if looked_at_ms == next_run_ms > now_ms:
        return next_run_ms
    return timing_from(record).next_after(max(after_ms, looked_at_ms - 1))
