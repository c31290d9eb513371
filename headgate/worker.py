"""The worker: claim jobs up to its free capacity, run them, keep their leases, say what became of them.

A job is claimed under a lease and a number. The lease is renewed while the handler runs; the number fences every word
the worker says of the job, so one that was away too long cannot speak over the next. Renewal that comes late looks
before it goes on: what is another's by then is cancelled here and said out loud. Nothing a handler or the store does
ends the worker.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Sequence
from typing import Final

import anyio
import anyio.lowlevel
import msgspec

from headgate.errors import HeadgateError
from headgate.identity import new_process_id
from headgate.jsontext import canonical
from headgate.log import LOGGER, log_event, where_raised
from headgate.pacing import Backoff, Wakeup
from headgate.registry import Actor, Registry
from headgate.reporter import Reporter
from headgate.runner import Job, Middleware, Verdict, local_tick, run_attempt
from headgate.settings import Settings
from headgate.store import Store
from headgate.store.attempts import Claim, Report
from headgate.store.wakeups import Wakeups

NO_ACTOR: Final = "NoActor"
"""What stands as the error of a job that waits for a worker which knows its kind."""

_WAIT_FIRST_MS: Final = 1_000
_RETRY_LONGEST_MS: Final = 600_000
_ASIDE_LONGEST_MS: Final = 30_000
_LOOK_AT_LEAST_EVERY_S: Final = 6.0


class _Running(msgspec.Struct, eq=False):
    claim: Claim
    scope: anyio.CancelScope
    lost: bool = False
    ended: bool = False


class Worker:
    """Runs jobs of some queues, so many at once.

    Args:
        store: the namespace.
        wakeups: where ready jobs are announced.
        registry: the actors. A job of a kind that has none stays queued for a worker that does.
        queues: which queues, the more urgent first.
        concurrency: most jobs at once.
        middleware: wrapped around each attempt, the first outermost.
        process_id: what jobs are claimed under; an id of its own unless given.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        registry: Registry,
        *,
        queues: Sequence[str],
        concurrency: int,
        middleware: Sequence[Middleware] = (),
        process_id: str = "",
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._registry = registry
        self._id = process_id or new_process_id()
        self._queues = list(queues)
        self._concurrency = concurrency
        self._middleware = middleware
        self._settings: Settings = store.settings
        self._reporter = Reporter(store.attempts, self._settings.lease_ttl_ms)
        self._running: dict[str, _Running] = {}
        self._handling = 0
        self._wake = Wakeup()
        self._idle = Wakeup()
        self._draining = False

    async def run(self) -> None:
        """Work until cancelled; then hand what runs back, without an attempt counted."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._renew_for_ever)
            tasks.start_soon(self._wakeups.follow, self._heed, self._new_backoff())
            try:
                await self._admit_for_ever(tasks)
            finally:
                self._reporter.hurry()

    async def run_ready(self) -> int:
        """Run what is ready, and what that makes ready, until nothing is; how many attempts that took.

        For whoever decides when jobs run, as tests do: no lease is renewed meanwhile.

        Raises:
            StoreError: no job could be claimed.
        """
        attempts, lease_ms = 0, self._settings.lease_ttl_ms
        while claims := (await self._store.attempts.admit(self._id, self._queues, self._concurrency, lease_ms)).claims:
            async with anyio.create_task_group() as tasks:
                for claim in claims:
                    self._start(tasks, claim)
            attempts += len(claims)
        return attempts

    async def drain(self) -> None:
        """Admit nothing new, and return once nothing runs any more; cancel to stop waiting."""
        self._draining = True
        self._wake.set()
        while self._running:
            await self._idle.wait(_LOOK_AT_LEAST_EVERY_S)

    def about(self) -> dict[str, str]:
        """What the process record says of it: queues and kinds as JSON lists, how much it may run and runs."""
        return {
            "queues": canonical(sorted(self._queues)),
            "kinds": canonical(self._registry.kinds),
            "concurrency": str(self._concurrency),
            "running": str(len(self._running)),
        }

    async def _admit_for_ever(self, tasks: anyio.abc.TaskGroup) -> None:
        backoff = self._new_backoff()
        while not self._draining:
            seconds = await self._admit(tasks, backoff)
            if seconds > 0:
                await self._wake.wait(seconds)
        await anyio.sleep_forever()

    async def _admit(self, tasks: anyio.abc.TaskGroup, backoff: Backoff) -> float:
        """Claim what fits. Returns how long to wait, at most, before the next time."""
        # A job whose handler has ended makes room before the store has heard of it, but not for ever more.
        unheard = len(self._running) - self._handling
        capacity = self._concurrency - self._handling if unheard <= self._concurrency else 0
        if capacity <= 0:
            return _LOOK_AT_LEAST_EVERY_S
        try:
            with anyio.CancelScope(shield=True):  # a lost answer would cost its jobs a lease
                admitted = await self._store.attempts.admit(
                    self._id, self._queues, capacity, self._settings.lease_ttl_ms
                )
        except HeadgateError as error:
            if backoff.failures == 0:
                log_event(logging.WARNING, "worker.admission_failed", worker=self._id, code=error.code)
            return backoff.next_ms() / 1000
        if backoff.failures:
            log_event(logging.INFO, "worker.admission_recovered", worker=self._id)
            backoff.reset()
        for claim in admitted.claims:
            self._start(tasks, claim)
        again_ms = admitted.look_again_ms
        if again_ms is None or len(admitted.claims) == capacity:
            return _LOOK_AT_LEAST_EVERY_S
        return min(_LOOK_AT_LEAST_EVERY_S, again_ms / 1000)

    def _start(self, tasks: anyio.abc.TaskGroup, claim: Claim) -> None:
        earlier = self._running.get(claim.id)
        if earlier is not None:  # this process was away past its lease, and is the one to run the job again
            self._lose(earlier)
        running = self._running[claim.id] = _Running(claim, anyio.CancelScope())
        self._handling += 1
        tasks.start_soon(self._attempt, running)

    def _lose(self, running: _Running) -> None:
        log_event(logging.WARNING, "job.lost", job=running.claim.id)
        running.lost = True
        running.scope.cancel()

    async def _attempt(self, running: _Running) -> None:
        """Run one job and report it. A cancellation hands it back; one of this task alone ends nothing else."""
        try:
            outcome = await self._handle(running)
            if outcome is not None:
                await self._report(running, *outcome)
        except anyio.get_cancelled_exc_class():
            ending = anyio.current_effective_deadline() == -math.inf
            await self._report(running, Verdict.RETURNED, "", 0 if ending else self._aside_ms(running.claim))
            if ending:
                raise
        finally:
            if self._running.get(running.claim.id) is running:
                del self._running[running.claim.id]
            self._wake.set()
            self._idle.set()

    async def _handle(self, running: _Running) -> tuple[Verdict, str, int] | None:
        """What the attempt came to; None for one that is another's by now."""
        try:
            with running.scope:
                await anyio.lowlevel.checkpoint_if_cancelled()
                return await self._run(running.claim)
            return None
        finally:
            running.ended = True
            self._handling -= 1
            self._wake.set()

    async def _run(self, claim: Claim) -> tuple[Verdict, str, int]:
        """The verdict, the class of the error, and how long the job is to wait before it may run again.

        A job of a kind that has no actor here is handed back, without an attempt counted, and waits longer each time:
        it is not this worker's to fail, and another may know it.
        """
        actor = self._registry.get(claim.kind)
        if actor is None:
            if claim.returns == 0:
                log_event(logging.WARNING, "job.no_actor", job=claim.id, kind=claim.kind)
            return Verdict.RETURNED, NO_ACTOR, self._aside_ms(claim)
        try:
            job = self._job(claim, actor)
        except (ValueError, OverflowError, KeyError) as fault:  # its zone or its tick is not to be had here
            log_event(logging.ERROR, "job.failed", job=claim.id, kind=claim.kind, error=where_raised(fault))
            verdict, error = Verdict.FAILED, type(fault).__name__
        else:
            verdict, error = await run_attempt(actor, job, claim.payload, claim.timeout_ms, self._middleware)
        return verdict, error, _wait_ms(claim.attempt, _RETRY_LONGEST_MS) if verdict is Verdict.FAILED else 0

    @staticmethod
    def _aside_ms(claim: Claim) -> int:
        """How long a job waits that is handed back and would come here again at once: longer each time."""
        return _wait_ms(claim.returns, _ASIDE_LONGEST_MS)

    def _job(self, claim: Claim, actor: Actor) -> Job:
        return Job(
            id=claim.id,
            kind=actor.kind,
            attempt=claim.attempt + 1,
            origin=claim.origin,
            tick=local_tick(claim.origin, claim.zone),
            headers=claim.headers,
            logger=logging.LoggerAdapter(LOGGER.getChild("job"), {"job_id": claim.id, "kind": claim.kind}),
        )

    async def _report(self, running: _Running, verdict: Verdict, error: str, wait_ms: int) -> None:
        """Say what became of it until the store has heard, or until the worker ends and its patience with it."""
        claim = running.claim
        with anyio.CancelScope(shield=True):
            try:
                state = await self._reporter.tell(Report(claim, verdict, error, wait_ms))
            except HeadgateError as fault:
                log_event(logging.ERROR, "job.unreported", job=claim.id, verdict=verdict, code=fault.code)
            else:
                if state in {"lost", "broken"}:
                    log_event(logging.WARNING, f"job.{state}", job=claim.id, verdict=verdict)

    async def _renew_for_ever(self) -> None:
        """Leases go on at a third of their life; what is another's by then is cancelled."""
        lease_ms, wait_s = self._settings.lease_ttl_ms, self._settings.heartbeat_ms / 1000
        while True:
            due = time.monotonic() + wait_s
            await anyio.sleep(wait_s)
            late_ms = (time.monotonic() - due) * 1000
            if late_ms > lease_ms - self._settings.heartbeat_ms:
                log_event(logging.WARNING, "worker.blocked", worker=self._id, late_ms=round(late_ms))
            running = list(self._running.values())
            if not running:
                continue
            try:
                lost = set(await self._store.attempts.renew([each.claim for each in running], lease_ms))
            except HeadgateError as error:
                log_event(logging.WARNING, "worker.renewal_failed", worker=self._id, code=error.code)
                continue
            for each in running:
                # Of one whose handler has ended, the store may have heard before it was asked.
                if each.claim.id in lost and not (each.ended or each.lost):
                    self._lose(each)

    def _heed(self, what: str) -> None:
        if what == "subscribed" or what in self._queues:
            self._wake.set()

    def _new_backoff(self) -> Backoff:
        return Backoff(self._settings.backoff_min_ms, self._settings.backoff_max_ms)


def _wait_ms(before: int, longest_ms: int) -> int:
    """Exponential with full jitter: anything up to 1 s, 2 s, 4 s … the longest."""
    ceiling = min(longest_ms, _WAIT_FIRST_MS * 2 ** min(before, 20))
    return random.randint(1, ceiling)  # noqa: S311 - jitter, not a secret
