"""A duty: work that one process at a time may do, and what a process believes about its claim to it. No I/O.

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
import time
import uuid
from collections.abc import Callable

import msgspec

from headgate.log import log_event
from headgate.metrics import count_renewals_failed
from headgate.settings import Settings
from headgate.store.leases import Bid, Standing


class Duty:
    """One process's claim to one duty. Made by `headgate.heart.Heart`, whose heartbeats carry it to the store.

    Attributes:
        name: which duty.
    """

    def __init__(self, name: str, process_id: str, settings: Settings, nudge: Callable[[], None]) -> None:
        self.name = name
        self._process_id = process_id
        self._trust_s = (settings.lease_ttl_ms - settings.lease_margin_ms) / 1000
        self._nudge = nudge
        self._token, self._token_before = self._new_token(), ""
        self._trusted_until = 0.0
        self._held = False

    @property
    def token(self) -> str:
        """What this term's writes are fenced with."""
        return self._token

    @property
    def trusted(self) -> bool:
        """Whether the lease can still be this process's, by its own clock."""
        return self._held and time.monotonic() < self._trusted_until

    def lost(self, token: str) -> None:
        """The store refused `token`: its term is over. The next heartbeat, sent now, tries for another."""
        if token == self._token and self._held:
            self._end_term()
        self._nudge()

    def bid(self) -> Bid:
        """What the next heartbeat is to ask for."""
        if self._held and not self.trusted:  # others may have had the duty meanwhile: this cannot be the same term
            self._end_term()
        return Bid(self.name, self._token, self._token_before)

    def hear(self, bid: Bid, standing: Standing, *, started: float) -> Standing:
        """Take the answer to a bid whose heartbeat began at `started`, by the monotonic clock in seconds.

        Returns:
            The same, where `granted` says that the process holds a lease now which it did not know of before.
        """
        granted = standing.held and not self._held
        if bid.token == self._token:  # else the term ended while the answer was on its way
            self._token_before = ""
            if standing.held:
                self._trusted_until = started + self._trust_s
                if granted:
                    log_event(
                        logging.INFO, "duty.acquired", duty=self.name, process=self._process_id, epoch=standing.epoch
                    )
            elif self._held:
                count_renewals_failed(self.name)
                self._end_term()
            self._held = standing.held
        return msgspec.structs.replace(standing, granted=granted)

    def unheard(self) -> None:
        """The heartbeat that was to renew it failed. The lease is trusted for as long as before."""
        if self._held:
            count_renewals_failed(self.name)

    def give_up(self) -> str:
        """Trust the lease no more, whether or not the store hears of it. Returns the token to release."""
        self._held = False
        return self._token

    def _end_term(self) -> None:
        log_event(logging.WARNING, "duty.lost", duty=self.name, process=self._process_id)
        self._held = False
        # A heartbeat of the old term may still arrive, and get the lease for a token that nobody uses any more: the
        # next one takes it over.
        self._token_before, self._token = self._token, self._new_token()

    def _new_token(self) -> str:
        return f"{self._process_id}/{uuid.uuid4().hex[:12]}"
