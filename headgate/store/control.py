"""Control: pause a schedule, and let it go on. Planned in Python from the record as read, applied if it still is so."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from headgate.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    NotPaused,
    RevisionMismatch,
    ScheduleNotFound,
    StoreError,
)
from headgate.missed import Resumption, plan_resumption
from headgate.models import MissedTicks, Schedule, check_range, check_text
from headgate.names import check_schedule_id
from headgate.settings import MAX_INSTANT_MS, MAX_TEXT, MAX_WHO
from headgate.store.changes import change_text, check_revision, revision_text
from headgate.store.leases import check_lease
from headgate.store.records import pairs, schedule_from
from headgate.store.scripts import Scripts
from headgate.store.timing import timing_of

_TRIES: Final = 10
BY_ITSELF: Final = "headgate"
"""Who resumes a schedule whose `until_ms` has come."""


class Control:
    """The pauses of one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def pause(
        self,
        schedule_id: str,
        *,
        reason: str = "",
        by: str = "",
        until_ms: int | None = None,
        expected_revision: int | None = None,
    ) -> Schedule:
        """Let a schedule fire no more. Atomic; one that is paused already gets the new reason, name and end.

        Args:
            schedule_id: which.
            reason: why, up to 1,000 characters.
            by: who, up to 200 characters.
            until_ms: when it resumes by itself, as with ``missed="none"``; None for never.
            expected_revision: refuse unless the schedule has this revision.

        Raises:
            InvalidRequest: a value breaks its rule, or `until_ms` has passed.
            ScheduleNotFound: there is none.
            RevisionMismatch: it has another revision.
        """
        check_schedule_id(schedule_id)
        check_text("reason", reason, MAX_TEXT)
        check_text("by", by, MAX_WHO)
        if until_ms is not None:
            check_range("until_ms", until_ms, 0, MAX_INSTANT_MS)
        expected_revision = await self._end_what_is_over(schedule_id, until_ms, expected_revision)
        until = "" if until_ms is None else str(until_ms)
        said = {"reason": [None, reason or None], "until_ms": [None, until or None]}
        expected = revision_text(expected_revision)
        [word] = await self._scripts.call(
            "pause", schedule_id, expected, reason, by, until, change_text("paused", by, said)
        )
        if word == "past":
            raise InvalidRequest(f"until_ms {until} has passed", field="until_ms")
        schedule = await self._get(schedule_id)
        if word == "revision":
            if _is_so(schedule, reason, by, until_ms):  # the repeat of a call whose answer was lost
                return schedule
            check_revision(schedule_id, schedule, expected_revision)
            raise Conflict(f"schedule {schedule_id} was changed by others meanwhile")
        _check_word(word, schedule_id)
        return schedule

    async def resume(
        self,
        schedule_id: str,
        *,
        missed: MissedTicks | str = MissedTicks.NONE,
        by: str = "",
        expected_revision: int | None = None,
        token: str = "",
    ) -> Schedule:
        """Let a paused schedule go on from now. Atomic.

        What stays unrun of the pause is one ``skipped/paused`` event with its range, and a gap.

        Args:
            schedule_id: which.
            missed: what becomes of the ticks of the pause.
            by: who, up to 200 characters.
            expected_revision: refuse unless the schedule has this revision.
            token: of the scheduler's lease, where it is the scheduler that resumes; from `until_ms` on, which came.

        Raises:
            InvalidRequest: a value breaks its rule.
            ScheduleNotFound: there is none.
            NotPaused: it is not paused; nothing was changed.
            RevisionMismatch: it has another revision.
            Conflict: others changed it each time.
            LeaseLost: the lease is not this token's.
        """
        check_schedule_id(schedule_id)
        check_text("by", by, MAX_WHO)
        if missed not in tuple(MissedTicks):
            raise InvalidRequest(f"missed must be one of {', '.join(MissedTicks)}", field="missed")
        for tried in range(_TRIES):
            now_text, flat = await self._scripts.call("get", schedule_id)
            schedule = self._found(schedule_id, flat)
            if tried and not schedule.paused:  # by somebody meanwhile, or by this call, whose first answer was lost
                return schedule
            check_revision(schedule_id, schedule, expected_revision)
            if not schedule.paused:
                raise NotPaused(f"schedule {schedule_id} is not paused")
            ends_at_ms = schedule.pause.until_ms if schedule.pause else None
            if token and (ends_at_ms is None or ends_at_ms > int(now_text)):
                raise Conflict(f"schedule {schedule_id} was paused anew meanwhile")
            # The pause ended when it was to end, whoever says so; what came due since was missed, not paused.
            now_ms = int(now_text) if ends_at_ms is None else min(int(now_text), ends_at_ms)
            plan = _plan(schedule, MissedTicks(missed), now_ms)
            change = change_text("resumed", by, {"missed": [None, str(missed)]})
            [word] = await self._scripts.call(
                "resume", token, schedule_id, schedule.revision, *_arguments(plan), change
            )
            if word != "moved":
                _check_word(word, schedule_id)
                return await self._get(schedule_id)
        raise Conflict(f"schedule {schedule_id} was changed by others {_TRIES} times in a row")

    async def _end_what_is_over(
        self, schedule_id: str, until_ms: int | None, expected_revision: int | None
    ) -> int | None:
        """A pause that was to end by now does not become part of a new one, though nobody was there to end it.

        Returns:
            The revision that the new pause is to expect.
        """
        now_text, flat = await self._scripts.call("get", schedule_id)
        schedule = schedule_from(pairs(flat)) if flat else None
        ends_at_ms = schedule.pause.until_ms if schedule and schedule.pause else None
        if schedule is None or ends_at_ms is None or ends_at_ms > int(now_text):
            return expected_revision
        check_revision(schedule_id, schedule, expected_revision)
        if until_ms is None or until_ms > int(now_text):  # else it is refused, and nothing is written
            with suppress(NotPaused, NotFound, RevisionMismatch):  # somebody else was there meanwhile
                resumed = await self.resume(schedule_id, by=BY_ITSELF, expected_revision=schedule.revision)
                return None if expected_revision is None else resumed.revision
        return expected_revision

    async def _get(self, schedule_id: str) -> Schedule:
        _now, flat = await self._scripts.call("get", schedule_id)
        return self._found(schedule_id, flat)

    @staticmethod
    def _found(schedule_id: str, flat: list[str]) -> Schedule:
        if not flat:
            raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
        return schedule_from(pairs(flat))


