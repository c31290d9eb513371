"""The sentence of an explanation, made from its facts alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from headgate.models import Explanation, JobState, Reason, TickCode
from headgate.spec.clock import Clock

_UTC: Final = Clock()
_UNITS: Final = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000), ("millisecond", 1))

SENTENCES: Final = {
    TickCode.ENQUEUED: "The tick of {at} became job {job_id}, which {job}.",
    TickCode.MADE_UP: "The tick of {at} did not run in its time and was made up for later{by}: "
    "it became job {job_id}, which {job}.",
    TickCode.IN_NO_GAP: "The tick of {at} is in no gap any more: it was made up for{by}, or deduplicated.",
    TickCode.UNIQUE_KEY: "The tick of {at} made no job, because job {job_id} held its unique key.",
    TickCode.OVERLAP: "The tick of {at} made no job, because the run before it, job {job_id}, was not over.",
    TickCode.ID_CONFLICT: "The tick of {at} made no job, because its id, {job_id}, was used before for other content.",
    TickCode.DISCARDED: "The tick of {at} was missed, and discarded{policy} in favour of {other}.",
    TickCode.QUARANTINED: "The tick of {at} was skipped, because its content was quarantined.",
    TickCode.TOO_LATE: "The tick of {at} was skipped, because it came too late.",
    TickCode.HOOK_SKIPPED: "The tick of {at} was skipped by a hook of the application.",
    TickCode.SPEC_CHANGED: "The tick of {at} was not decided yet when the spec was changed{by}; it did not run.",
    TickCode.PAUSED: "The tick of {at} did not run: the schedule was paused{by}{why}.",
    TickCode.PAUSED_NOW: "The tick of {at} is due, but the schedule is paused{since}{by}{why}{until}; {fate}.",
    TickCode.FAILING: "The tick of {at} has been failing since {from} because {reason}: "
    "tried {times}, next try at {retry}.",
    TickCode.BEHIND_FAILING: "The tick of {at} is due and not decided yet: the schedule has been failing at {other} "
    "since {from} because {reason}; tried {times}, next try at {retry}.",
    TickCode.OVERDUE: "The tick of {at} is due now and not decided yet, overdue by {span}{ended}.",
    TickCode.NOT_DUE: "The tick of {at} is not due yet: it will be in {span}{paused}.",
    TickCode.NOT_A_TICK: "{At} is not a tick of {spec}{nearest}.",
    TickCode.CLOCK_GAP: "{At} stands for {wall}, which the clock change skipped: {spec} has no tick there{nearest}.",
    TickCode.REPEATED: "{At} is the second time round of a time that the clock repeats: "
    "{spec} fires the first time only, at {other_at}{nearest}.",
    TickCode.BEFORE_SPEC: "{At} is a tick of the present spec, which counts only from {from}; "
    "it is none of the one in force then, {spec_text}{nearest}.",
    TickCode.BEFORE_CREATED: "{At} is before the schedule existed: it was created at {from}{nearest}.",
    TickCode.BEFORE_START: "{At} is before the schedule starts, at {from}{nearest}.",
    TickCode.AFTER_END: "{At} is after the schedule's end, at {end}{nearest}.",
    TickCode.FORGOTTEN: "The tick of {at} is older than the history that is kept, and in no gap: it counts as run.",
    TickCode.UNKNOWN: "Nothing that is kept says what became of {at}.",
    TickCode.DELETED: "The schedule was deleted{at_since}{by}; its history does not tell of {at}.",
}
JOBS: Final = {
    JobState.SCHEDULED: "waits for its time, {when}",
    JobState.AVAILABLE: "waits for a worker",
    JobState.RUNNING: "has been running since {when}",
    JobState.RETRYABLE: "waits for its next attempt, at {when}",
    JobState.QUARANTINED: "was set aside, because its content is quarantined",
    JobState.COMPLETED: "completed at {when}",
    JobState.ARCHIVED: "did not complete and was archived at {when}",
    JobState.CANCELLED: "was cancelled at {when}",
    JobState.UNDECODABLE: "could not be decoded by its actor, and ended at {when}",
    None: "has been removed since",
}
"""How the tick's own job stands, as the end of a sentence."""
REASONS: Final = {
    Reason.BACKPRESSURE: "its queue is full",
    Reason.HOOK_ERROR: "a hook of the application fails",
    Reason.INVALID_SPEC: "its spec is refused now",
    Reason.INVALID_REQUEST: "its record lacks what a job needs",
    Reason.STORE_ERROR: "the store holds what Headgate did not write there",
}
"""Why a tick is failing."""
EARLIER: Final = " It was a tick of an earlier spec{spec}."
DELETED_SINCE: Final = " The schedule has been deleted since."


