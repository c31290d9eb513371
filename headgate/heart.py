"""The heart of a process: one call, at a third of the lease, renews all its duties, has it seen, learns what is due.

A process beats whether or not it contends for anything: that is how others know that it lives. Whoever waits for what
heartbeats learn has a wake-up of its own. One call is under way at a time, so that no heartbeat can take back what a
release behind it gives up.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import anyio
import msgspec

from headgate import __version__
from headgate.duty import Duty
from headgate.errors import HeadgateError
from headgate.identity import host_name, new_process_id
from headgate.log import code_of, log_event
from headgate.pacing import Backoff, Wakeup
from headgate.settings import Settings
from headgate.store.leases import Heartbeat, Leases, Standing

_RELEASE_SECONDS: Final = 1.0
_EXPIRY_SLACK_MS: Final = 5


class Heart:
    """The heartbeats of one process.

    Args:
        leases: of the namespace.
        settings: its intervals.
        duties: what to contend for.
        about: what the process has to say of itself, asked at each heartbeat; beside host, pid and version.

    Attributes:
        process_id: how this process is known in the store: host, pid and a nonce.
        about: as given; may be replaced.
        last: what the last good heartbeat learnt; None before the first.
    """

    def __init__(
        self,
        leases: Leases,
        settings: Settings,
        *,
        duties: Sequence[str] = (),
        about: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.process_id = new_process_id()
        self.about = about
        self.last: Heartbeat | None = None
        self._leases = leases
        self._settings = settings
        self._nudge = Wakeup()
        self._duties = {name: Duty(name, self.process_id, settings, self.nudge) for name in duties}
        self._contends = True
        self._one_call = anyio.Lock()
        self._watching: list[Wakeup] = []
        self._backoff = Backoff(settings.backoff_min_ms, settings.heartbeat_ms)

    def duty(self, name: str) -> Duty:
        """One of the duties that it contends for; raises `KeyError` for another."""
        return self._duties[name]

    def watch(self) -> Wakeup:
        """A wake-up for one waiter, set by each good heartbeat from now on; `last` says what that learnt."""
        self._watching.append(Wakeup())
        return self._watching[-1]

    def nudge(self) -> None:
        """Send the next heartbeat now: a lease was given up somewhere."""
        self._nudge.set()

    async def keep(self) -> None:
        """Heartbeats, for ever: at a third of the lease while the store answers, with back-off while it does not.

        At the end the duties are given up and the process is forgotten; that is bounded in time and raises nothing.
        """
        try:
            while True:
                await self._nudge.wait(await self._try_beat() / 1000)
        finally:
            await self._give_up(forget=True)

    async def beat(self) -> Heartbeat:
        """One heartbeat: renew or try for each lease, be seen. Raises what the store raises."""
        # Not cut short by a cancellation: the release that follows it must not be overtaken by this call.
        with anyio.CancelScope(shield=True):
            async with self._one_call:
                heartbeat = await self._beat()
        self.last = heartbeat
        for waiter in self._watching:
            waiter.set()
        return heartbeat

    async def resign(self) -> None:
        """Give up all duties, so that a standby takes over at once, and contend no more; go on being seen.

        Never raises; bounded in time. Without a word from the store, the leases end by themselves.
        """
        if self._duties:
            await self._give_up(forget=False)

    async def _beat(self) -> Heartbeat:
        bids = [duty.bid() for duty in self._duties.values()] if self._contends else []
        about = {"host": host_name(), "pid": str(os.getpid()), "version": __version__, **self.about()}
        started = time.monotonic()
        heartbeat = await self._leases.heartbeat(self.process_id, bids, about, ttl_ms=self._settings.lease_ttl_ms)
        heard = {
            bid.duty: self._duties[bid.duty].hear(bid, heartbeat.duties[bid.duty], started=started) for bid in bids
        }
        return msgspec.structs.replace(heartbeat, duties=heard)

    async def _try_beat(self) -> float:
        """One heartbeat; a fault becomes a wait. Returns how long to wait, in ms."""
        try:
            heartbeat = await self.beat()
        except Exception as error:  # noqa: BLE001 - also a fault of ours must not end all schedules
            if self._backoff.failures == 0:
                code = code_of(error)
                log_event(logging.WARNING, "duty.heartbeat_failed", process=self.process_id, code=code)
            for duty in self._duties.values():
                duty.unheard()
            return self._backoff.next_ms()
        if self._backoff.failures:
            log_event(logging.INFO, "duty.heartbeat_recovered", process=self.process_id)
            self._backoff.reset()
        return min((self._wait_ms(*each) for each in heartbeat.duties.items()), default=self._settings.heartbeat_ms)

    def _wait_ms(self, name: str, standing: Standing) -> float:
        """Until the next heartbeat: for a standby, when the holder's lease ends, unless it is renewed."""
        if standing.held:
            return self._settings.heartbeat_ms
        if not standing.usable:
            log_event(logging.ERROR, "duty.unusable", duty=name)
            return self._settings.heartbeat_ms
        if standing.lease_left_ms is None:
            log_event(logging.ERROR, "duty.endless_lease", duty=name)
            return self._settings.heartbeat_ms
        return min(self._settings.heartbeat_ms, standing.lease_left_ms + _EXPIRY_SLACK_MS)

    async def _give_up(self, *, forget: bool) -> None:
        self._contends = False
        with anyio.CancelScope(shield=True):
            async with self._one_call:
                tokens = {name: duty.give_up() for name, duty in self._duties.items()}
                with anyio.move_on_after(_RELEASE_SECONDS):
                    await self._release(tokens, forget=forget)

    async def _release(self, tokens: Mapping[str, str], *, forget: bool) -> None:
        try:
            released = await self._leases.release(self.process_id, tokens, forget=forget)
        except HeadgateError as error:
            log_event(logging.WARNING, "duty.release_failed", process=self.process_id, code=error.code)
        else:
            for name in released:
                log_event(logging.INFO, "duty.released", duty=name, process=self.process_id)
