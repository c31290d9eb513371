"""Limits that are a contract, and settings that must not contradict each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import settings
from headgate.errors import InvalidRequest
from headgate.settings import Settings

CONTRACT = {
    "MAX_SCHEDULE_ID": 200,
    "MAX_JOB_ID": 255,
    "MAX_NAME": 128,
    "MAX_NAMESPACE": 64,
    "MAX_IDEMPOTENCY_KEY": 200,
    "MAX_PAYLOAD_BYTES": 1_048_576,
    "MAX_JSON_DEPTH": 64,
    "MAX_BACKFILL": 1000,
    "MAX_PAGE": 200,
    "MAX_EVENTS_PAGE": 100,
    "MAX_EVENTS": 100,
    "MAX_GAPS": 100,
    "MAX_OUTCOMES": 30,
    "MAX_MANUAL": 100,
    "MAX_CALL_TICKS": 200,
    "MAX_CALL_BYTES": 1_048_576,
    "MAX_INSTANT_MS": 253_402_300_799_999,
    "MAX_BATCH": 200,
    "MAX_BATCH_BYTES": 2_097_152,
    "MAX_UNIQUE_KEY_BYTES": 255,
    "MAX_HEADERS": 64,
    "MAX_TEXT": 1_000,
    "MAX_WHO": 200,
    "MAX_LABELS": 16,
    "MAX_LABEL": 63,
    "MAX_EXAMINED": 1_000,
    "MAX_RANGE": 1_000,
    "MAX_CHANGES": 50,
    "MAX_QUEUE_LIMIT": 1_000_000_000,
    "MAX_PRIORITY": 100,
    "MAX_ATTEMPTS": 100,
    "PRIORITY_STEP_MS": 60_000,
    "ARCHIVE_RETENTION_MS": 604_800_000,
    "REPEAT_MS": 10_000,
    "IDEMPOTENCY_MS": 86_400_000,
    "RETRY_MIN_MS": 1_000,
    "RETRY_MAX_MS": 60_000,
    "MARKER_GAPS": 16,
    "MARKER_MIN_MS": 600_000,
    "MARKER_MAX_MS": 86_400_000,
}


@pytest.mark.parametrize(("name", "value"), CONTRACT.items())
def test_limits_are_what_the_contract_says(name: str, value: int) -> None:
    """Clients and stored records rely on these numbers."""
    assert getattr(settings, name) == value


def test_one_payload_of_the_longest_kind_fits_one_call() -> None:
    """Else the largest job could never be fired."""
    assert settings.MAX_PAYLOAD_BYTES <= settings.MAX_CALL_BYTES
    assert settings.MAX_PAYLOAD_BYTES < settings.MAX_BODY_BYTES


def test_what_several_jobs_may_be_fits_one_call() -> None:
    """A batch is one script call; one of the largest jobs fits into one, and a batch into no smaller body."""
    assert settings.MAX_BATCH <= settings.MAX_CALL_TICKS
    assert settings.MAX_PAYLOAD_BYTES < settings.MAX_BATCH_BYTES


def test_a_finished_job_is_there_for_the_repeat_of_a_lost_call() -> None:
    """A client repeats within its own timeout; the job must not be gone by then."""
    assert 2 * Settings().call_timeout_ms < settings.REPEAT_MS


def test_the_defaults_agree_with_each_other() -> None:
    """They pass their own check, keep history for a year and beat at a third of the lease."""
    it = Settings()
    assert (it.lease_ttl_ms, it.heartbeat_ms, it.history_retention_ms) == (5_000, 1_666, 31_536_000_000)
    assert (it.crash_limit, it.max_finished) == (3, 10_000)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"lease_ttl_ms": -1}, "lease_ttl_ms"),
        ({"history_retention_ms": -1}, "history_retention_ms"),
        ({"backoff_min_ms": -1}, "backoff_min_ms"),
        ({"call_timeout_ms": 1_667}, "call_timeout_ms"),
        ({"lease_ttl_ms": 4_499}, "call_timeout_ms"),
        ({"lease_margin_ms": 2_500}, "lease_margin_ms"),
        ({"lease_margin_ms": 0}, "lease_margin_ms"),
        ({"sweep_limit": 0}, "sweep_limit"),
        ({"sweep_limit": 1_001}, "sweep_limit"),
        ({"crash_limit": 0}, "crash_limit"),
        ({"max_finished": 0}, "max_finished"),
    ],
)
def test_a_contradiction_is_refused_by_name(values: dict[str, int], field: str) -> None:
    """A call may take a third of the lease, the margin is under half of it, nothing is negative."""
    with pytest.raises(InvalidRequest) as caught:
        Settings(**values)
    assert caught.value.field == field
    assert field in caught.value.message


@pytest.mark.parametrize(
    "values",
    [
        {"call_timeout_ms": 1_666},
        {"lease_ttl_ms": 4_500},
        {"lease_margin_ms": 2_499},
        {"sweep_limit": 1},
        {"history_retention_ms": 0},
        {"crash_limit": 1},
        {"max_finished": 1},
    ],
)
def test_the_last_value_inside_of_a_rule_is_taken(values: dict[str, int]) -> None:
    """The borders of the rules above, seen from inside."""
    for name, value in values.items():
        assert getattr(Settings(**values), name) == value


@given(st.integers(1, 100_000), st.integers(1, 50_000), st.integers(1, 50_000))
def test_a_holder_always_gets_to_renew_before_it_stops_trusting_its_lease(ttl: int, margin: int, timeout: int) -> None:
    """Whatever is accepted leaves room for a heartbeat, and for its answer, inside of the trusted part of the lease."""
    try:
        it = Settings(lease_ttl_ms=ttl, lease_margin_ms=margin, call_timeout_ms=timeout)
    except InvalidRequest:
        return
    assert it.heartbeat_ms >= 1
    assert it.heartbeat_ms < it.lease_ttl_ms - it.lease_margin_ms
    assert it.call_timeout_ms < it.lease_ttl_ms - it.lease_margin_ms


def test_settings_cannot_change_under_their_users() -> None:
    """They are shared by everything that runs in the process."""
    it: Any = Settings()
    with pytest.raises(AttributeError):
        it.lease_ttl_ms = 1
