"""The answer to a range backfill, kept under its idempotency key: while it grows, and when it is whole.

A backfill is several script calls. Each that makes jobs of ticks also keeps, in the same script, which ticks the
request has had so far; when nothing more is to be done, the answer is made whole. A repeat goes on where the kept
progress ends, or gets the whole answer: there is no state in which it would have to wait. A call writes only while what
is kept is what it has read and done itself: of two with one key at the same time, each finds out how far the other is.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from headgate.errors import IdempotencyKeyReused, StoreError
from headgate.models import Backfilled
from headgate.store.scripts import Scripts


class OvertakenError(Exception):
    """Another call with the same key has come further; what is kept is to be read again. Never leaves the store."""


class Progress(msgspec.Struct):
    """What a request has done so far.

    Attributes:
        already_ran: as in the answer: it is counted once, before the first tick becomes a job.
        unknown: the same.
        ticks: those that are in no gap any more, oldest first. Without one, nothing is kept yet.
    """

    already_ran: int
    unknown: int
    ticks: list[int]


class KeptAnswer:
    """The answer under one key of one schedule, for 24 hours after its last word.

    Args:
        scripts: of the namespace.
        schedule_id: whose range is made up for.
        key: as checked; '' keeps nothing.
        request: fingerprint of what is asked for.
    """

    def __init__(self, scripts: Scripts, schedule_id: str, key: str, request: str) -> None:
        self._scripts = scripts
        self._schedule_id = schedule_id
        self._key = key
        self._request = request

    async def read(self) -> Backfilled | Progress | None:
        """What is kept: the whole answer, marked as replayed; how far the request has come; or None.

        Raises:
            IdempotencyKeyReused: the key came with another request before.
            StoreError: the key holds something foreign.
        """
        if not self._key:
            return None
        word, *rest = await self._call()
        if word == "reused":
            raise IdempotencyKeyReused("this Idempotency-Key came with another request before", field="Idempotency-Key")
        return self._parsed(rest[0]) if rest[0] else None

    def arguments(self, progress: Progress) -> tuple[str, str, str, str]:
        """Key, request and progress, as the script takes them that makes jobs."""
        if not self._key:
            return "", "", "", ""
        return self._key, self._request, _head(progress), _joined(progress.ticks)

    async def finish(self, progress: Progress, answer: Backfilled) -> None:
        """Make the answer whole. Atomic.

        Raises:
            OvertakenError: `progress` is not what is kept.
        """
        if not self._key:
            return
        so_far = _head(progress) + _joined(progress.ticks) if progress.ticks else ""
        word, *_ = await self._call(so_far, _whole(answer))
        if word != "kept":
            raise OvertakenError

    async def _call(self, *words: str) -> list[str]:
        answer: list[str] = await self._scripts.call(
            "backfill_answer", self._schedule_id, self._key, self._request, *words
        )
        return answer

    def _parsed(self, text: str) -> Backfilled | Progress:
        with suppress(ValueError):
            match text.split(" "):
                case ["open", ran, unknown, ticks]:
                    return Progress(int(ran), int(unknown), _split(ticks))
                case ["done", ran, unknown, stopped_by, more_after, ticks]:
                    return Backfilled(
                        dry_run=False,
                        ticks=_split(ticks),
                        already_ran=int(ran),
                        unknown=int(unknown),
                        stopped_by=None if stopped_by == "-" else stopped_by,
                        more_after_ms=None if more_after == "-" else int(more_after),
                        replayed=True,
                    )
        raise self._foreign()

    def _foreign(self) -> StoreError:
        return StoreError(f"the answer kept for schedule {self._schedule_id} is not one that headgate wrote")


def _head(progress: Progress) -> str:
    return f"open {progress.already_ran} {progress.unknown} "


def _whole(answer: Backfilled) -> str:
    more_after = "-" if answer.more_after_ms is None else answer.more_after_ms
    head = f"done {answer.already_ran} {answer.unknown} {answer.stopped_by or '-'} {more_after} "
    return head + _joined(answer.ticks)


def _joined(ticks: list[int]) -> str:
    return ",".join(map(str, ticks))


def _split(ticks: str) -> list[int]:
    return [int(tick) for tick in ticks.split(",")] if ticks else []
