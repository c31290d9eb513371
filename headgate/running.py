"""What a worker runs: the leases of its jobs go on, and a job that is another's or cancelled by now is stopped.

Renewal that comes late looks before it goes on. After an admission whose answer was lost, the store may have given this
worker jobs that it knows nothing of: they are handed back, as if nobody had had them.
"""

from __future__ import annotations

import logging
import time

import anyio
import msgspec

from headgate.log import code_of, log_event
from headgate.metrics import count_renewals_failed
from headgate.pacing import Backoff
from headgate.settings import Settings
from headgate.store.attempts import Attempts, Claim


class Running(msgspec.Struct, eq=False):
    """A claim, and what is known of it beside.

    Attributes:
        scope: around its handler.
        lost: it is another's by now; nothing is to be said of it.
        cancelled: an operator cancelled it.
        ended: its handler is over.
    """

    claim: Claim
    scope: anyio.CancelScope
    lost: bool = False
    cancelled: bool = False
    ended: bool = False

    @property
    def stoppable(self) -> bool:
        """Of one whose handler has ended, the store may have heard before it was asked."""
        return not (self.ended or self.lost or self.cancelled)


class RunningJobs:
    """The running jobs of one worker.

    Args:
        attempts: of the namespace.
        settings: its intervals.
        worker: the process id that jobs are claimed under.
        queues: where its jobs may come from.

    Attributes:
        handling: handlers that are not over.
        admitting: held from an admission's call until its jobs are known here, so that none of them is disowned.
    """

    def __init__(self, attempts: Attempts, settings: Settings, worker: str, queues: list[str]) -> None:
        self.handling = 0
        self.admitting = anyio.Lock()
        self._attempts = attempts
        self._settings = settings
        self._worker = worker
        self._queues = queues
        self._jobs: dict[str, Running] = {}
        self._uncertain_until = 0.0

    def __len__(self) -> int:
        return len(self._jobs)

    def begin(self, claim: Claim) -> Running:
        """Take a claim up; an older one of the same job, from before this process was away, is given up."""
        earlier = self._jobs.get(claim.id)
        if earlier is not None:
            self._lose(earlier)
        self.handling += 1
        running = self._jobs[claim.id] = Running(claim, anyio.CancelScope())
        return running

    def handled(self, running: Running) -> None:
        """Its handler is over."""
        running.ended = True
        self.handling -= 1

    def end(self, running: Running) -> None:
        """The store has heard of it, or nothing is to be said."""
        if self._jobs.get(running.claim.id) is running:
            del self._jobs[running.claim.id]

    def cancel(self, job_id: str) -> None:
        """An operator cancelled a job; if it runs here, its handler is stopped."""
        running = self._jobs.get(job_id)
        if running is not None and running.stoppable:
            log_event(logging.INFO, "job.cancelled", job=job_id)
            running.cancelled = True
            running.scope.cancel()

    def doubt(self) -> None:
        """The answer of an admission was lost, and may still be carried out for a while."""
        self._uncertain_until = time.monotonic() + self._settings.lease_ttl_ms / 1000

    async def keep(self) -> None:
        """Renew for ever: at a third of a lease's life, and soon after a renewal that failed."""
        settings = self._settings
        backoff, wait_s = Backoff(settings.backoff_min_ms, settings.backoff_max_ms), settings.heartbeat_ms / 1000
        while True:
            due = time.monotonic() + wait_s
            await anyio.sleep(wait_s)
            late_ms = (time.monotonic() - due) * 1000
            if late_ms > settings.lease_ttl_ms - settings.heartbeat_ms:
                log_event(logging.WARNING, "worker.blocked", worker=self._worker, late_ms=round(late_ms))
            try:
                await self._renew()
            except Exception as error:  # noqa: BLE001 - also a fault of ours must not end the application
                if backoff.failures == 0:
                    log_event(logging.WARNING, "worker.renewal_failed", worker=self._worker, code=code_of(error))
                wait_s = min(backoff.next_ms(), settings.heartbeat_ms) / 1000
            else:
                backoff.reset()
                wait_s = settings.heartbeat_ms / 1000

    async def _renew(self) -> None:
        await self._renew_known()
        if time.monotonic() < self._uncertain_until:
            async with self.admitting:
                count = await self._attempts.disown(self._worker, self._queues, list(self._jobs))
            if count:
                log_event(logging.WARNING, "worker.disowned", worker=self._worker, jobs=count)

    async def _renew_known(self) -> None:
        jobs = list(self._jobs.values())
        if not jobs:
            return
        try:
            renewed = await self._attempts.renew([each.claim for each in jobs], self._settings.lease_ttl_ms)
        except Exception:
            count_renewals_failed("job", len(jobs))
            raise
        for each in jobs:
            if each.claim.id in renewed.lost and each.stoppable:
                count_renewals_failed("job")
                self._lose(each)
            elif each.claim.id in renewed.cancelled:
                self.cancel(each.claim.id)

    def _lose(self, running: Running) -> None:
        log_event(logging.WARNING, "job.lost", job=running.claim.id)
        running.lost = True
        running.scope.cancel()
