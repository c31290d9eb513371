"""What the reclaimer does to the store: one bounded pass at a time, fenced by its lease."""

from __future__ import annotations

import msgspec

from headgate.store.leases import check_lease
from headgate.store.scripts import Scripts


class Reclaimed(msgspec.Struct, frozen=True, kw_only=True):
    """What one call found and did.

    Attributes:
        now_ms: store time.
        all: every queue was looked at; else go on after `last`.
        last: name of the last queue that was looked at.
        due_next_ms: when something is due next in the queues that were looked at; None for never.
        running: jobs of these queues that run.
        moved: jobs whose time or deadline had come, or that were released.
        removed: finished jobs that were removed.
        crashed: jobs whose worker was not heard of again, and what became of them.
    """

    now_ms: int
    all: bool
    last: str
    due_next_ms: int | None
    running: int
    moved: int
    removed: int
    crashed: dict[str, str]


class Reclaims:
    """The reclaimer's calls in one namespace."""

    def __init__(self, scripts: Scripts, *, crash_limit: int, max_finished: int) -> None:
        self._scripts = scripts
        self._crash_limit = crash_limit
        self._max_finished = max_finished

    async def some(self, token: str, after: str, *, lease_ms: int) -> Reclaimed:
        """Look at some queues after `after`, and do what is due there; one atomic call of at most 200 jobs.

        Args:
            token: of the reclaimer's lease.
            after: name of the last queue looked at; '' to begin.
            lease_ms: life of a lease.

        Raises:
            LeaseLost: the lease is not this token's; nothing was done.
        """
        now, word, *rest = await self._scripts.call(
            "reclaim", token, after, lease_ms, self._crash_limit, self._max_finished
        )
        check_lease(word, "reclaimer")
        whole, last, due_next, running, moved, removed, crashed = rest
        return Reclaimed(
            now_ms=int(now),
            all=whole == "all",
            last=last,
            due_next_ms=int(due_next) if due_next else None,
            running=running,
            moved=moved,
            removed=removed,
            crashed=dict(zip(crashed[::2], crashed[1::2], strict=True)),
        )
