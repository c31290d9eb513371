"""Quarantine: fingerprints of kind and payload that may not be enqueued."""

from __future__ import annotations

import json

from headgate.store.scripts import Scripts


class Quarantine:
    """The quarantine of one namespace; the scripts that enqueue look into it themselves."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def add(self, fingerprint: str, *, note: str) -> bool:
        """Bar a fingerprint (see `headgate.names.fingerprint`); False when it was barred before."""
        return bool(await self._scripts.call("quarantine_add", fingerprint, json.dumps(note)))
