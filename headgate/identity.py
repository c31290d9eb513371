"""How a process is known in the store: host, pid and a nonce."""

from __future__ import annotations

import os
import platform
import re
import uuid


def host_name() -> str:
    """The machine's name, of characters that keys and log lines can carry."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", platform.node()) or "host"


def new_process_id() -> str:
    """An id that no other process, and no other part of this one, has."""
    return f"{host_name()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
