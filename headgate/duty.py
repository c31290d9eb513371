"""Hold a duty: work that one process at a time may do.

The store alone says who holds a duty: it grants a lease to a token, and each script that writes for the duty checks
that token itself. Nothing here is needed for safety. What a process believes serves to stop early: it trusts its lease
only until *the start of its last good heartbeat* + TTL - margin, by its own monotonic clock: a slow answer never
lengthens a lease. A process stopped in its tracks wakes up distrusting; should it be quicker than its own clock,
the script refuses it.

Each term has a token of its own. A token is kept while an attempt's outcome is unknown, so that the repeat of an
acquisition whose answer was lost counts as that acquisition; it is replaced when the lease is known to be lost, so
that a late message of an old term names a token nobody has.
"""

from __future__ import annotations

import logging
import math
import os
import time
import uuid
from typing import Final

import anyio
import msgspec

from headgate import __version__
from headgate.errors import HeadgateError
from headgate.identity import host_name, new_process_id
from headgate.log import log_event, where_raised
from headgate.pacing import Backoff, Wakeup
from headgate.settings import Settings
from headgate.store.leases import Heartbeat, Leases

_RELEASE_SECONDS: Final = 1.0
_EXPIRY_SLACK_MS: Final = 5


class Duty:
    """One process's claim to one duty.

    Attributes:
        process_id: how this process is known in the store: host, pid and a nonce.
    """

    def __init__(self, leases: Leases, name: str, settings: Settings) -> None:
        self.name = name
        self.process_id = new_process_id()
        self._beaten = Wakeup()
        self._last: Heartbeat | None = None
        self._leases = leases
        self._settings = settings
        self._about = {"host": host_name(), "pid": str(os.getpid()), "version": __version__}
        self._token, self._token_before = self._new_token(), ""
        self._trusted_until = 0.0
        self._held = False
        self._nudge = Wakeup()
        self._backoff = Backoff(settings.backoff_min_ms, settings.heartbeat_ms)

    @property
    def token(self) -> str:
        """What this term's writes are fenced with."""
        return self._token

    @property
    def trusted(self) -> bool:
        """Whether the lease can still be this process's, by its own clock."""
        return self._held and time.monotonic() < self._trusted_until

    def nudge(self) -> None:
        """Send the next heartbeat now: a lease was given up somewhere."""
        self._nudge.set()

    def lost(self, token: str) -> None:
        """The store refused `token`: its term is over. The next heartbeat, sent now, tries for another."""
        if token == self._token and self._held:
            self._end_term()
        self._nudge.set()

    async def keep(self) -> None:
        """Heartbeats, for ever: at a third of the lease while the store answers, with back-off while it does not."""
        while True:
            wait_ms: float = self._settings.heartbeat_ms
            try:
                heartbeat = await self.beat()
            except Exception as error:  # noqa: BLE001 - also a fault of ours must not end all schedules
                if self._backoff.failures == 0:
                    code = error.code if isinstance(error, HeadgateError) else where_raised(error)
                    log_event(logging.WARNING, "duty.heartbeat_failed", duty=self.name, code=code)
                wait_ms = self._backoff.next_ms()
            else:
                if self._backoff.failures:
                    log_event(logging.INFO, "duty.heartbeat_recovered", duty=self.name)
                    self._backoff.reset()
                wait_ms = self._wait_ms(heartbeat)
            await self._nudge.wait(wait_ms / 1000)

    async def beat(self) -> Heartbeat:
        """One heartbeat: renew or try for the lease. Raises what the store raises."""
        if self._held and not self.trusted:  # others may have had the duty meanwhile: this cannot be the same term
            self._end_term()
        started, token, ttl_ms = time.monotonic(), self._token, self._settings.lease_ttl_ms
        # Not cut short by a cancellation: the release that follows it must not be overtaken by this call.
        with anyio.CancelScope(shield=True):
            heartbeat = await self._leases.heartbeat(
                self.name, token, ttl_ms, self.process_id, self._about, before=self._token_before
            )
        heartbeat = msgspec.structs.replace(heartbeat, granted=heartbeat.held and not self._held)
        if token == self._token:  # else the term ended while the answer was on its way
            self._token_before = ""
            if heartbeat.held:
                self._trusted_until = started + (ttl_ms - self._settings.lease_margin_ms) / 1000
                if not self._held:
                    log_event(
                        logging.INFO,
                        "duty.acquired",
                        duty=self.name,
                        process=self.process_id,
                        epoch=heartbeat.epoch,
                    )
            elif self._held:
                self._end_term()
            self._held = heartbeat.held
        self._last = heartbeat
        self._beaten.set()
        return heartbeat

    async def next_heartbeat(self) -> Heartbeat:
        """Wait for the next good heartbeat, for one waiter."""
        await self._beaten.wait(math.inf)
        assert self._last is not None
        return self._last

    async def resign(self) -> None:
        """Give the lease up, if it is held, so that a standby takes over at once. Never raises; bounded in time."""
        with anyio.move_on_after(_RELEASE_SECONDS, shield=True):
            try:
                released = await self._leases.release(self.name, self._token, self.process_id)
            except HeadgateError as error:
                log_event(logging.WARNING, "duty.release_failed", duty=self.name, code=error.code)
            else:
                if released:
                    log_event(logging.INFO, "duty.released", duty=self.name, process=self.process_id)
        self._held = False

    def _end_term(self) -> None:
        log_event(logging.WARNING, "duty.lost", duty=self.name, process=self.process_id)
        self._held = False
        # A heartbeat of the old term may still arrive, and get the lease for a token that nobody uses any more: the
        # next one takes it over.
        self._token_before, self._token = self._token, self._new_token()

    def _wait_ms(self, heartbeat: Heartbeat) -> float:
        """Until the next heartbeat: for a standby, when the holder's lease ends, unless it is renewed."""
        if heartbeat.held:
            return self._settings.heartbeat_ms
        if heartbeat.lease_left_ms is None:
            log_event(logging.ERROR, "duty.endless_lease", duty=self.name)
            return self._settings.heartbeat_ms
        return min(self._settings.heartbeat_ms, heartbeat.lease_left_ms + _EXPIRY_SLACK_MS)

    def _new_token(self) -> str:
        return f"{self.process_id}/{uuid.uuid4().hex[:12]}"
