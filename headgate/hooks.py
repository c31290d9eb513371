"""Enqueue hooks: see a tick before it becomes a job, and what became of it.

Before-hooks run at least once for a tick: a crash, or an answer that was lost, makes them run again. After-hooks run at
most once. All hooks of a batch run at the same time, each schedule's own within a time limit; one that fails or takes
too long fails its schedule alone, which stays due. Without hooks, payloads never leave the store.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, Final

import anyio
import msgspec

from headgate.errors import HeadgateError, HookFailed, SkipTick
from headgate.jsontext import canonical
from headgate.log import log_event, where_raised
from headgate.models import Backfilled, Decision, Enqueued, Outcome, Reason, Schedule, check_headers
from headgate.names import fingerprint, tick_job_id
from headgate.store import Store
from headgate.store.ticks import PlannedFire

_SECONDS: Final = 1.0


class Trigger(StrEnum):
    """Why a job is enqueued."""

    TICK = "tick"
    MANUAL = "manual"
    BACKFILL = "backfill"


class Enqueueing(msgspec.Struct, kw_only=True):
    """A job about to be enqueued. Hooks may set `payload` and add to `headers`; the rest is for reading.

    Attributes:
        schedule: the record, as read for this sweep.
        tick_ms: the tick; None for a run that was asked for.
        trigger: why.
        job_id: of the job that is to be; None for a run that was asked for, whose id is made with it.
        attempt: 1 for the first try at this tick.
        payload: what the actor will receive.
        headers: text by name, for the actor's context.
    """

    schedule: Schedule
    tick_ms: int | None
    trigger: Trigger
    job_id: str | None
    attempt: int
    payload: Any
    headers: dict[str, str]


BeforeHook = Callable[[Enqueueing], Awaitable[None]]
AfterHook = Callable[[Enqueueing, str, str], Awaitable[None]]


class Hooks:
    """The hooks of one application, in the order they were declared."""

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        self.before: list[BeforeHook] = []
        self.after: list[AfterHook] = []
        self._seconds = seconds

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    async def decide(self, jobs: Sequence[Enqueueing]) -> list[Decision]:
        """Run the before-hooks of these jobs at the same time. Never raises."""
        decisions = [Decision(word="fail")] * len(jobs)

        async def one(index: int, job: Enqueueing) -> None:
            decisions[index] = await self._decide(job)

        async with anyio.create_task_group() as tasks:
            for index, job in enumerate(jobs):
                tasks.start_soon(one, index, job)
        return decisions

    async def tell(self, jobs: Sequence[tuple[Enqueueing, str, str]]) -> None:
        """Run the after-hooks: job, outcome, reason. What they raise is logged. Never raises."""
        async with anyio.create_task_group() as tasks:
            for job, outcome, reason in jobs:
                for hook in self.after:
                    tasks.start_soon(self._tell, hook, job, outcome, reason)

    async def _decide(self, job: Enqueueing) -> Decision:
        try:
            with anyio.fail_after(self._seconds):
                for hook in self.before:
                    await hook(job)
            return _content(job)
        except SkipTick:
            return Decision(word="skip")
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a hook raises is that schedule's failure alone
            _log("hook.before_failed", job, error)
            return Decision(word="fail")

    async def _tell(self, hook: AfterHook, job: Enqueueing, outcome: str, reason: str) -> None:
        try:
            with anyio.fail_after(self._seconds):
                await hook(job, outcome, reason)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001 - the job is queued: nothing may undo that
            _log("hook.after_failed", job, error)


class HookedBatch:
    """One fire's worth of planned ticks on its way past the hooks of an application.

    Args:
        store: where the payloads are read.
        hooks: whose.
        batch: as planned.
    """

    def __init__(self, store: Store, hooks: Hooks, batch: Sequence[PlannedFire]) -> None:
        self._store = store
        self._hooks = hooks
        self._batch = batch
        self._jobs: list[list[Enqueueing]] = []

    async def before(self) -> list[PlannedFire]:
        """The batch with the hooks' decisions.

        A schedule whose record changed or cannot be read has none: the fire leaves it alone, or says what is wrong.

        Raises:
            StoreError: the records cannot be read.
        """
        records = await self._store.schedules.read_many([planned.row.id for planned in self._batch])
        self._jobs = [
            [_enqueueing(record, tick_ms) for tick_ms in planned.plan.ticks]
            if record is not None and str(record.revision) == planned.row.revision
            else []
            for planned, record in zip(self._batch, records, strict=True)
        ]
        decided = iter(await self._hooks.decide([job for jobs in self._jobs for job in jobs]))
        return [
            planned._replace(decisions=tuple(next(decided) for _ in jobs))
            for planned, jobs in zip(self._batch, self._jobs, strict=True)
        ]

    async def after(self, results: Sequence[str]) -> None:
        """Tell the after-hooks what became of each tick."""
        told: list[tuple[Enqueueing, str, str]] = []
        for jobs, result in zip(self._jobs, results, strict=True):
            for job, word in zip(jobs, result.split(","), strict=False):
                outcome, separator, reason = word.partition("/")
                if separator:
                    told.append((job, outcome, reason))
        await self._hooks.tell(told)


async def run_now(
    store: Store, hooks: Hooks, schedule_id: str, *, idempotency_key: str | None, by: str = ""
) -> Enqueued:
    """Queue one extra job of a schedule, past the hooks; see `headgate.store.producer.Producer.run_now`.

    Raises:
        SkipTick: a before-hook skipped it.
        HookFailed: a before-hook raised, or took too long.
    """
    if not hooks:
        return await store.producer.run_now(schedule_id, idempotency_key=idempotency_key, by=by)
    schedule = await store.schedules.get(schedule_id)
    job = Enqueueing(
        schedule=schedule,
        tick_ms=None,
        trigger=Trigger.MANUAL,
        job_id=None,
        attempt=1,
        payload=schedule.payload,
        headers=_headers(schedule),
    )
    [decision] = await hooks.decide([job])
    if decision.word == "skip":
        raise SkipTick(f"a hook skipped this run of schedule {schedule_id}")
    if decision.word == "fail":
        raise HookFailed(f"a hook failed at this run of schedule {schedule_id}")
    enqueued = await store.producer.run_now(schedule_id, idempotency_key=idempotency_key, by=by, decision=decision)
    if not (enqueued.replayed or enqueued.duplicate):
        job.job_id = enqueued.job_id
        await hooks.tell([(job, Outcome.ENQUEUED, Reason.ACCEPTED)])
    return enqueued


async def backfill(
    store: Store,
    hooks: Hooks,
    schedule_id: str,
    after_ms: int,
    until_ms: int,
    *,
    dry_run: bool = False,
    force: bool = False,
    by: str = "",
    idempotency_key: str | None = None,
) -> Backfilled:
    """Make up for ticks of the past, past the hooks; see `headgate.store.backfills.Backfills.run`.

    A tick that a before-hook skips or fails ends it there, and stays in its gap; `more_after_ms` passes over one that
    was skipped.
    """

    async def decide(schedule: Schedule, ticks: Sequence[int]) -> Sequence[Decision]:
        return await hooks.decide([_enqueueing(schedule, tick, Trigger.BACKFILL) for tick in ticks])

    async def tell(schedule: Schedule, ticks: Sequence[int], results: Sequence[str]) -> None:
        jobs = [_enqueueing(schedule, tick, Trigger.BACKFILL) for tick in ticks]
        words = [result.partition("/") for result in results]
        await hooks.tell([(job, outcome, reason) for job, (outcome, _, reason) in zip(jobs, words, strict=False)])

    return await store.backfills.run(
        *(schedule_id, after_ms, until_ms),
        dry_run=dry_run,
        force=force,
        by=by,
        idempotency_key=idempotency_key,
        decide=decide if hooks else None,
        tell=tell if hooks else None,
    )


def _enqueueing(schedule: Schedule, tick_ms: int, trigger: Trigger = Trigger.TICK) -> Enqueueing:
    failure = schedule.failure
    return Enqueueing(
        schedule=schedule,
        tick_ms=tick_ms,
        trigger=trigger,
        job_id=tick_job_id(schedule.id, tick_ms),
        attempt=failure.attempts + 1 if failure and failure.tick_ms == tick_ms else 1,
        payload=schedule.payload,
        headers=_headers(schedule),
    )


def _headers(schedule: Schedule) -> dict[str, str]:
    return {} if isinstance(schedule.headers, msgspec.UnsetType) else dict(schedule.headers)


def _content(job: Enqueueing) -> Decision:
    payload = canonical(job.payload)
    check_headers(job.headers)  # hooks may have put anything there
    return Decision(
        word="go",
        payload=payload,
        fingerprint=fingerprint(job.schedule.kind, payload),
        headers=canonical(job.headers, field="headers"),
    )


def _log(event: str, job: Enqueueing, error: BaseException) -> None:
    what = error.message if isinstance(error, HeadgateError) else where_raised(error)
    log_event(logging.WARNING, event, schedule=job.schedule.id, tick_ms=job.tick_ms, error=what)
