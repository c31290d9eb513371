"""One attempt: its verdict, its time, its middleware. Nothing a handler raises comes out; no error text is logged."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from headgate.errors import Discard
from headgate.log import LOGGER
from headgate.models import PeriodicOrigin
from headgate.registry import Registry
from headgate.runner import CallNext, Job, Middleware, Verdict, local_tick, run_attempt

SECRET = "hunter2"
LONG_MS = 10_000


def a_job(**changes: Any) -> Job:
    fields: dict[str, Any] = {
        "id": "job-1",
        "kind": "test",
        "attempt": 1,
        "origin": None,
        "tick": None,
        "headers": {},
        "logger": logging.LoggerAdapter(LOGGER, {}),
    }
    return Job(**fields | changes)


async def attempt(
    function: Callable[..., Any],
    payload: str = "{}",
    *,
    timeout_ms: int = LONG_MS,
    middleware: Sequence[Middleware] = (),
) -> tuple[Verdict, str]:
    actor = Registry().register(function, "test", "default")
    return await run_attempt(actor, a_job(), payload, timeout_ms, middleware)


def raising(error: BaseException) -> Callable[[], Awaitable[None]]:
    async def function() -> None:
        raise error

    return function


async def test_an_actor_gets_the_job_and_its_arguments() -> None:
    seen: list[Any] = []

    async def function(job: Job, team: str, count: int = 2) -> str:
        seen.extend([job.id, team, count])
        return "what it returns is nobody's business"

    assert await attempt(function, '{"team": "eu"}') == (Verdict.COMPLETED, "")
    assert seen == ["job-1", "eu", 2]


async def test_a_payload_that_does_not_fit_is_undecodable_and_calls_nothing(caplog: pytest.LogCaptureFixture) -> None:
    called: list[int] = []

    async def function(count: int) -> None:
        called.append(count)

    async def middleware(job: Job, call_next: CallNext) -> None:
        called.append(0)
        await call_next(job)

    payload = f'{{"count": "{SECRET}"}}'
    with caplog.at_level(logging.DEBUG):
        assert await attempt(function, payload, middleware=[middleware]) == (Verdict.UNDECODABLE, "invalid_request")
        assert await attempt(function, "{", middleware=[middleware]) == (Verdict.UNDECODABLE, "invalid_syntax")
    assert called == []
    assert "count" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ValueError(SECRET), "ValueError"),
        (TimeoutError(SECRET), "TimeoutError"),
        (ExceptionGroup(SECRET, [ValueError(SECRET)]), "ExceptionGroup"),
        (SystemExit(SECRET), "SystemExit"),
        (KeyboardInterrupt(SECRET), "KeyboardInterrupt"),
        (BaseExceptionGroup(SECRET, [SystemExit(SECRET)]), "BaseExceptionGroup"),
        (asyncio.CancelledError(SECRET), "CancelledError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_whatever_a_handler_raises_is_a_failed_attempt_named_by_its_class(
    error: BaseException, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    def plain() -> None:
        raise error

    with caplog.at_level(logging.DEBUG):
        assert await attempt(raising(error)) == (Verdict.FAILED, name)
        if not isinstance(error, asyncio.CancelledError):
            assert await attempt(plain) == (Verdict.FAILED, name)
    failures = [record for record in caplog.records if record.getMessage().startswith("job.failed")]
    assert failures
    for record in failures:
        assert isinstance(error, BaseExceptionGroup) or "line " in record.getMessage(), "the place is missing"
        assert record.exc_info is None
    assert SECRET not in caplog.text


async def test_a_cancelled_task_that_a_handler_waits_for_is_its_own_failure() -> None:
    async def function() -> None:
        inner = asyncio.ensure_future(asyncio.sleep(LONG_MS))
        inner.cancel()
        await inner

    assert await attempt(function) == (Verdict.FAILED, "CancelledError")


async def test_discard_ends_the_job() -> None:
    assert await attempt(raising(Discard("not worth it"))) == (Verdict.CANCELLED, "Discard")

    def plain() -> None:
        raise Discard("not worth it")

    assert await attempt(plain) == (Verdict.CANCELLED, "Discard")


async def test_an_attempt_that_takes_too_long_is_cancelled_and_has_failed() -> None:
    ended: list[str] = []

    async def function() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cleaned up")

    assert await attempt(function, timeout_ms=20) == (Verdict.FAILED, "TimeoutError")
    assert ended == ["cleaned up"]


async def test_a_thread_that_takes_too_long_is_left_behind() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def plain() -> None:
        go_on.wait(10)
        ended.set()

    try:
        assert await attempt(plain, timeout_ms=20) == (Verdict.FAILED, "TimeoutError")
    finally:
        go_on.set()
    assert await anyio.to_thread.run_sync(ended.wait, 10)


async def test_cancellation_from_outside_passes_through() -> None:
    outcome: list[object] = []

    async def run() -> None:
        outcome.append(await attempt(anyio.sleep_forever))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert outcome == []


async def test_a_handler_that_answers_a_cancellation_with_another_error_is_handed_back() -> None:
    """As drivers do that turn it into an error of their own: it is not the job's failure."""
    outcome: list[object] = []

    async def function() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            raise ConnectionError from None

    async def run() -> None:
        outcome.append(await attempt(function))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert outcome == [(Verdict.RETURNED, "")]


