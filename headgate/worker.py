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

from headgate import metrics
from headgate.errors import HeadgateError
from headgate.identity import new_process_id
from headgate.jsontext import canonical
from headgate.log import JOB_LOGGER, code_of, log_event, where_raised
from headgate.pacing import Backoff, Wakeup
from headgate.registry import Actor, Registry
from headgate.reporter import Reporter
from headgate.runner import Job, Middleware, Verdict, local_tick, run_attempt
from headgate.running import Running, RunningJobs
from headgate.settings import Settings
from headgate.store import Store
from headgate.store.attempts import Admitted, Claim, Report
from headgate.store.wakeups import Wakeups

NO_ACTOR: Final = "NoActor"
"""What stands as the error of a job that waits for a worker which knows its kind."""

CANCELLED: Final = "Cancelled"
"""What stands as the error of a job that an operator cancelled while it ran."""
_MAX_QUEUES: Final = 100

_WAIT_FIRST_MS: Final = 1_000
_RETRY_LONGEST_MS: Final = 600_000
_ASIDE_LONGEST_MS: Final = 30_000
_LOOK_AT_LEAST_EVERY_S: Final = 6.0


class Worker:
    """Runs jobs of some queues, so many at once.

    Args:
        store: the namespace.
        wakeups: where ready jobs are announced.
        registry: the actors. A job of a kind that has none stays queued for a worker that does.
        queues: which queues, the more urgent first; or, where they take `turns`, in any order.
        turns: begin each admission with the next queue, so that none waits for all jobs of another.
        concurrency: most jobs at once.
        middleware: wrapped around each attempt, the first outermost.
        process_id: what jobs are claimed under; an id of its own unless given.

    Attributes:
        look_again_ms: what the last admission of `run_ready` said of when to ask again, a duration; None for never.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        registry: Registry,
        *,
        queues: Sequence[str],
        concurrency: int,
        turns: bool = False,
        middleware: Sequence[Middleware] = (),
        process_id: str = "",
    ) -> None:
        self.look_again_ms: int | None = None
        self._store = store
        self._wakeups = wakeups
        self._registry = registry
        self._id = process_id or new_process_id()
        self._queues = list(queues)
        self._turns = turns
        self._next_queue = 0
        self._unusable: list[str] = []
        self._concurrency = concurrency
        self._middleware = middleware
        self._settings: Settings = store.settings
        self._reporter = Reporter(store.attempts, self._settings.lease_ttl_ms)
        self._running = RunningJobs(store.attempts, self._settings, self._id, self._queues)
        self._wake = Wakeup()
        self._idle = Wakeup()
        self._draining = False

    async def run(self) -> None:
        """Work until cancelled; then hand what runs back, without an attempt counted."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._running.keep)
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
        attempts = 0
        while True:
            admitted, begun = await self._claim(self._queues, self._concurrency)
            if not begun:
                self.look_again_ms = admitted.look_again_ms
                return attempts
            async with anyio.create_task_group() as tasks:
                for running in begun:
                    tasks.start_soon(self._attempt, running)
            attempts += len(begun)

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
        unheard = len(self._running) - self._running.handling
        capacity = self._concurrency - self._running.handling if unheard <= self._concurrency else 0
        if capacity <= 0:
            return _LOOK_AT_LEAST_EVERY_S
        try:
            with anyio.CancelScope(shield=True):  # a lost answer would cost its jobs a lease
                admitted, begun = await self._claim(self._some_queues(), capacity)
        except Exception as error:  # noqa: BLE001 - also a fault of ours must not end the application
            self._running.doubt()
            if backoff.failures == 0:
                log_event(logging.WARNING, "worker.admission_failed", worker=self._id, code=code_of(error))
            return backoff.next_ms() / 1000
        if backoff.failures:
            log_event(logging.INFO, "worker.admission_recovered", worker=self._id)
            backoff.reset()
        self._tell_unusable(admitted.unusable)
        for running in begun:
            tasks.start_soon(self._attempt, running)
        again_ms = admitted.look_again_ms
        if again_ms is None or len(admitted.claims) == capacity:
            return _LOOK_AT_LEAST_EVERY_S
        return min(_LOOK_AT_LEAST_EVERY_S, again_ms / 1000)

    async def _claim(self, queues: list[str], capacity: int) -> tuple[Admitted, list[Running]]:
        async with self._running.admitting:
            admitted = await self._store.attempts.admit(self._id, queues, capacity, self._settings.lease_ttl_ms)
            metrics.count_refusals(admitted.refused)
            return admitted, [self._running.begin(claim) for claim in admitted.claims]

    def _some_queues(self) -> list[str]:
        """Those of the next admission, 100 at most, in their order or in turns."""
        first = self._next_queue
        if self._turns or len(self._queues) > _MAX_QUEUES:
            step = 1 if self._turns else _MAX_QUEUES
            self._next_queue = (first + step) % max(1, len(self._queues))
        return (self._queues[first:] + self._queues[:first])[:_MAX_QUEUES]

    def _tell_unusable(self, queues: list[str]) -> None:
        if queues and queues != self._unusable:
            log_event(logging.ERROR, "queue.unusable", queues=",".join(queues))
        self._unusable = queues

    async def _attempt(self, running: Running) -> None:
        """Run one job and report it. A cancellation hands it back; one of this task alone ends nothing else."""
        try:
            outcome = await self._handle(running)
            if outcome is None:
                metrics.count_attempts([(running.claim.queue, "lost")])
            else:
                await self._report(running, *outcome)
        except anyio.get_cancelled_exc_class():
            ending = anyio.current_effective_deadline() == -math.inf
            await self._report(running, Verdict.RETURNED, "", 0 if ending else self._aside_ms(running.claim))
            if ending:
                raise
        finally:
            self._running.end(running)
            self._wake.set()
            self._idle.set()

    async def _handle(self, running: Running) -> tuple[Verdict, str, int] | None:
        """What the attempt came to; None for one that is another's by now."""
        outcome = None
        try:
            with running.scope:
                await anyio.lowlevel.checkpoint_if_cancelled()
                outcome = await self._run(running.claim)
        finally:
            self._running.handled(running)
            self._wake.set()
        if running.cancelled and not running.lost:
            return outcome or (Verdict.CANCELLED, CANCELLED, 0)
        return outcome

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
            started = time.monotonic()
            try:
                verdict, error = await run_attempt(actor, job, claim.payload, claim.timeout_ms, self._middleware)
            finally:
                metrics.observe_attempt(claim.queue, time.monotonic() - started)
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
            logger=logging.LoggerAdapter(JOB_LOGGER, {"job_id": claim.id, "kind": claim.kind}),
        )

    async def _report(self, running: Running, verdict: Verdict, error: str, wait_ms: int) -> None:
        """Say what became of it until the store has heard, or until the worker ends and its patience with it."""
        claim = running.claim
        with anyio.CancelScope(shield=True):
            try:
                state = await self._reporter.tell(Report(claim, verdict, error, wait_ms))
            except HeadgateError as fault:
                metrics.count_attempts([(claim.queue, "unreported")])
                log_event(logging.ERROR, "job.unreported", job=claim.id, verdict=verdict, code=fault.code)
            else:
                if state == "lost":
                    log_event(logging.WARNING, "job.lost", job=claim.id, verdict=verdict)

    def _heed(self, what: str) -> None:
        word, _, job_id = what.partition(" ")
        if word == "cancel":
            self._running.cancel(job_id)
        elif what == "subscribed" or what in self._queues:
            self._wake.set()

    def _new_backoff(self) -> Backoff:
        return Backoff(self._settings.backoff_min_ms, self._settings.backoff_max_ms)


def _wait_ms(before: int, longest_ms: int) -> int:
    """Exponential with full jitter: anything up to 1 s, 2 s, 4 s … the longest."""
    ceiling = min(longest_ms, _WAIT_FIRST_MS * 2 ** min(before, 20))
    return random.randint(1, ceiling)  # noqa: S311 - jitter, not a secret