def sentence(it: Explanation, clock: Clock, zone: str) -> str:
    """The whole answer in words.

    Args:
        it: an explanation without its sentence.
        clock: on which the tick is told.
        zone: that clock's name, '' for UTC.
    """
    words = _words(it, clock, zone)
    text = SENTENCES[it.code].format_map(words)
    if it.earlier_spec:
        text += EARLIER.format(spec=f", {it.spec}" if it.spec else "")
    if it.deleted and it.code is not TickCode.DELETED:
        text += DELETED_SINCE
    return text


def instant(ms: int, clock: Clock = _UTC, zone: str = "") -> str:
    """An instant (milliseconds) as in ``03:00 on 29 March 2026 (Europe/Berlin; 01:00 UTC)``; without zone in UTC."""
    utc = datetime.fromtimestamp(ms // 1000, UTC)
    try:
        local = clock.shown(ms) if zone else utc
    except OverflowError:  # the year 10000 has begun there
        local, zone = utc, ""
    if not zone:
        return f"{_time(utc, ms)} UTC on {_day(utc)}"
    other = "" if utc.date() == local.date() else f" on {_day(utc)}"
    return f"{_time(local, ms)} on {_day(local)} ({zone}; {_time(utc, ms)} UTC{other})"


def span(ms: int) -> str:
    """A duration (milliseconds) by its two largest units, as in ``2 hours 5 minutes``."""
    parts: list[tuple[int, str]] = []
    for unit, size in _UNITS:
        count, ms = divmod(ms, size)
        if count or parts:
            parts.append((count, unit))
    shown = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in parts[:2] if count]
    return " ".join(shown) or "0 milliseconds"


def _words(it: Explanation, clock: Clock, zone: str) -> dict[str, str]:
    at = instant(it.tick_ms, clock, zone)
    by, why = f" by {it.by}" if it.by else "", f" (“{it.why}”)" if it.why else ""

    def told(ms: int | None, before: str = "") -> str:
        return "" if ms is None else before + instant(ms)

    return {
        "at": at,
        "At": at,
        "job_id": it.job_id or "",
        "job": JOBS[it.job_state].format(when=told(it.job_at_ms)),
        "by": by,
        "why": why,
        "policy": f" by the policy {it.policy}" if it.policy else "",
        "other": "a later tick"
        if it.other_tick_ms is None
        else f"the tick of {instant(it.other_tick_ms, clock, zone)}",
        "other_at": told(it.other_tick_ms),
        "from": told(it.since_ms),
        "end": told(it.until_ms),
        "since": told(it.since_ms, " since "),
        "at_since": told(it.since_ms, " at "),
        "until": told(it.until_ms, " until "),
        "reason": REASONS.get(Reason(it.reason), it.reason) if it.code in _FAILING and it.reason else "",
        "times": "once" if it.attempts == 1 else f"{it.attempts} times",
        "retry": told(it.retry_at_ms),
        "span": span(abs(it.due_in_ms or 0)),
        "paused": _paused(it, by + why),
        "fate": _fate(it),
        "ended": ""
        if it.until_ms is None
        else f"; it was missed: the pause ended at {instant(it.until_ms)}, "
        f"and the policy {it.policy} decides once somebody schedules",
        "spec_text": it.spec or "",
        "wall": _time(datetime.fromisoformat(it.wall), 0) if it.wall else "",
        "spec": f"the spec {it.spec}" if it.spec else "",
        "nearest": _nearest(instant(ms, clock, zone) for ms in (it.before_ms, it.after_ms) if ms is not None),
    }


_FAILING: Final = (TickCode.FAILING, TickCode.BEHIND_FAILING)


def _paused(it: Explanation, by_whom: str) -> str:
    if it.since_ms is None:
        return ""
    ends = " and has to be resumed first" if it.until_ms is None else f" until {instant(it.until_ms)}"
    return f", but the schedule is paused{by_whom}{ends}"


def _fate(it: Explanation) -> str:
    over = it.until_ms is not None and it.store_time_ms > it.until_ms
    return "the pause is over, and it does not run" if over else "what becomes of it is decided when it is resumed"


def _nearest(ticks: Iterable[str]) -> str:
    told = list(ticks)
    if not told:
        return ""
    return f"; the nearest {'tick is' if len(told) == 1 else 'ticks are'} {' and '.join(told)}"


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B} {at.year}"


def _time(at: datetime, ms: int) -> str:
    if ms % 1000:
        return f"{at:%H:%M:%S}.{ms % 1000:03}"
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"