def noting(name: str, notes: list[str]) -> Middleware:
    async def middleware(job: Job, call_next: CallNext) -> None:
        notes.append(f"{name} in")
        try:
            await call_next(job)
        finally:
            notes.append(f"{name} out")

    return middleware


async def test_the_first_middleware_is_the_outermost_and_all_see_errors() -> None:
    notes: list[str] = []

    async def function() -> None:
        notes.append("actor")
        raise ValueError

    chain = [noting("first", notes), noting("second", notes)]
    assert await attempt(function, middleware=chain) == (Verdict.FAILED, "ValueError")
    assert notes == ["first in", "second in", "actor", "second out", "first out"]


async def test_middleware_may_answer_for_the_actor_replace_the_job_and_swallow_errors() -> None:
    seen: list[int] = []

    async def function(job: Job) -> None:
        seen.append(job.attempt)
        raise ValueError

    async def short(job: Job, call_next: CallNext) -> None: ...

    async def replacing(job: Job, call_next: CallNext) -> None:
        await call_next(a_job(attempt=job.attempt + 41))

    async def swallowing(job: Job, call_next: CallNext) -> None:
        with suppress(ValueError):
            await call_next(job)

    assert await attempt(function, middleware=[short]) == (Verdict.COMPLETED, "")
    assert seen == []
    assert await attempt(function, middleware=[swallowing, replacing]) == (Verdict.COMPLETED, "")
    assert seen == [42]


async def test_middleware_that_fails_has_failed_the_attempt_and_shares_its_time() -> None:
    async def failing(job: Job, call_next: CallNext) -> None:
        await call_next(job)
        raise KeyError

    async def slow(_job: Job, _next: CallNext) -> None:
        await anyio.sleep_forever()

    async def function() -> None: ...

    assert await attempt(function, middleware=[failing]) == (Verdict.FAILED, "KeyError")
    assert await attempt(function, timeout_ms=20, middleware=[slow]) == (Verdict.FAILED, "TimeoutError")


async def test_plain_functions_run_in_a_thread_with_the_context_of_the_middleware() -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    seen: list[object] = []

    def plain() -> None:
        seen.extend([threading.current_thread() is threading.main_thread(), tenant.get()])
        tenant.set("changed in the thread")

    async def middleware(job: Job, call_next: CallNext) -> None:
        tenant.set("eu")
        await call_next(job)
        seen.append(tenant.get())

    assert await attempt(plain, middleware=[middleware]) == (Verdict.COMPLETED, "")
    assert seen == [False, "eu", "eu"]


async def test_threads_wait_for_no_other_threads() -> None:
    """How many jobs run at once is the worker's affair: a hundred means a hundred."""
    barrier = threading.Barrier(100)

    def plain() -> None:
        barrier.wait(10)

    verdicts: list[Verdict] = []

    async def run() -> None:
        verdicts.append((await attempt(plain))[0])

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(run)
    assert verdicts == [Verdict.COMPLETED] * 100


async def test_a_coroutine_function_behind_a_plain_wrapper_is_awaited() -> None:
    done: list[int] = []

    async def function() -> None:
        await anyio.lowlevel.checkpoint()
        done.append(1)

    assert await attempt(lambda: function()) == (Verdict.COMPLETED, "")  # noqa: PLW0108 - the wrapper is the point
    assert done == [1]


def test_a_tick_is_told_in_the_zone_of_its_schedule() -> None:
    origin = PeriodicOrigin(schedule_id="a", tick_ms=1_806_217_200_123)  # 2027-03-28T07:00:00.123Z
    berlin = local_tick(origin, "Europe/Berlin")
    assert berlin is not None
    assert berlin.isoformat() == "2027-03-28T09:00:00.123000+02:00"
    plain = local_tick(origin, "")
    assert plain is not None
    assert plain.utcoffset() == timedelta(0)
    assert plain == berlin
    assert local_tick(None, "Europe/Berlin") is None
