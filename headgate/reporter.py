"""The reporter: tells the store what became of attempts, all that ended while one call was under way in the next."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from typing import Final

import anyio

from headgate.errors import HeadgateError, StoreError, StoreUnavailable
from headgate.log import log_event
from headgate.metrics import count_attempts
from headgate.models import FINAL_STATES
from headgate.settings import MAX_CALL_TICKS
from headgate.store.attempts import Attempts, Report

_SAY_AGAIN_S: Final = 0.2


class _Entry:
    """A report, and the turn of whoever waits with it: it was answered, or is the one to send what waits."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.state: str | None = None
        self.failure: HeadgateError | None = None
        self.turn = anyio.Event()


class Reporter:
    """What a worker says of its attempts.

    Args:
        attempts: of the namespace.
        patience_ms: how long to go on, once it is in a hurry, while the store does not answer: the life of a lease,
            after which another worker may have the job.
    """

    def __init__(self, attempts: Attempts, patience_ms: int) -> None:
        self._attempts = attempts
        self._patience_s = patience_ms / 1000
        self._last_moment = math.inf
        self._waiting: list[_Entry] = []
        self._sending = False

    def hurry(self) -> None:
        """The worker ends: go on only for so long while the store does not answer."""
        self._last_moment = time.monotonic() + self._patience_s

    async def tell(self, report: Report) -> str:
        """The job's state now, or ``lost``, as `Attempts.finish` has it; said again until the store has taken it.

        However late: while the store is away nobody else gets the job, and then the claim's number decides. A queue
        whose keys hold something foreign is waited for as well: what was done must not be done again for it.

        Raises:
            StoreUnavailable: no answer, and no time left.
            StoreError: the store refused.
        """
        entry = _Entry(report)
        self._waiting.append(entry)
        try:
            while entry.state is None:
                if entry.failure is not None:
                    raise entry.failure
                if self._sending:
                    await entry.turn.wait()
                    entry.turn = anyio.Event()
                else:
                    await self._send()
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
                self._pass_on()
        return entry.state

    async def _send(self) -> None:
        """One call for what waits; whoever is answered goes on, and the first of the others sends the next one."""
        self._sending = True
        batch = self._waiting[:MAX_CALL_TICKS]
        try:
            states = await self._attempts.finish([each.report for each in batch])
            self._take(batch, states)
            if "broken" in states:
                log_event(logging.ERROR, "job.report_refused", jobs=states.count("broken"))
                await self._pause(StoreError("a queue holds a type that headgate did not write"))
        except StoreUnavailable as error:
            await self._pause(error)
        except HeadgateError as error:
            self._fail(batch, error)
        finally:
            self._sending = False
            self._pass_on()

    def _take(self, batch: Sequence[_Entry], states: Sequence[str]) -> None:
        for each, state in zip(batch, states, strict=True):
            if state != "broken":
                each.state = state
                each.turn.set()
        self._waiting = [each for each in self._waiting if each.state is None]
        told = [(each.report, each.state) for each in batch if each.state]
        count_attempts((report.claim.queue, _outcome(report, state)) for report, state in told)

    async def _pause(self, error: HeadgateError) -> None:
        """Before the same is said again; once there is no time left, nobody waits any more."""
        if time.monotonic() > self._last_moment:
            self._fail(self._waiting, error)
        else:
            await anyio.sleep(_SAY_AGAIN_S)

    @staticmethod
    def _fail(entries: Sequence[_Entry], error: HeadgateError) -> None:
        for each in entries:
            each.failure = error
            each.turn.set()

    def _pass_on(self) -> None:
        if self._waiting and not self._sending:
            self._waiting[0].turn.set()


def _outcome(report: Report, state: str) -> str:
    """In a word: how the job ended, if it did; else what the attempt came to, or that it was another's."""
    return state if state == "lost" or state in FINAL_STATES else report.verdict
