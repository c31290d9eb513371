"""Log-ins that fail are counted by address and in all, and what is beyond waits."""

from __future__ import annotations

import pytest

from headgate.http.access import Attempts, TooManyAttempts
from tests.http.access.stage import Clock


@pytest.fixture
def attempts(clock: Clock) -> Attempts:
    return Attempts(clock=clock)


def fail(attempts: Attempts, remote: str, times: int = 1) -> None:
    for _ in range(times):
        attempts.check(remote)
        attempts.failed(remote)


def wait_of(attempts: Attempts, remote: str) -> int:
    with pytest.raises(TooManyAttempts) as refused:
        attempts.check(remote)
    assert refused.value.headers == {"Retry-After": str(refused.value.retry_after_s)}
    return refused.value.retry_after_s


def test_an_address_may_fail_ten_times_a_minute(attempts: Attempts, clock: Clock) -> None:
    fail(attempts, "10.0.0.1", 9)
    clock.move(20)
    fail(attempts, "10.0.0.1")
    assert wait_of(attempts, "10.0.0.1") == 40
    attempts.check("10.0.0.2")
    clock.move(39.5)
    assert wait_of(attempts, "10.0.0.1") == 1
    clock.move(0.5)
    fail(attempts, "10.0.0.1", 9)  # the tenth of before still counts
    assert wait_of(attempts, "10.0.0.1") == 20


def test_all_together_may_fail_a_hundred_times_a_minute(attempts: Attempts, clock: Clock) -> None:
    for number in range(100):
        fail(attempts, f"10.0.0.{number}")
    assert wait_of(attempts, "10.9.9.9") == 60
    clock.move(60)
    attempts.check("10.9.9.9")


def test_the_longer_wait_is_said(attempts: Attempts, clock: Clock) -> None:
    for number in range(90):
        fail(attempts, f"10.0.0.{number}")
    clock.move(30)
    fail(attempts, "10.9.9.9", 10)
    assert wait_of(attempts, "10.9.9.9") == 60
    assert wait_of(attempts, "10.8.8.8") == 30


def test_what_is_refused_does_not_prolong_the_wait(attempts: Attempts, clock: Clock) -> None:
    """Or whoever goes on would be locked out for ever."""
    fail(attempts, "10.0.0.1", 10)
    for _ in range(59):
        clock.move(1)
        wait_of(attempts, "10.0.0.1")
    clock.move(1)
    attempts.check("10.0.0.1")


def test_what_is_remembered_has_a_bound(attempts: Attempts, clock: Clock) -> None:
    """However many addresses try: failures beyond the limit in all never happen."""
    for number in range(5_000):
        try:
            fail(attempts, f"10.{number // 65_536}.{number // 256}.{number % 256}")
        except TooManyAttempts:
            clock.move(0.1)
        assert len(attempts._failures) <= 100
