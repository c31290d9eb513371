"""Call the scripts: one round trip each, errors as Headgate's own.

A script the server does not know (after a restart, a flush, a failover) is sent in full, once, unnoticed. A call
whose answer was lost is repeated once, and only if its contract says that a repeat is harmless.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import anyio
from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from headgate.connect import MAX_CONNECTIONS, translated
from headgate.errors import StoreUnavailable
from headgate.metrics import observe_script
from headgate.store.keys import Keys
from headgate.store.loader import Script, load_scripts


class Scripts:
    """The scripts of one namespace on one server.

    Args:
        client: as made by `headgate.connect.connect`.
        keys: of the namespace.
        timeout_ms: longest wait for a connection, when all are in use.
        pieces: see `headgate.store.loader.load_scripts`.
    """

    def __init__(self, client: Redis, keys: Keys, *, timeout_ms: int, pieces: Mapping[str, str] | None = None) -> None:
        self._client = client
        self._timeout_s = timeout_ms / 1000
        # The client's own pool gives a connection to whoever asks the moment it is free, past those who wait.
        self._turns = anyio.Semaphore(MAX_CONNECTIONS, fast_acquire=True)
        self._root = keys.root
        self._scripts = load_scripts(pieces)

    async def call(self, name: str, *args: str | int) -> Any:
        """The answer of a script.

        Raises:
            StoreUnavailable: no answer, not even to the repeat.
            StoreFull: refused at entry, since memory is exhausted.
            StoreError: the script failed; its contract says what it leaves.
        """
        script = self._scripts[name]
        try:
            return await self._send(script, args)
        except StoreUnavailable:
            if not script.repeatable:
                raise
        return await self._send(script, args)

    async def _send(self, script: Script, args: tuple[str | int, ...]) -> Any:
        with translated():
            await self._wait_for_turn()
            started = time.monotonic()
            try:
                return await self._client.evalsha(script.sha, 1, self._root, *args)
            except NoScriptError:
                return await self._client.eval(script.text, 1, self._root, *args)
            finally:
                self._turns.release()
                observe_script(script.name, time.monotonic() - started)

    async def _wait_for_turn(self) -> None:
        try:
            self._turns.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.fail_after(self._timeout_s):
                await self._turns.acquire()
