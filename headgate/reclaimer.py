"""The reclaimer: brings back jobs whose worker was not heard of again or whose time has come, and removes old ones.

A duty with a lease of its own. A pass looks at every queue in bounded calls. A lease that ended counts as a crash,
unless no process at all was heard for longer than a lease: then it may have been the store that was away, and
heartbeats put the judgement off.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Final

import anyio

from headgate.errors import LeaseLost
from headgate.heart import Heart
from headgate.log import code_of, log_event
from headgate.metrics import count_crashed
from headgate.models import JobState
from headgate.pacing import Backoff
from headgate.store import Store

_LEAST_SECONDS: Final = 0.25
"""Between two passes: workers bring jobs back themselves whose time has come, and the rest is not in a hurry."""
_IDLE_SHARE: Final = 0.9
"""Of a lease, between two passes while nothing runs."""


class Reclaimer:
    """One contender for the reclaimer duty; run as many as you like, one of them does the work.

    Args:
        store: the namespace.
        heart: contends for the duty.
    """

    def __init__(self, store: Store, heart: Heart) -> None:
        self.duty = heart.duty("reclaimer")
        self._store = store
        self._heartbeats = heart.watch()
        self._backoff = Backoff(store.settings.backoff_min_ms, store.settings.backoff_max_ms)

    async def run(self) -> None:
        """Reclaim until cancelled, while the duty is this process's."""
        while True:
            if self.duty.trusted:
                await anyio.sleep(await self._try_pass())
            else:
                await self._heartbeats.wait(math.inf)

    async def reclaim(self) -> float:
        """One pass over all queues, in calls of at most 200 jobs.

        Returns:
            Seconds until the next pass.

        Raises:
            LeaseLost: another process has the duty.
            StoreError: the store did not answer, refused, or holds something foreign.
        """
        token, after, running, removed = self.duty.token, "", 0, 0
        due_in_ms = math.inf
        while True:
            found = await self._store.reclaims.some(token, after, lease_ms=self._store.settings.lease_ttl_ms)
            _tell(found.crashed)
            running += found.running
            removed += found.removed
            if found.due_next_ms is not None:
                due_in_ms = min(due_in_ms, found.due_next_ms - found.now_ms)
            if found.all:
                break
            after = found.last
            if not self.duty.trusted:
                raise LeaseLost("the lease of the reclaimer duty ran out")
        if removed:
            log_event(logging.DEBUG, "jobs.removed", count=removed)
        settings = self._store.settings
        longest_ms = settings.heartbeat_ms if running else settings.lease_ttl_ms * _IDLE_SHARE
        return max(_LEAST_SECONDS, min(longest_ms, due_in_ms) / 1000)

    async def _try_pass(self) -> float:
        """One pass; a fault becomes a wait."""
        token = self.duty.token
        try:
            seconds = await self.reclaim()
        except LeaseLost:
            self.duty.lost(token)
            return 0.0
        except Exception as error:  # noqa: BLE001 - also a fault of ours must not be the silent end of it
            if self._backoff.failures == 0:
                code = code_of(error)
                log_event(logging.WARNING, "reclaim.failed", code=code)
            return self._backoff.next_ms() / 1000
        if self._backoff.failures:
            log_event(logging.INFO, "reclaim.recovered", failures=self._backoff.failures)
            self._backoff.reset()
        return seconds


def _tell(crashed: Mapping[str, str]) -> None:
    count_crashed(crashed.values())
    for job_id, state in crashed.items():
        level = logging.ERROR if state == JobState.QUARANTINED else logging.WARNING
        log_event(level, "job.crashed", job=job_id, state=state)
