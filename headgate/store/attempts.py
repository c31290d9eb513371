"""Attempts: claim jobs for a worker, keep their leases, and take what became of them. Fenced by the claim's number."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from headgate.errors import StoreError
from headgate.log import log_event
from headgate.models import PeriodicOrigin
from headgate.settings import MAX_CALL_TICKS, MAX_DURATION_MS
from headgate.store.scripts import Scripts

_FIELDS: Final = (
    *(
        "kind",
        "attempt",
        "returns",
        "timeout_ms",
        "deadline_ms",
        "periodic_schedule_id",
        "periodic_tick_ms",
        "zone",
        "headers",
    ),
    "payload",
)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A job that this worker may run until its lease ends.

    Attributes:
        number: the fence: each claim of the namespace has a higher one.
        returns: how often it was handed back.
        attempt: attempts before this one that ended in an error.
        timeout_ms: longest run of this one, a duration; never past the job's deadline.
        origin: the tick it was made for, or None.
        zone: the zone of the schedule's spec; '' for UTC.
        headers: what hooks attached, text by name.
        payload: canonical JSON text.
    """

    number: str
    returns: int
    id: str
    kind: str
    queue: str
    attempt: int
    timeout_ms: int
    origin: PeriodicOrigin | None
    zone: str
    headers: dict[str, str]
    payload: str


class Admitted(msgspec.Struct, frozen=True):
    """What an admission gave.

    Attributes:
        claims: the jobs.
        look_again_ms: in how many ms to ask again, a duration; None when nothing is waited for.
        unusable: queues that were passed over, since a key of theirs holds something foreign.
        refused: what the gates refused, by reason: of queues that had more waiting than they let through (``paused``,
            ``max_concurrent``, ``rate_limit``) how many, of jobs that were turned away (``deadline``, ``quarantined``)
            how many.
    """

    claims: list[Claim]
    look_again_ms: int | None
    unusable: list[str] = []
    refused: dict[str, int] = {}


class Renewed(NamedTuple):
    """Ids of the jobs that are another's by now, and of those that are to be stopped."""

    lost: set[str]
    cancelled: set[str]


class Report(NamedTuple):
    """What became of an attempt.

    Attributes:
        verdict: ``completed``, ``failed``, ``undecodable``, ``cancelled``, or ``returned``.
        error: the class of the error, or ''.
        wait_ms: how long a failed or returned job waits for its next attempt; a duration.
    """

    claim: Claim
    verdict: str
    error: str = ""
    wait_ms: int = 0


class Attempts:
    """The running jobs of one namespace."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def admit(self, worker: str, queues: Sequence[str], capacity: int, lease_ms: int) -> Admitted:
        """Claim up to `capacity` jobs of these queues, the earlier queues first; one atomic call.

        What waited for an instant that has come is brought back first. At most 200 jobs, and 1 MiB of payload or one
        job.

        Raises:
            StoreUnavailable: the answer was lost; jobs it claimed run once their leases end.
        """
        now, again, unusable, refused, *rows = await self._scripts.call(
            "admit", worker, lease_ms, capacity, len(queues), *queues, *_FIELDS
        )
        claims = []
        for queue, job_id, number, *values in rows:
            try:
                claims.append(_claim(int(now), queue, job_id, number, values))
            except (TypeError, ValueError, msgspec.MsgspecError):
                await self._set_aside(queue, job_id, number)
        look_again_ms = max(0, int(again) - int(now)) if again else None
        reasons = dict(pair.split("=") for pair in refused.split())
        return Admitted(claims, look_again_ms, unusable.split(), {why: int(count) for why, count in reasons.items()})

    async def renew(self, claims: Sequence[Claim], lease_ms: int) -> Renewed:
        """Let the leases of these claims go on from now, 200 a call."""
        renewed = Renewed(set(), set())
        for start in range(0, len(claims), MAX_CALL_TICKS):
            some = claims[start : start + MAX_CALL_TICKS]
            args = [text for claim in some for text in (claim.queue, claim.id, claim.number)]
            for places, ids in zip(await self._scripts.call("renew_jobs", lease_ms, *args), renewed, strict=True):
                ids.update(some[place - 1].id for place in places)
        return renewed

    async def disown(self, worker: str, queues: Sequence[str], running: Sequence[str]) -> int:
        """Hand back, uncounted, what the store gave this worker in an answer that was lost; how many jobs.

        Args:
            worker: whose.
            queues: where to look: at the 1,000 of each whose leases end last.
            running: ids of the jobs that it does run.
        """
        found: int = await self._scripts.call("disown", worker, len(queues), *queues, *running)
        return found

    async def finish(self, reports: Sequence[Report]) -> list[str]:
        """Say what became of attempts, up to 200; one atomic call, each on its own.

        Returns:
            Of each the job's state now; ``lost``: another worker may have it, and nothing was done; or
            ``broken``: a set of its queue holds something foreign, and nothing was done.
        """
        args: list[str | int] = []
        for report in reports:
            claim = report.claim
            args += (claim.queue, claim.id, claim.number, report.verdict, report.error, report.wait_ms)
        states: list[str] = await self._scripts.call("finish", *args)
        return states

    async def _set_aside(self, queue: str, job_id: str, number: str) -> None:
        """End a job whose record cannot be read: it would be claimed for ever."""
        log_event(logging.ERROR, "job.unreadable", job=job_id)
        with suppress(StoreError):  # or else it comes back after its lease
            await self._scripts.call("finish", queue, job_id, number, "undecodable", "unreadable", 0)


def _claim(now_ms: int, queue: str, job_id: str, number: str, values: Sequence[Any]) -> Claim:
    fields = dict(zip(_FIELDS, values, strict=True))
    left_ms = max(1, int(fields["deadline_ms"]) - now_ms) if fields["deadline_ms"] else MAX_DURATION_MS
    if not fields["kind"] or not fields["payload"]:
        raise TypeError("a field is missing")
    schedule_id, tick_ms = fields["periodic_schedule_id"], fields["periodic_tick_ms"]
    return Claim(
        number=number,
        returns=int(fields["returns"] or 0),
        id=job_id,
        kind=fields["kind"],
        queue=queue,
        attempt=int(fields["attempt"]),
        timeout_ms=min(int(fields["timeout_ms"]), left_ms),
        origin=PeriodicOrigin(schedule_id=schedule_id, tick_ms=int(tick_ms)) if schedule_id else None,
        zone=fields["zone"] or "",
        headers=msgspec.json.decode(fields["headers"] or "{}", type=dict[str, str]),
        payload=fields["payload"],
    )
