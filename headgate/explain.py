"""What became of a tick, decided from what is kept of its schedule. Pure.

Several things can tell of a tick. They are asked in turn, and the first that knows it answers: a run by hand, an event,
a gap, the range on an event, the tick's own job, and last where the schedule stands and what its spec says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from headgate.changed import pause_at, policy_at, respec_of
from headgate.eras import era_at, eras_of, has_tick, spec_or_none
from headgate.models import (
    FINAL_STATES,
    Change,
    Event,
    Explanation,
    Gap,
    Job,
    JobState,
    ManualRun,
    Outcome,
    Schedule,
    TickCode,
    TickRange,
)
from headgate.names import tick_job_id
from headgate.sentences import sentence
from headgate.settings import MAX_MANUAL
from headgate.spec import Spec
from headgate.spec.clock import Clock
from headgate.standing import Found, by_standing

_NO_TICKS: Final = (
    *(TickCode.NOT_A_TICK, TickCode.CLOCK_GAP, TickCode.REPEATED, TickCode.UNKNOWN),
    *(TickCode.BEFORE_SPEC, TickCode.BEFORE_CREATED, TickCode.BEFORE_START, TickCode.AFTER_END),
)
"""Say nothing of a tick, and so nothing of whose it was."""
_WHOLE: Final = ("paused", "spec_changed")
"""The range on such an event was not run for the event's own reason; on others it was discarded."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """All that is kept of a schedule and one instant, as read at one instant of store time.

    Attributes:
        schedule: None for one that was deleted.
        events: newest first.
        gaps: oldest first.
        forgotten_ms: up to this instant (milliseconds) gaps were forgotten; 0 for none.
        runs: by hand, newest first.
        changes: newest first.
        job: the tick's own; None where there is none, or none any more.
    """

    schedule_id: str
    tick_ms: int
    now_ms: int
    schedule: Schedule | None
    events: Sequence[Event]
    gaps: Sequence[Gap]
    runs: Sequence[ManualRun]
    changes: Sequence[Change]
    job: Job | None
    forgotten_ms: int = 0


def explain(kept: Kept) -> Explanation:
    """The explanation of the tick that `kept` was read for."""
    return _Case(kept).explanation()


class _Case:
    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.tick = kept.tick_ms
        self.eras = eras_of(kept.schedule, kept.changes) if kept.schedule else []
        self.era = era_at(self.eras, self.tick)

    def explanation(self) -> Explanation:
        code, facts = (
            self._by_run()
            or self._by_event()
            or self._by_gap()
            or self._by_range()
            or self._by_job()
            or self._by_standing()
        )
        schedule = self.kept.schedule
        facts.setdefault("spec", self.era.text if self.era else None)
        it = Explanation(
            schedule_id=self.kept.schedule_id,
            tick_ms=self.tick,
            code=code,
            store_time_ms=self.kept.now_ms,
            deleted=schedule is None,
            earlier_spec=code not in _NO_TICKS and self._is_of_an_earlier_spec(),
            **facts,
        )
        spec = spec_or_none(it.spec or (schedule.spec if schedule else None))
        return msgspec.structs.replace(
            it, sentence=sentence(it, spec.clock if spec else Clock(), spec.zone if spec else "")
        )

    # what was recorded

    def _by_run(self) -> Found | None:
        """A range backfill that made up for it; one that was forced may have met a tick that had run."""
        if self._in_gap() or any(event.outcome is Outcome.ENQUEUED for event in self._events()):
            return None
        job = self.kept.job
        for run in self.kept.runs:
            if not self._covers(run) or (job and job.enqueued_at_ms != run.recorded_at_ms):
                continue
            facts: dict[str, Any] = {"recorded_at_ms": run.recorded_at_ms, "by": run.by}
            if job or self._all_became_jobs(run):
                return TickCode.MADE_UP, facts | {"outcome": run.outcome} | self._job()
            return TickCode.IN_NO_GAP, facts
        return None

    def _by_event(self) -> Found | None:
        event = next((event for event in self._events() if event.outcome is not Outcome.FAILED), None)
        if event is None:
            return None
        facts: dict[str, Any] = _told_by(event) | {"outcome": event.outcome, "reason": event.reason}
        facts["attempts"] = event.attempts
        if event.outcome is Outcome.ENQUEUED:
            return TickCode.ENQUEUED, facts | self._job()
        if event.outcome is Outcome.DEDUPLICATED:
            return TickCode(event.reason), facts | {"job_id": event.job_id}
        if event.discarded and event.reason in _WHOLE:
            facts["range"] = TickRange(from_ms=event.discarded.from_ms, until_ms=self.tick)
        return self._made_up(event) or self._unrun(event.reason, facts)

    def _by_gap(self) -> Found | None:
        for gap in self.kept.gaps:
            if gap.from_ms <= self.tick <= gap.until_ms and self._has_tick(spec_or_none(gap.spec)):
                facts = {"reason": gap.reason, "range": TickRange(from_ms=gap.from_ms, until_ms=gap.until_ms)}
                if gap.spec:
                    facts["spec"] = gap.spec
                event = self._event_around()
                return self._unrun(gap.reason, facts | (_told_by(event) if event else {}))
        return None

    def _by_range(self) -> Found | None:
        """An event still tells of a range whose gap is gone: made up for since, pushed out, or deleted."""
        event = self._event_around()
        if event is None or not self._has_tick(None):
            return None
        reason = event.reason if event.reason in _WHOLE else "discarded"
        return self._made_up(event) or self._unrun(
            reason, _told_by(event) | {"reason": reason, "range": event.discarded}
        )

    def _made_up(self, event: Event) -> Found | None:
        """A tick that did not run by its event, where that is not the last word on it."""
        if self._in_gap():
            return None
        facts: dict[str, Any] = _told_by(event)
        if self.kept.job:
            return TickCode.MADE_UP, facts | self._job()
        if self.era and self.tick > self.kept.forgotten_ms:
            return TickCode.IN_NO_GAP, facts
        # Its gap was forgotten, or removed with its schedule. Every backfill since would be among the runs by hand.
        runs = self.kept.runs
        if len(runs) < MAX_MANUAL or runs[-1].recorded_at_ms < event.recorded_at_ms:
            return None
        return TickCode.UNKNOWN, facts

    def _by_job(self) -> Found | None:
        """The job outlives the event, or the event could not be written yet."""
        schedule = self.kept.schedule
        if self.kept.job or (schedule and self.tick == schedule.last_tick_ms and self.tick > schedule.anchor_ms):
            return TickCode.ENQUEUED, self._job()
        return None

    def _by_standing(self) -> Found:
        kept = self.kept
        if kept.schedule is None:
            gone = next((change for change in kept.changes if change.what == "deleted"), None)
            return TickCode.DELETED, {"since_ms": gone.at_ms, "by": gone.by} if gone else {}
        return by_standing(kept.schedule, self.eras, kept.events, kept.forgotten_ms, self.tick, kept.now_ms)

    # the facts of it

    def _events(self) -> list[Event]:
        return [event for event in self.kept.events if event.tick_ms == self.tick]

    def _event_around(self) -> Event | None:
        """The event whose range has the tick."""
        for event in self.kept.events:
            if event.discarded and event.discarded.from_ms <= self.tick <= event.discarded.until_ms:
                return event
        return None

    def _in_gap(self) -> bool:
        return any(gap.from_ms <= self.tick <= gap.until_ms for gap in self.kept.gaps)

    def _covers(self, run: ManualRun) -> bool:
        """Whether the tick is one of those that a range backfill went through."""
        if run.from_ms is None or run.until_ms is None or not run.from_ms <= self.tick <= run.until_ms:
            return False
        return self._has_tick(None) and all(has_tick(spec, self.tick) for spec in self._forced())

    def _all_became_jobs(self, run: ManualRun) -> bool:
        """Whether each tick that a range backfill went through became a job: some may have been queued before."""
        if run.from_ms is None or run.until_ms is None or run.count is None:
            return False
        if self.tick == run.tick_ms:
            return True
        specs = [self.era.spec if self.era else None, *self._forced()]
        counts = [spec and len(spec.latest_n(run.count + 1, run.from_ms - 1, run.until_ms)) for spec in specs]
        return all(count == run.count for count in counts)

    def _forced(self) -> list[Spec]:
        """The present spec, where a backfill may have been forced: it goes by that one, whatever was in force then."""
        schedule = self.kept.schedule
        if schedule is None or self.tick > max(schedule.created_at_ms, self.kept.forgotten_ms):
            return []
        present = spec_or_none(schedule.spec)
        return [present] if present else []

    def _job(self) -> dict[str, Any]:
        job = self.kept.job
        facts: dict[str, Any] = {"job_id": tick_job_id(self.kept.schedule_id, self.tick)}
        if job is None:
            return facts
        at_ms = job.available_at_ms
        if job.state in FINAL_STATES:
            at_ms = job.finished_at_ms or at_ms
        elif job.state is JobState.RUNNING:
            at_ms = job.started_at_ms or at_ms
        return facts | {"job_state": job.state, "job_at_ms": at_ms}

    def _unrun(self, reason: str, facts: dict[str, Any]) -> Found:
        """A tick of a gap: what is behind the reason."""
        if reason == "discarded":
            facts["policy"] = policy_at(self.kept.schedule, self.kept.changes, facts.get("recorded_at_ms"))
            if event := self._event_around():
                facts["other_tick_ms"] = event.tick_ms
        elif reason == "paused" and (pause := pause_at(self.kept.changes, facts.get("recorded_at_ms", self.tick))):
            facts |= {"by": pause.by, "why": pause.fields.get("reason", [None, None])[1], "since_ms": pause.at_ms}
        elif reason == "spec_changed" and (change := respec_of(self.kept.changes, self.tick)):
            facts |= {"by": change.by}
        return TickCode(reason), facts

    def _has_tick(self, spec: Spec | None) -> bool:
        """Whether the tick is one of a spec, or of the one in force then; taken to be where nobody knows."""
        spec = spec or (self.era.spec if self.era else None)
        return spec is None or has_tick(spec, self.tick)

    def _is_of_an_earlier_spec(self) -> bool:
        present = spec_or_none(self.kept.schedule.spec) if self.kept.schedule else None
        return present is not None and not has_tick(present, self.tick)


def _told_by(event: Event) -> dict[str, Any]:
    return {"event_id": event.event_id, "recorded_at_ms": event.recorded_at_ms}
