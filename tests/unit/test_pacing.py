"""Waits that grow and spread, and nudges that are not lost."""

from __future__ import annotations

import anyio
import pytest
from anyio.lowlevel import checkpoint

from headgate.pacing import Backoff, Wakeup


def test_waits_double_up_to_the_longest() -> None:
    """Each lies between half of its step and the whole of it."""
    backoff = Backoff(100, 1500)
    for step in (100, 200, 400, 800, 1500, 1500, 1500):
        assert step / 2 <= backoff.next_ms() <= step


def test_waits_of_two_processes_differ() -> None:
    """Jitter spreads the same step over its range, so that processes do not move in step."""
    waits = [Backoff(1000, 1000).next_ms() for _ in range(100)]
    assert len(set(waits)) > 90
    assert max(waits) - min(waits) > 200


def test_a_success_starts_again_at_the_first_wait() -> None:
    """`failures` counts since the last success."""
    backoff = Backoff(100, 10_000)
    for _ in range(5):
        backoff.next_ms()
    assert backoff.failures == 5
    backoff.reset()
    assert backoff.failures == 0
    assert backoff.next_ms() <= 100


def test_an_outage_of_any_length_keeps_the_longest_wait() -> None:
    """No step overflows, however many there were."""
    backoff = Backoff(100, 5000)
    backoff.failures = 10**9
    assert 2500 <= backoff.next_ms() <= 5000
    assert backoff.failures == 10**9 + 1


@pytest.mark.parametrize("seconds", [0.0, 5.0])
async def test_a_nudge_before_the_wait_ends_it_at_once(seconds: float) -> None:
    """It is kept until somebody waits, even for no time at all."""
    wakeup = Wakeup()
    wakeup.set()
    with anyio.fail_after(1):
        assert await wakeup.wait(seconds)


async def test_a_nudge_during_the_wait_ends_it() -> None:
    """The waiter need not have known."""
    wakeup = Wakeup()
    answers: list[bool] = []

    async def waiter() -> None:
        answers.append(await wakeup.wait(30))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waiter)
            await checkpoint()
            assert answers == []
            wakeup.set()
    assert answers == [True]


async def test_a_nudge_ends_one_wait_only() -> None:
    """Many nudges before one wait are one; the next wait is not woken by them."""
    wakeup = Wakeup()
    for _ in range(3):
        wakeup.set()
    assert await wakeup.wait(5)
    assert not await wakeup.wait(0)
    wakeup.set()
    assert await wakeup.wait(5)


async def test_a_wait_without_a_nudge_ends_by_time() -> None:
    """And says that none came."""
    assert not await Wakeup().wait(0.001)


async def test_a_cancelled_wait_leaves_the_nudge_to_the_next() -> None:
    """A waiter that is cancelled takes nothing with it."""
    wakeup = Wakeup()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await wakeup.wait(30)
    wakeup.set()
    with anyio.fail_after(1):
        assert await wakeup.wait(30)