def _is_so(schedule: Schedule, reason: str, by: str, until_ms: int | None) -> bool:
    pause = schedule.pause
    return pause is not None and (pause.reason or "", pause.by or "", pause.until_ms) == (reason, by, until_ms)


def _plan(schedule: Schedule, missed: MissedTicks, now_ms: int) -> Resumption:
    if schedule.last_tick_ms is not None and schedule.last_tick_ms > schedule.anchor_ms:
        raise StoreError(
            f"tick {schedule.last_tick_ms} of schedule {schedule.id} is queued and still lacks its event; "
            "mend its history first"
        )
    wanted = {MissedTicks.NONE: 0, MissedTicks.RUN_ONCE: 1, MissedTicks.BACKFILL: schedule.backfill_limit}[missed]
    return plan_resumption(timing_of(schedule), schedule.anchor_ms, now_ms, wanted)


def _arguments(plan: Resumption) -> list[str | int]:
    return [
        "" if plan.unrun_ms is None else plan.unrun_ms,
        "" if plan.older is None else f"{plan.older.from_ms},{plan.older.until_ms}",
        plan.anchor_ms,
        "" if plan.next_run_ms is None else plan.next_run_ms,
        "" if plan.catch_up_ms is None else plan.catch_up_ms,
    ]


def _check_word(word: str, schedule_id: str) -> None:
    check_lease(word)
    if word == "missing":
        raise ScheduleNotFound(f"schedule {schedule_id} does not exist")
    if word == "broken":
        raise StoreError(f"a key of schedule {schedule_id} holds a type that headgate did not write")
