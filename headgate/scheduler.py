"""The sweep loop: read what is due, plan it, fire it, sleep until something is due or a write wakes it.

Nothing that happens to the store ends the loop: a lost lease makes the process a standby, a store that is away or full
is one log line and a back-off, an unreadable record is put off by itself. What cannot be recorded when it happens is
remembered here, so that the tick's eventual event says how often and since when it was tried.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from typing import Final

import anyio

from headgate import metrics
from headgate.errors import (
    Conflict,
    HeadgateError,
    InvalidSpec,
    LeaseLost,
    NotFound,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from headgate.heart import Heart
from headgate.hooks import HookedBatch, Hooks
from headgate.log import log_event, where_raised
from headgate.pacing import Backoff, Wakeup
from headgate.planning import Sweep
from headgate.settings import MAX_PAGE
from headgate.store import Store
from headgate.store.control import BY_ITSELF
from headgate.store.ticks import DuePage, PlannedFire, Unrecorded
from headgate.store.wakeups import Wakeups

_IN_FLIGHT: Final = 2
"""Fires under way at once: the server works on one while the next is planned and packed."""
_RETRY_SECONDS: Final = 1.0
"""After a sweep with failures, look again no later than the first of them may be tried again."""
_NEWS_SECONDS: Final = 0.02
"""How much earlier than planned something must be due to be news: less is the jitter of two answers."""
_MEND_SECONDS: Final = 600.0
"""How often the indexes are looked through though a heartbeat finds them whole: it only counts some of them."""
_MAX_REMEMBERED: Final = 10_000


class Scheduler:
    """One contender for the scheduler duty; run as many as you like, one of them sweeps.

    Args:
        store: the namespace to schedule for.
        wakeups: where writes are announced.
        heart: contends for the duty ``scheduler``; the caller keeps it.
        hooks: what an application has to say of its ticks; without any, payloads never leave the store.

    Attributes:
        heart: as given.
        duty: its scheduler duty.
        page: what the last sweep read; None before the first.
    """

    def __init__(self, store: Store, wakeups: Wakeups, heart: Heart, hooks: Hooks | None = None) -> None:
        self.heart = heart
        self.duty = heart.duty("scheduler")
        self._store = store
        self._wakeups = wakeups
        self._hooks = hooks or Hooks()
        self.page: DuePage | None = None
        self._beaten = heart.watch()
        self._wake = Wakeup()
        self._mend = Wakeup()
        self._wake_at = 0.0
        self._mend_at = math.inf
        self._backoff = Backoff(store.settings.backoff_min_ms, store.settings.backoff_max_ms)
        self._unrecorded: dict[str, Unrecorded] = {}
        self._ahead_ms = 0.0  # store time before the process's clock, as the last sweep found it

    async def run(self) -> None:
        """Sweep while the duty is this process's, until cancelled; the heart keeps the lease and gives it up."""
        async with anyio.create_task_group() as tasks:
            backoff = Backoff(self._store.settings.backoff_min_ms, self._store.settings.backoff_max_ms)
            tasks.start_soon(self._wakeups.follow, self._heed, backoff)
            tasks.start_soon(self._heed_heartbeats)
            tasks.start_soon(self._mend_indexes)
            await self._sweep_for_ever()

    async def sweep(self) -> float:
        """One bounded pass over what is due now, all of it under the lease that it began with.

        Returns:
            Seconds, on the process's clock, until something else is due; 0 when there was more than fits one pass.

        Raises:
            LeaseLost: another process has the duty.
            StoreError: the store did not answer, refused, or holds something foreign.
        """
        token, started = self.duty.token, time.monotonic()
        page = self.page = await self._store.ticks.due(token, self._store.settings.sweep_limit)
        received = time.monotonic()
        self._ahead_ms = page.now_ms - received * 1000
        sweep = Sweep(page, self._unrecorded)
        failures = await self._fire_all(token, sweep.batches(), page.now_ms)
        failures += await self._fire_none(token, page, sweep)
        resumed = await self._resume(token, page)
        metrics.observe_sweep(len(page.rows), time.monotonic() - started)
        if resumed or page.full:
            return 0.0
        self._unrecorded.clear()  # all that is due was decided; the rest was deleted meanwhile
        seconds = math.inf if sweep.due_next_ms is None else (sweep.due_next_ms - page.now_ms) / 1000
        if failures:
            seconds = min(seconds, _RETRY_SECONDS)
        return max(0.0, seconds - (time.monotonic() - received))

    async def _sweep_for_ever(self) -> None:
        while True:
            token = self.duty.token
            # Without the duty, or with nothing due, the next heartbeat that learns otherwise wakes this up.
            seconds = await self._try_sweep(token) if self.duty.trusted else math.inf
            if seconds > 0:
                self._wake_at = time.monotonic() + seconds
                await self._wake.wait(seconds)

    async def _try_sweep(self, token: str) -> float:
        """One sweep; a fault becomes a wait."""
        try:
            seconds = await self.sweep()
        except LeaseLost:
            self.duty.lost(token)
            return math.inf
        except StoreError as error:
            await self._back_off(error.code, error.message)
            return 0.0
        except Exception as error:  # noqa: BLE001 - a fault of ours must not be the silent end of all schedules
            await self._back_off("internal_error", where_raised(error))
            return 0.0
        if self._backoff.failures:
            log_event(logging.INFO, "sweep.recovered", failures=self._backoff.failures)
            self._backoff.reset()
        return seconds

    async def _back_off(self, code: str, detail: str) -> None:
        if self._backoff.failures == 0:
            log_event(logging.WARNING, "sweep.failed", code=code, detail=detail)
        await anyio.sleep(self._backoff.next_ms() / 1000)

    async def _fire_all(self, token: str, batches: Iterator[list[PlannedFire]], now_ms: int) -> int:
        """Fire batches, planned as they are taken, two at a time. Returns how many schedules could not go on."""
        errors: list[HeadgateError] = []
        failures = 0

        async def drain() -> None:
            nonlocal failures
            for batch in batches:
                if errors:
                    return
                try:
                    failures += await self._fire(token, batch, now_ms)
                except HeadgateError as error:
                    errors.append(error)

        async with anyio.create_task_group() as tasks:
            for _ in range(_IN_FLIGHT):
                tasks.start_soon(drain)
        if errors:
            raise errors[0]
        return failures

    async def _fire(self, token: str, batch: list[PlannedFire], now_ms: int) -> int:
        hooked = HookedBatch(self._store, self._hooks, batch) if self._hooks else None
        try:
            decided = await hooked.before() if hooked else batch
            self._check_trust()  # hooks take their time
            results = await self._store.ticks.fire(token, decided)
        except StoreError as error:
            metrics.count_failed(error.code, len(batch))
            self._remember(batch, now_ms)
            raise
        metrics.count_fired(results, (each.plan.ticks for each in batch), self._ahead_ms + time.monotonic() * 1000)
        if hooked:
            await hooked.after(results)
        failures = 0
        for planned, result in zip(batch, results, strict=True):
            if planned.unrecorded is not None:
                self._unrecorded.pop(planned.row.id, None)
            last = result.rpartition(",")[2]
            if last == "unrecorded" or last.startswith("failed/"):
                failures += 1
                tick_ms = planned.plan.ticks[result.count(",")]
                log_event(logging.WARNING, "tick.failed", schedule=planned.row.id, tick_ms=tick_ms, result=last)
        return failures

    async def _fire_none(self, token: str, page: DuePage, sweep: Sweep) -> int:
        """See to schedules without a plan: record why, or go on from here."""
        for schedule_id in page.unreadable:
            log_event(logging.ERROR, "schedule.unreadable", schedule=schedule_id)
        for row, reason in sweep.unplannable:
            self._check_trust()
            log_event(logging.ERROR, "tick.failed", schedule=row.id, tick_ms=row.next_run_ms, result=f"failed/{reason}")
            if await self._store.ticks.fail(token, row, row.next_run_ms, reason):
                metrics.count_failed(reason)
        for row, next_run_ms in sweep.empty:
            self._check_trust()
            await self._store.ticks.reanchor(token, row, page.now_ms, next_run_ms)
        return len(sweep.unplannable)

    async def _resume(self, token: str, page: DuePage) -> int:
        """Let schedules go on whose pause was to end by now; how many did."""
        resumed = 0
        for schedule_id in page.resumable:
            self._check_trust()
            try:
                await self._store.control.resume(schedule_id, by=BY_ITSELF, token=token)
            except (NotFound, Conflict):  # somebody resumed or deleted it meanwhile
                continue
            except (InvalidSpec, StoreError) as error:
                if isinstance(error, StoreUnavailable | StoreFull):
                    raise
                log_event(logging.ERROR, "schedule.not_resumed", schedule=schedule_id, code=error.code)
                continue
            resumed += 1
            log_event(logging.INFO, "schedule.resumed", schedule=schedule_id)
        return resumed

    def _check_trust(self) -> None:
        if not self.duty.trusted:
            raise LeaseLost("the lease of the scheduler duty ran out")

    def _remember(self, batch: list[PlannedFire], now_ms: int) -> None:
        """Count attempts that the store could not take, within bounds, for the event that it will take one day."""
        for row, plan, earlier, _ in batch:
            if row.id in self._unrecorded or len(self._unrecorded) < _MAX_REMEMBERED:
                attempts, first_ms = (earlier.attempts, earlier.first_ms) if earlier else (0, now_ms)
                self._unrecorded[row.id] = Unrecorded(plan.ticks[0], attempts + 1, first_ms)

    def _heed(self, what: str) -> None:
        if what == "duty":
            self.heart.nudge()
        else:
            self._wake.set()

    async def _heed_heartbeats(self) -> None:
        """Wake up for what a heartbeat saw and no sweep could know."""
        while True:
            await self._beaten.wait(math.inf)
            heartbeat = self.heart.last
            assert heartbeat is not None
            standing = heartbeat.duties.get(self.duty.name)
            if standing is None or not standing.held:  # none: the heart has resigned
                continue
            if heartbeat.due_next_ms is not None:
                due_in = (heartbeat.due_next_ms - heartbeat.now_ms) / 1000
                if time.monotonic() + due_in + _NEWS_SECONDS < self._wake_at:
                    self._wake.set()
            if standing.granted:
                self._wake.set()
            if standing.granted or not heartbeat.index_whole or time.monotonic() > self._mend_at:
                self._mend_at = time.monotonic() + _MEND_SECONDS
                self._mend.set()

    async def _mend_indexes(self) -> None:
        """Put schedules back that are missing in the indexes: at the start of a term, and when a heartbeat says so."""
        broken = False
        while True:
            await self._mend.wait(math.inf)
            added, after, token = 0, "", self.duty.token
            try:
                while True:
                    after, count = await self._store.schedules.reindex(token, after, MAX_PAGE)
                    added += count
                    if not after:
                        break
            except HeadgateError as error:
                if not broken and not isinstance(error, LeaseLost):  # that is no fault of the index
                    log_event(logging.ERROR, "index.broken", code=error.code)
                broken = True
            else:
                broken = False
            if added:
                log_event(logging.WARNING, "index.mended", added=added)
                self._wake.set()
