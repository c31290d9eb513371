"""Call the scripts: one round trip each, errors as Headgate's own.

A script the server does not know (after a restart, a flush, a failover) is sent in full, once, unnoticed. A call
whose answer was lost is repeated once, and only if its contract says that a repeat is harmless.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from headgate.connect import translated
from headgate.errors import StoreUnavailable
from headgate.store.keys import Keys
from headgate.store.loader import Script, load_scripts


class Scripts:
    """The scripts of one namespace on one server."""

    def __init__(self, client: Redis, keys: Keys, pieces: Mapping[str, str] | None = None) -> None:
        self._client = client
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
            try:
                return await self._client.evalsha(script.sha, 1, self._root, *args)
            except NoScriptError:
                return await self._client.eval(script.text, 1, self._root, *args)
