"""Wake-ups: writes and given-up leases are announced on a channel. Hints only: a lost one costs a heartbeat."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from typing import Final

import anyio
from redis.asyncio import Redis

from headgate.connect import translated
from headgate.log import code_of, log_event
from headgate.pacing import Backoff
from headgate.store.keys import Keys

_WAIT_SECONDS: Final = 5.0


class Wakeups:
    """The channel of one namespace, read on a connection of its own.

    Args:
        client: as made by `headgate.connect.connect_pubsub`.
        namespace: whose wake-ups.
        channel: ``wake`` for schedulers, ``ready`` for workers: the names of queues that got a job.
    """

    def __init__(self, client: Redis, namespace: str = "default", *, channel: str = "wake") -> None:
        self._client = client
        self._channel = Keys(namespace)(channel)

    async def listen(self) -> AsyncGenerator[str]:
        """What happened, ``schedule`` or ``duty``; first ``subscribed``, since anything may have happened before.

        Raises:
            StoreUnavailable: the connection broke; listen again.
        """
        async with self._client.pubsub() as channel:
            with translated():
                await channel.subscribe(self._channel)
            while True:
                with translated():
                    message = await channel.get_message(timeout=_WAIT_SECONDS)
                if message is not None:
                    yield "subscribed" if message["type"] == "subscribe" else str(message["data"])

    async def follow(self, heed: Callable[[str], None], backoff: Backoff) -> None:
        """Hand on what happened, as `listen` says it, until cancelled; with back-off while the connection is broken.

        Nothing else ends it. Without announcements everything still happens, a heartbeat later.
        """
        while True:
            try:
                async for what in self.listen():
                    if backoff.failures:
                        log_event(logging.INFO, "wakeups.recovered")
                        backoff.reset()
                    heed(what)
            except Exception as error:  # noqa: BLE001 - hints only: without them all goes on, a little later
                if backoff.failures == 0:
                    code = code_of(error)
                    log_event(logging.WARNING, "wakeups.failed", code=code)
                await anyio.sleep(backoff.next_ms() / 1000)
