"""Whether it works: what two bounded calls find, judged. Neither writes, so that a full store answers too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import anyio

from headgate.errors import StoreError, StoreUnavailable
from headgate.models import Health, HealthProblem, HealthStatus, Overview
from headgate.store import Store

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BEARABLE: Final = frozenset({"no_reclaimer", "overdue", "failing"})
"""Problems with which ticks still become jobs."""


async def check_health(store: Store) -> Health:
    """How a namespace stands, within the time of one call.

    A store that is away, full or foreign is an answer like any other: nothing is raised.
    """
    overview: Overview | None = None
    refusal: StoreError | None = None
    try:
        with anyio.fail_after(store.settings.call_timeout_ms / 1000):
            overview = await store.leases.overview()
            refusal = await refused_writes(store)
    except TimeoutError:
        refusal = StoreUnavailable("the store did not answer in time")
    except StoreError as error:
        refusal = error
    return judge(overview, refusal)


async def refused_writes(store: Store) -> StoreError | None:
    """Why the store takes no writes; None when it does. Nothing is written to find out."""
    try:
        await store.leases.check_writable()
    except StoreError as error:
        return error
    return None


def judge(overview: Overview | None, refusal: StoreError | None) -> Health:
    """What was found, in one word and by name. Pure.

    Args:
        overview: what was read; None when the store did not answer.
        refusal: why it did not, or why it takes no writes.
    """
    problems = [HealthProblem(code=code, message=message) for code, message in _problems(overview, refusal)]
    status = HealthStatus.DEGRADED if problems else HealthStatus.OK
    if any(problem.code not in _BEARABLE for problem in problems):
        status = HealthStatus.DOWN
    return Health(status=status, store=refusal.code if refusal else "ok", problems=problems, overview=overview)


def holds(overview: Overview, name: str) -> bool:
    """Whether somebody holds a duty. A lease without an end, which Headgate never makes, is nobody's."""
    return any(duty.name == name and duty.lease_left_ms is not None for duty in overview.duties)


def _problems(overview: Overview | None, refusal: StoreError | None) -> Iterator[tuple[str, str]]:
    if refusal:
        what = "It can be read and takes no writes" if overview else "It cannot be looked at"
        yield refusal.code, f"{what}: {refusal.message}."
    if overview is None:
        return
    if not holds(overview, "scheduler"):
        yield "no_scheduler", "Nobody schedules: no process holds the duty, and ticks wait until one does."
    if not holds(overview, "reclaimer"):
        yield "no_reclaimer", "Nobody reclaims: jobs of crashed workers stay where they are, old ones are not removed."
    if oldest := overview.oldest_overdue:
        due = (_EPOCH + timedelta(milliseconds=oldest.due_ms)).isoformat(timespec="milliseconds")
        yield "overdue", f"{_counted(overview.overdue)} overdue; {oldest.schedule_id} was due at {due}."
    if overview.failing:
        yield "failing", f"{_counted(overview.failing)} failing: a due tick does not get through and is retried."


def _counted(number: int) -> str:
    return "1 schedule is" if number == 1 else f"{number} schedules are"
