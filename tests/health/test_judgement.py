"""What is seen, judged: a code and a sentence for each trouble, and one word for the whole. Pure."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headgate.errors import StoreError, StoreFull, StoreUnavailable
from headgate.health import judge
from headgate.models import DutyState, HealthStatus, OverdueSchedule, Overview


def duty(name: str, left_ms: int | None = 3_000) -> DutyState:
    return DutyState(name=name, holder="p" if left_ms else None, epoch=1, lease_left_ms=left_ms)


WELL = Overview(
    store_time_ms=1_800_000_000_000,
    duties=[duty("scheduler"), duty("reclaimer")],
    processes=1,
    swept_at_ms=None,
    due_next_ms=None,
    overdue_by_ms=0,
    overdue=0,
    oldest_overdue=None,
    schedules=0,
    paused=0,
    failing=0,
)
OVERDUE: dict[str, Any] = {
    "overdue": 2,
    "oldest_overdue": OverdueSchedule(schedule_id="daily", due_ms=1_799_999_900_500),
}


def test_all_is_well_whenever_the_last_sweep_was() -> None:
    """With nothing due a scheduler sleeps: a sweep of long ago is no fault."""
    for swept_at_ms in (None, 0, WELL.store_time_ms):
        health = judge(msgspec.structs.replace(WELL, swept_at_ms=swept_at_ms), None)
        assert (health.status, health.store, health.problems) == ("ok", "ok", [])


@pytest.mark.parametrize(
    ("seen", "code", "status"),
    [
        ({"duties": [duty("scheduler", None), duty("reclaimer")]}, "no_scheduler", "down"),
        ({"duties": [duty("scheduler"), duty("reclaimer", None)]}, "no_reclaimer", "degraded"),
        (OVERDUE, "overdue", "degraded"),
        ({"failing": 1}, "failing", "degraded"),
    ],
)
def test_each_trouble_has_its_code(seen: dict[str, Any], code: str, status: str) -> None:
    health = judge(msgspec.structs.replace(WELL, **seen), None)
    assert [problem.code for problem in health.problems] == [code]
    assert (health.status, health.store) == (status, "ok")


def test_a_lease_without_an_end_is_nobodys() -> None:
    """Headgate never makes one, so whoever made it does not schedule."""
    foreign = DutyState(name="scheduler", holder="by hand", epoch=0, lease_left_ms=None)
    health = judge(msgspec.structs.replace(WELL, duties=[foreign, duty("reclaimer")]), None)
    assert health.status is HealthStatus.DOWN


def test_sentences_say_how_many_and_which() -> None:
    health = judge(msgspec.structs.replace(WELL, failing=1, **OVERDUE), None)
    assert [problem.message for problem in health.problems] == [
        "2 schedules are overdue; daily was due at 2027-01-15T07:58:20.500+00:00.",
        "1 schedule is failing: a due tick does not get through and is retried.",
    ]


@pytest.mark.parametrize("error", [StoreFull("why"), StoreUnavailable("why"), StoreError("why")])
@pytest.mark.parametrize("read", [True, False])
def test_a_store_that_refuses_is_named_by_its_code_before_all_else(error: StoreError, read: bool) -> None:
    seen = msgspec.structs.replace(WELL, failing=3) if read else None
    health = judge(seen, error)
    assert (health.status, health.store, health.overview) == ("down", error.code, seen)
    assert [problem.code for problem in health.problems] == [error.code, *(["failing"] if read else [])]
    assert health.problems[0].message.endswith(": why.")
