"""One Valkey process on one data directory: adopted or started, watched, stopped.

A server is adopted only if it answers on our socket and works in our directory, and a new one is started only
while ``server.lock`` is free, so a directory never has two. A process is signalled only while that lock is
held, so its pid has not passed to a stranger.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio

from headgate.connect import STORE_ERRORS, connect
from headgate.embedded._directory import INSTEAD, release, socket_url, try_lock
from headgate.errors import EmbeddedError, EmbeddedMissing
from headgate.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

START_S: Final = 10.0
"""Longest wait for a first answer; a server that answers may take longer to load its data."""
STOP_S: Final = ((None, 5.0), (signal.SIGTERM, 2.0), (getattr(signal, "SIGKILL", None), 2.0))
"""What is sent to a server that was told to shut down, and how long it then has."""
POLL_S: Final = 0.005
MAX_LOG_BYTES: Final = 1_048_576
"""A longer log is put aside, over the previous one, before a server starts."""


class Server:
    """The server of a data directory, of which the caller holds the owner's lock."""

    def __init__(self, binary: Path, data_dir: Path, socket: Path) -> None:
        self.url = socket_url(socket)
        self.pid: int | None = None
        self.log = data_dir / "valkey.log"
        self._binary = binary
        self._dir = data_dir
        self._socket = socket
        self._lock = data_dir / "server.lock"
        self._pidfile = data_dir / "valkey.pid"
        self._child: subprocess.Popen[bytes] | None = None
        self._client = connect(self.url, Settings())

    async def ensure(self) -> None:
        """Adopt the server that lives in the directory, or start one; return when its data is loaded.

        Raises:
            EmbeddedError: it ended at once, or gave no answer in time; the message names the log. A process
                started here is ended, one found here is left alone.
            EmbeddedMissing: the binary cannot be executed on this machine.
        """
        try:
            await self._adopt_or_start()
        except BaseException:
            if self._child is not None:
                await self.stop()
            raise

    async def aclose(self) -> None:
        """Close the connections held here; the server lives on unless `stop` came first."""
        with anyio.CancelScope(shield=True):
            await self._client.aclose()

    async def gone(self) -> None:
        """Return when the server is away: it closed the connection held open here, or accepts none."""
        with suppress(OSError):
            reader, writer = await asyncio.open_unix_connection(self._socket)
            try:
                await reader.read(1)
            finally:
                writer.close()

    async def stop(self) -> None:
        """End the server, in its own order if it listens, by signals if not; return when it is gone.

        Raises:
            EmbeddedError: it outlived SIGKILL; it holds the directory until the system lets go of it.
        """
        with anyio.CancelScope(shield=True):
            if self.pid is not None:
                with suppress(*STORE_ERRORS):
                    await self._client.shutdown()
            for number, patience in STOP_S:
                self._signal(number)
                if await self._ended_within(patience):
                    break
            else:
                raise EmbeddedError(f"the embedded server {self.pid} cannot be ended; see {self.log}")
            self.pid = None

    async def _adopt_or_start(self) -> None:
        started = False
        answer_by = anyio.current_time() + START_S
        while not (ready := await self._ready()):
            if ready is not None:  # it is loading
                answer_by = anyio.current_time() + START_S
            elif not self._lives():
                if started:
                    raise EmbeddedError(f"the embedded server ended while starting; see {self.log}")
                self._spawn()
                started = True
            elif anyio.current_time() > answer_by:
                raise EmbeddedError(self._silent(started=started))
            await anyio.sleep(POLL_S)

    async def _ready(self) -> bool | None:
        """Whether our server answers with its data loaded; None if nothing answers."""
        try:
            info = await self._client.info()
            where = (await self._client.config_get("dir"))["dir"]
        except STORE_ERRORS:
            return None
        if not self._is_ours(where):
            raise EmbeddedError(f"the server on {self._socket} does not belong to data directory {self._dir}")
        self.pid = int(info["process_id"])
        return not int(info["loading"])

    def _is_ours(self, where: str | None) -> bool:
        return where is not None and self._dir.samefile(where)

    def _spawn(self) -> None:
        """Start the server and leave the lock to it; it inherits no other file of this process."""
        lock = try_lock(self._lock)
        assert lock is not None, "the owner of the directory alone starts servers in it"
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._dir),
            "logfile": str(self.log),
            "pidfile": str(self._pidfile),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            "save": "",
        }
        command = [str(self._binary)]
        for name, value in options.items():
            command += [f"--{name}", value]
        self.pid = None
        try:
            self._child = self._popen(command, lock)
        finally:
            os.close(lock)  # not released: the server holds the same lock

    def _popen(self, command: list[str], lock: int) -> subprocess.Popen[bytes]:
        if self.log.exists() and self.log.stat().st_size > MAX_LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log:  # the loader's complaints come before the server opens its log
            try:
                return subprocess.Popen(  # noqa: S603 - the command is ours
                    command,
                    cwd=self._dir,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(lock,),
                    start_new_session=True,  # Ctrl-C is for Headgate, which then ends the server in order
                    umask=0o077,
                )
            except OSError:
                raise EmbeddedMissing(f"the bundled server cannot be executed here; {INSTEAD}") from None

    async def _ended_within(self, seconds: float) -> bool:
        end = anyio.current_time() + seconds
        while self._lives():
            if anyio.current_time() > end:
                return False
            await anyio.sleep(POLL_S)
        return True

    def _lives(self) -> bool:
        if self._child is not None and self._child.poll() is None:
            return True
        self._child = None
        lock = try_lock(self._lock)
        if lock is not None:
            release(lock)
        return lock is None

    def _signal(self, number: int | None) -> None:
        pid = self._child.pid if self._child is not None else self.pid
        if number is not None and pid is not None and self._lives():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _silent(self, *, started: bool) -> str:
        who = "the embedded server" if started else f"the server left running in {self._dir}"
        with suppress(OSError):
            who += f" (process {self._pidfile.read_text().strip()})"
        return f"{who} gave no answer within {START_S:.0f} s; see {self.log}"
