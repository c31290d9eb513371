"""The command line as its users meet it: a child process, its output line by line, its exit code.

Also what tests of it need around it: short folders, a plain HTTP call, and waiting with a deadline.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from headgate.embedded import _directory

ROOT = Path(__file__).parents[2]
HEADGATE = (sys.executable, "-m", "headgate")
PATIENCE_S = 10.0


class Command:
    """A child process with one pipe for all it prints.

    Attributes:
        lines: what it has printed so far, whole lines only, as far as it was read.
    """

    def __init__(
        self, *arguments: str, cwd: Path, program: Sequence[str] = HEADGATE, env: Mapping[str, str] | None = None
    ) -> None:
        self._child = subprocess.Popen(
            [*program, *arguments],
            cwd=cwd,
            env=environment() | dict(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.alive:
            self.send(signal.SIGKILL)
        self.wait()
        assert self._child.stdout is not None
        self._child.stdout.close()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    @property
    def output(self) -> str:
        """All it has printed, as far as it was read."""
        return "\n".join([*self.lines, self._rest.decode()])

    @property
    def address(self) -> str:
        """Where its API listens, once it says so."""
        return self.line(r" api\.listening address=(\S+)$")[1]

    def line(self, pattern: str, *, after: int = 0) -> re.Match[str]:
        """The first line with the pattern, of those printed or to be printed after so many."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            for position in range(after, len(self.lines)):
                if match := re.search(pattern, self.lines[position]):
                    return match
            after = len(self.lines)
            assert self._read(deadline), f"it ended without a line {pattern!r}:\n{self.output}"

    def send(self, number: signal.Signals, *, whole_group: bool = False) -> None:
        """Send it a signal; to the whole group, as a terminal does it on Ctrl-C."""
        if whole_group:
            os.killpg(self._child.pid, number)
        else:
            self._child.send_signal(number)

    def wait(self, *, seconds: float = PATIENCE_S) -> int:
        """Its exit code, once it has ended; fail when it does not within the time."""
        deadline = time.monotonic() + seconds
        while self._read(deadline):
            pass
        return self._child.wait(timeout=max(0.0, deadline - time.monotonic()))

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self.send(number)
        return self.wait()

    def _read(self, deadline: float) -> bool:
        """Take in what it printed; False at the end of its output."""
        assert self._child.stdout is not None
        handle = self._child.stdout.fileno()
        readable, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
        assert readable, f"the awaited output did not come:\n{self.output}"
        chunk = os.read(handle, 65_536)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self.lines += [line.decode() for line in lines]
        return chunk != b""


class Answer(NamedTuple):
    """Of an HTTP answer, what tests look at; status 0 stands for a connection that was refused."""

    status: int
    body: Any


def environment() -> dict[str, str]:
    """What a command is started with: this source, no other store, and nothing that would hide a missing flush."""
    ours = {name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "HEADGATE_REDIS_URL")}
    return ours | {"PYTHONPATH": str(ROOT)}


def run_to_end(*arguments: str, cwd: Path, program: Sequence[str] = HEADGATE) -> tuple[int, list[str]]:
    """Exit code and output of a command that ends by itself."""
    with Command(*arguments, cwd=cwd, program=program) as command:
        code = command.wait()
        assert "Traceback" not in command.output, command.output
        return code, command.output.splitlines()


def call(
    method: str, url: str, body: Any = None, *, raw: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """One request on a connection of its own, with a JSON body or with raw bytes as one."""
    parts = urlsplit(url)
    if body is not None:
        raw, headers = json.dumps(body).encode(), {"Content-Type": "application/json"} | dict(headers or {})
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE_S)
    try:
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), raw, dict(headers or {}))
        response = connection.getresponse()
        text = response.read()
    except ConnectionError:
        return Answer(0, None)
    finally:
        connection.close()
    return Answer(response.status, json.loads(text) if text else None)


def wait_for(condition: Callable[[], bool], *, seconds: float = PATIENCE_S) -> None:
    """Return as soon as the condition holds; fail when it does not within the time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the awaited condition did not come to hold"
        time.sleep(0.005)


def server_lives(data_dir: Path) -> bool:
    """Whether any process may write to the embedded store here: each of them holds its lock."""
    try:
        lock = _directory.try_lock(data_dir / "server.lock")
    except FileNotFoundError:
        return False
    if lock is not None:
        _directory.release(lock)
    return lock is None


def server_pid(data_dir: Path) -> int:
    """The embedded server's process id, by its own word."""
    return int((data_dir / "valkey.pid").read_text())


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a path short enough for sockets. Embedded servers that a failing test leaves in it are ended."""
    with tempfile.TemporaryDirectory(prefix="hg-") as name:
        folder = Path(name)
        yield folder
        held = [lock.parent for lock in folder.rglob("server.lock") if server_lives(lock.parent)]
        for data_dir in held:
            # The lock is held only while the process named beside it lives, so the pid is its.
            with suppress(ProcessLookupError):
                os.kill(server_pid(data_dir), signal.SIGKILL)
        wait_for(lambda: not any(map(server_lives, held)))
