"""``CRON_TZ=``: which names are zones.

`ZoneInfo` alone is no judge: it loads the ``right/`` tree, which is 27 seconds off, takes any case where the
disk does, and fails in three unrelated ways. A name must fit the grammar and be listed before it is loaded.
"""

from __future__ import annotations

import re
import zoneinfo
from functools import cache
from typing import Final

from headgate.errors import InvalidSpec
from headgate.names import shown
from headgate.spec.grammar import INTERVAL_PREFIX, SPACE

MAX_ZONE: Final = 64
_PREFIX: Final = "CRON_TZ="
_PART: Final = "[A-Z][A-Za-z0-9_+-]*"
_ZONE: Final = re.compile(f"{_PART}(?:/{_PART})*")


def split_zone(text: str) -> tuple[zoneinfo.ZoneInfo | None, str]:
    """The zone a spec names, None without ``CRON_TZ=``, and the cron fields after it.

    Raises:
        InvalidSpec: the zone is unknown, or followed by something that takes none.
    """
    if not text.startswith(_PREFIX):
        return None, text
    name, *rest = re.split(f"[{SPACE}]", text.removeprefix(_PREFIX), maxsplit=1)
    cron = "".join(rest)
    if not name:
        raise InvalidSpec("CRON_TZ= has no zone; write it without a space, as in CRON_TZ=Europe/Berlin")
    if cron.strip(SPACE).startswith(INTERVAL_PREFIX.rstrip(":")):
        raise InvalidSpec("CRON_TZ= goes with cron fields only: @every counts from the UTC epoch in any zone")
    return _zone(name), cron


def _zone(name: str) -> zoneinfo.ZoneInfo:
    if len(name) > MAX_ZONE:
        raise InvalidSpec(f"zone {shown(name)} is {len(name)} characters long; the limit is {MAX_ZONE}")
    unknown = f"zone {shown(name)} is not in the time zone database; names are case sensitive, as in Europe/Berlin"
    if not _ZONE.fullmatch(name) or name not in _known_zones():
        raise InvalidSpec(unknown)
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # listed, yet its file is gone, damaged or unreadable
        raise InvalidSpec(unknown) from error


@cache
def _known_zones() -> frozenset[str]:
    # Walks the disk for up to 100 ms, hence once.
    return frozenset(zoneinfo.available_timezones())
