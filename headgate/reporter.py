"""The reporter: tells the store what became of attempts, all that ended while one call was under way in the next."""

from __future__ import annotations

import math
import time
from typing import Final

import anyio

from headgate.errors import StoreUnavailable
from headgate.settings import MAX_CALL_TICKS
from headgate.store.attempts import Attempts, Report

_SAY_AGAIN_S: Final = 0.2


class _Entry:
    """A report, and the turn of whoever waits with it: it was answered, or is the one to send what waits."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.state: str | None = None
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
        """The job's new state, ``lost`` or ``broken``, as `Attempts.finish` has it; said again until the store answers.

        However late: while the store is away nobody else gets the job, and then the claim's number decides.

        Raises:
            StoreUnavailable: no answer, and no time left.
            StoreError: the store refused.
        """
        entry = _Entry(report)
        self._waiting.append(entry)
        try:
            while entry.state is None:
                if self._sending:
                    await entry.turn.wait()
                    entry.turn = anyio.Event()
                else:
                    await self._send()
        finally:
            if entry.state is None:
                self._waiting.remove(entry)
                self._pass_on()
        return entry.state

    async def _send(self) -> None:
        """One call for what waits; whoever is answered goes on, and the first of the others sends the next one."""
        self._sending = True
        batch = self._waiting[:MAX_CALL_TICKS]
        try:
            states = await self._attempts.finish([each.report for each in batch])
        except StoreUnavailable:
            if time.monotonic() > self._last_moment:
                raise
            await anyio.sleep(_SAY_AGAIN_S)
        else:
            del self._waiting[: len(batch)]
            for each, state in zip(batch, states, strict=True):
                each.state = state
                each.turn.set()
        finally:
            self._sending = False
            self._pass_on()

    def _pass_on(self) -> None:
        if self._waiting and not self._sending:
            self._waiting[0].turn.set()
