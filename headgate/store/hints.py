"""Hints: which schedules and jobs have changed, as the scripts that changed them say on a channel.

They say that there is something to read, and not what. None of them is certain: after each loss there is a `RESET`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

import anyio
import msgspec
from redis.asyncio import Redis

from headgate.connect import connect_pubsub
from headgate.pacing import Backoff
from headgate.settings import Settings
from headgate.store.wakeups import Wakeups

_FIRST_MS: Final = 100
_LONGEST_MS: Final = 2_000
_REVISION: Final = re.compile(r"[0-9]{1,15}")
_KINDS: Final[dict[str, Literal["schedule", "job"]]] = {"schedule": "schedule", "job": "job"}


class Hint(msgspec.Struct, frozen=True):
    """Something has changed.

    Attributes:
        kind: of what; of a ``reset``, anything may have.
        id: of the schedule or job, or the name of the duty; '' of a reset.
        revision: of the schedule, which firing leaves as it is, or the epoch of the duty; None of a job, and of a
            schedule that was deleted.
    """

    kind: Literal["reset", "schedule", "job", "duty"]
    id: str = ""
    revision: int | None = None


RESET: Final = Hint("reset")
"""Hints were lost: what was read before may be out of date."""

Heed: TypeAlias = Callable[[Sequence[Hint]], None]


class Hints:
    """The hints of one namespace, read on a connection of its own.

    Args:
        client: as made by `headgate.connect.connect_pubsub`.
        namespace: whose hints.
    """

    def __init__(self, client: Redis, namespace: str = "default") -> None:
        self._channel = Wakeups(client, namespace, channel="hints")

    async def follow(self, heed: Heed) -> None:
        """Hand on what has changed until cancelled, with back-off while the connection is broken; nothing else ends it.

        `RESET` comes first, once nothing that follows is missed, and again after a break or an unreadable message.
        """
        await self._channel.follow(lambda said: heed(_read(said)), Backoff(_FIRST_MS, _LONGEST_MS))


async def follow_hints(url: str, namespace: str, settings: Settings, heed: Heed) -> None:
    """Do as `Hints.follow`, on a connection that is opened for it and closed behind it."""
    client = connect_pubsub(url, settings)
    try:
        await Hints(client, namespace).follow(heed)
    finally:
        with anyio.CancelScope(shield=True):
            await client.aclose()


def _read(said: str) -> list[Hint]:
    """The hints of a message. Anything else, ``subscribed`` included, may stand for any that were lost."""
    try:
        return [_hint(*text.split(" ", 2)) for text in msgspec.json.decode(said, type=list[str])]
    except (msgspec.DecodeError, KeyError, TypeError):
        return [RESET]


def _hint(kind: str, revision: str, changed: str) -> Hint:
    return Hint(_KINDS[kind], changed, int(revision) if _REVISION.fullmatch(revision) else None)
