"""One attempt at a job: decode, call within its time, a verdict. Nothing an actor does comes out as an exception."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import anyio.to_thread
import msgspec

from headgate.errors import Discard, HeadgateError
from headgate.log import log_event, where_raised
from headgate.models import PeriodicOrigin
from headgate.registry import Actor


class Verdict(StrEnum):
    """What an attempt came to, as the store is told."""

    COMPLETED = "completed"
    FAILED = "failed"
    UNDECODABLE = "undecodable"
    CANCELLED = "cancelled"
    RETURNED = "returned"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What an actor is told about the job it runs.

    Attributes:
        attempt: 1 for the first one, errors that a handler returned counted, lost leases not.
        origin: the tick it was made for; None for a job that somebody asked for.
        tick: the same instant, aware, in the schedule's zone.
        headers: what hooks attached, text by name.
        logger: a logger whose lines carry the job's id and kind.
    """

    id: str
    kind: str
    attempt: int
    origin: PeriodicOrigin | None
    tick: datetime | None
    headers: dict[str, str]
    logger: logging.LoggerAdapter[logging.Logger]


CallNext = Callable[[Job], Awaitable[None]]
Middleware = Callable[[Job, CallNext], Awaitable[None]]


async def run_attempt(
    actor: Actor, job: Job, payload: str, timeout_ms: int, middleware: Sequence[Middleware]
) -> tuple[Verdict, str]:
    """Run one attempt.

    Whatever a handler raises is a failed attempt, SystemExit and a cancellation of its own making included. Only one
    that comes from outside passes through; a handler that answers it with another error is handed back.

    Returns:
        The verdict and, where there was one, the class of the error.
    """
    try:
        arguments = actor.decode(payload)
    except HeadgateError as error:
        log_event(logging.ERROR, "job.undecodable", job=job.id, kind=job.kind, detail=error.message)
        return Verdict.UNDECODABLE, error.code

    async def call(job: Job) -> None:
        await _call(actor, job, arguments)

    chain: CallNext = call
    for each in reversed(middleware):
        chain = partial(_around, each, chain)
    try:
        with anyio.fail_after(timeout_ms / 1000):
            await chain(job)
    except Discard:
        return Verdict.CANCELLED, "Discard"
    except BaseException as error:
        if _cancelled():
            if isinstance(error, anyio.get_cancelled_exc_class()):
                raise
            return Verdict.RETURNED, ""
        log_event(logging.WARNING, "job.failed", job=job.id, kind=job.kind, error=where_raised(error))
        return Verdict.FAILED, type(error).__name__
    return Verdict.COMPLETED, ""


async def _around(middleware: Middleware, call_next: CallNext, job: Job) -> None:
    await middleware(job, call_next)


async def _call(actor: Actor, job: Job, arguments: dict[str, Any]) -> None:
    positional = (job,) if actor.wants_job else ()
    if actor.asynchronous:
        await actor.function(*positional, **arguments)
        return
    # How many run at once is the worker's affair, so there is no waiting for a thread here.
    result = await anyio.to_thread.run_sync(
        partial(actor.function, *positional, **arguments), abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
    )
    if inspect.isawaitable(result):  # a coroutine function behind a plain wrapper
        await result


def _cancelled() -> bool:
    """Whether somebody outside wants this task to end."""
    task = asyncio.current_task()
    return anyio.current_effective_deadline() == -math.inf or (task is not None and task.cancelling() > 0)


def local_tick(origin: PeriodicOrigin | None, zone: str) -> datetime | None:
    """The tick as an aware datetime in its schedule's zone."""
    if origin is None:
        return None
    return datetime.fromtimestamp(origin.tick_ms / 1000, UTC if not zone else ZoneInfo(zone))
