"""An environment of its own for each peer, made on demand: their ranges of redis-py exclude each other."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

REQUIREMENTS: Final = {
    "arq": ("arq>=0.26,<1",),
    "saq": ("saq[redis]>=0.26,<1", "hiredis>=3,<4", "typing-extensions>=4"),  # the last is missing from its own
    "streaq": ("streaq>=7,<8",),
    "taskiq": ("taskiq>=0.12,<1", "taskiq-redis>=1.2,<2", "hiredis>=3,<4"),
}
"""With hiredis for all that use redis-py, as Headgate has it."""
_INSTALL_S: Final = 300.0
_REASON_CHARS: Final = 200


class NotInstalled(Exception):
    """A peer cannot be had here; the message says why."""


def default_folder() -> Path:
    """Where environments are kept from run to run: the user's cache, or else the temporary folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(cache) / "headgate-benchmarks"
    return folder if os.access(Path(cache), os.W_OK) else Path(tempfile.gettempdir()) / f"{folder.name}-{os.getuid()}"


def interpreter_of(peer: str, folder: Path) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there yet.

    Raises:
        NotInstalled: it could not be made.
    """
    environment = folder / f"{peer}-{sys.version_info.major}.{sys.version_info.minor}"
    interpreter, mark = environment / "bin" / "python", environment / "installed.txt"
    wanted = "\n".join(REQUIREMENTS[peer])
    if mark.is_file() and mark.read_text("utf-8") == wanted:
        return interpreter
    print(f"installing {' '.join(REQUIREMENTS[peer])} into {environment}", file=sys.stderr)
    _run([sys.executable, "-m", "venv", "--clear", str(environment)])
    _run([str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS[peer]])
    mark.write_text(wanted, "utf-8")
    return interpreter


def _run(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, timeout=_INSTALL_S, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line.startswith("ERROR")] or ["pip gave no reason"]
        raise NotInstalled(lines[-1][:_REASON_CHARS]) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(str(error)[:_REASON_CHARS]) from None
