"""Every move between states: how a job gets into each state, and by which words and events it leaves it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import HeadgateError, JobStateConflict, Quarantined
from headgate.models import FINAL_STATES, JobState
from headgate.settings import ARCHIVE_RETENTION_MS
from tests.jobs.acts import LEASE, admit, admit_one, enqueue, finish, fingerprint_of, lose_workers, reclaim, state_of
from tests.support.worlds import START_MS, World

LATER = 60_000
DEADLINE = 100_000
DAY = 86_400_000

Build = Callable[..., Awaitable[str]]
Act = Callable[[World, str], Awaitable[Any]]


# how a job gets into a state


async def scheduled(world: World, **options: Any) -> str:
    return await enqueue(world, delay_ms=LATER, **options)


async def available(world: World, **options: Any) -> str:
    return await enqueue(world, **options)


async def running(world: World, **options: Any) -> str:
    job_id = await enqueue(world, **options)
    assert (await admit_one(world)).id == job_id
    return job_id


async def quarantined(world: World, **options: Any) -> str:
    job_id = await enqueue(world, **options)
    await bar(world, job_id)
    await admit(world)
    return job_id


def ended(verdict: str, **fixed: Any) -> Build:
    async def build(world: World, **options: Any) -> str:
        job_id = await enqueue(world, **options | fixed)
        await finish(world, await admit_one(world), verdict, wait_ms=LATER)
        return job_id

    return build


BUILD: dict[str, Build] = {
    "scheduled": scheduled,
    "available": available,
    "running": running,
    "retryable": ended("failed"),
    "quarantined": quarantined,
    "completed": ended("completed"),
    "archived": ended("failed", max_attempts=1),
    "cancelled": ended("cancelled"),
    "undecodable": ended("undecodable"),
}


# what happens to it


async def bar(world: World, job_id: str) -> None:
    await world.store.quarantine.add(await fingerprint_of(world, job_id))


async def release(world: World, job_id: str) -> None:
    await world.store.quarantine.release(await fingerprint_of(world, job_id))


async def unbar(world: World, job_id: str) -> None:
    """As between two steps of a release: not barred any more, and the job still set aside."""
    await world.client.hdel(world.keys("quarantine"), await fingerprint_of(world, job_id))


async def nothing(world: World, job_id: str) -> None:
    """The builder did it."""


def after(ms: int, *acts: Act) -> Act:
    async def act(world: World, job_id: str) -> None:
        await world.advance(ms)
        for each in acts:
            await each(world, job_id)

    return act


def both(*acts: Act) -> Act:
    return after(0, *acts)


async def gate(world: World, _job_id: str) -> None:
    await admit(world)


async def paused_gate(world: World, _job_id: str) -> None:
    """Brings back what is due and lets nothing through."""
    await world.store.queues.pause("default")
    await admit(world)


async def a_pass(world: World, _job_id: str) -> None:
    await reclaim(world)


async def lease_ends(world: World, _job_id: str) -> None:
    await lose_workers(world)


async def earlier_clock(world: World, _job_id: str) -> None:
    await world.set_clock(START_MS - 1)


def reports(verdict: str, wait_ms: int = 0) -> Act:
    async def act(world: World, job_id: str) -> None:
        record = await world.client.hgetall(world.keys("job", job_id))
        call = world.store.attempts._scripts.call
        await call("finish", record["queue"], job_id, record["claim"], verdict, "Oops", wait_ms)

    return act


def operator(word: str) -> Act:
    async def act(world: World, job_id: str) -> None:
        await getattr(world.store.jobs, word)(job_id)

    return act


# from, what happens, to; how a test brings it about, and with which options the job is made
Arrow = tuple[str, str, str, Act, dict[str, Any]]
LIMIT: dict[str, Any] = {"deadline_ms": START_MS + DEADLINE}
PAST = after(DEADLINE, a_pass)
CRASHES = both(lease_ends, gate, lease_ends, gate, lease_ends)

ARROWS: list[Arrow] = [
    ("", "is enqueued", "available", nothing, {}),
    ("", "is enqueued for later", "scheduled", nothing, {"delay_ms": LATER}),
    ("scheduled", "its instant comes; the gate finds it", "available", after(LATER, paused_gate), {}),
    ("scheduled", "its instant comes; the reclaimer finds it", "available", after(LATER, a_pass), {}),
    ("scheduled", "its deadline passes", "archived", PAST, LIMIT),
    ("scheduled", "an operator retries it", "available", operator("retry"), {}),
    ("scheduled", "an operator cancels it", "cancelled", operator("cancel"), {}),
    ("scheduled", "an operator deletes it", "", operator("delete"), {}),
    ("available", "the gate admits it", "running", gate, {}),
    ("available", "the gate finds its content barred", "quarantined", both(bar, gate), {}),
    ("available", "the gate finds its deadline passed", "archived", after(DEADLINE, gate), LIMIT),
    ("available", "its deadline passes", "archived", PAST, LIMIT),
    ("available", "an operator cancels it", "cancelled", operator("cancel"), {}),
    ("available", "an operator deletes it", "", operator("delete"), {}),
    ("running", "its actor returns", "completed", reports("completed"), {}),
    ("running", "its actor fails", "retryable", reports("failed", LATER), {}),
    ("running", "its actor fails for the last time", "archived", reports("failed"), {"max_attempts": 1}),
    ("running", "its actor fails; the next attempt is past its deadline", "archived", reports("failed", DEADLINE), LIMIT),
    ("running", "its actor discards it", "cancelled", reports("cancelled"), {}),
    ("running", "its payload does not fit", "undecodable", reports("undecodable"), {}),
    ("running", "its worker hands it back", "available", reports("returned"), {}),
    ("running", "its worker hands it back for later", "retryable", reports("returned", LATER), {}),
    ("running", "its worker hands it back past its deadline", "archived", after(DEADLINE, reports("returned")), LIMIT),
    ("running", "its lease ends", "available", lease_ends, {}),
    ("running", "its lease ends for the third time", "quarantined", CRASHES, {}),
    ("running", "its lease ends past its deadline", "archived", after(DEADLINE, lease_ends), LIMIT),
    ("running", "an operator cancels it", "cancelled", operator("cancel"), {}),
    ("retryable", "its instant comes; the gate finds it", "available", after(LATER, paused_gate), {}),
    ("retryable", "its instant comes; the reclaimer finds it", "available", after(LATER, a_pass), {}),
    ("retryable", "its deadline passes", "archived", PAST, LIMIT),
    ("retryable", "an operator retries it", "available", operator("retry"), {}),
    ("retryable", "an operator cancels it", "cancelled", operator("cancel"), {}),
    ("retryable", "an operator deletes it", "", operator("delete"), {}),
    ("quarantined", "its content is released", "available", release, {}),
    ("quarantined", "its content is released before its instant", "scheduled", both(earlier_clock, release), {}),
    ("quarantined", "its deadline passes", "archived", PAST, LIMIT),
    ("quarantined", "an operator retries it while its content is being released", "available",
     both(unbar, operator("retry")), {}),
    ("quarantined", "an operator cancels it", "cancelled", operator("cancel"), {}),
    ("quarantined", "an operator deletes it", "", operator("delete"), {}),
    *((str(state), "an operator retries it", "available", operator("retry"), {}) for state in FINAL_STATES),
    *((str(state), "an operator deletes it", "", operator("delete"), {}) for state in FINAL_STATES),
    ("completed", "its retention ends", "", after(DAY, a_pass), {}),
    *((str(state), "its retention ends", "", after(7 * DAY, a_pass), {}) for state in FINAL_STATES[1:]),
]  # fmt: skip


@pytest.mark.parametrize("arrow", ARROWS, ids=[f"{one or 'new'}-{what}-{to or 'gone'}" for one, what, to, _, _ in ARROWS])
async def test_a_job_moves_as_the_table_says(moved: World, arrow: Arrow) -> None:
    before, _what, after_it, act, options = arrow
    job_id = await BUILD[before or "available" if before else after_it](moved, **_options(before, options))
    assert await state_of(moved, job_id) == (before or after_it)
    await act(moved, job_id)
    assert await state_of(moved, job_id) == after_it


def _options(before: str, options: dict[str, Any]) -> dict[str, Any]:
    return {} if not before else options


def test_every_state_is_entered_and_left_by_some_arrow() -> None:
    assert {arrow[2] for arrow in ARROWS} == {*JobState, ""} == {arrow[0] for arrow in ARROWS}


def test_the_table_of_the_docs_is_the_table_of_these_tests() -> None:
    text = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text("utf-8")
    rows = re.findall(r"^\| (\S+) \| (.+?) \| (\S+) \|$", text, re.MULTILINE)
    table = [(_state(one), what, _state(to)) for one, what, to in rows if _is_state(one) and _is_state(to)]
    assert table == [(one, what, to) for one, what, to, _, _ in ARROWS]


def _state(cell: str) -> str:
    return "" if cell in ("new", "gone") else cell.strip("`")


def _is_state(cell: str) -> bool:
    return cell in ("new", "gone") or cell.strip("`") in tuple(JobState)


REFUSED: list[tuple[str, str, type[HeadgateError]]] = [
    ("available", "retry", JobStateConflict),
    ("running", "retry", JobStateConflict),
    ("quarantined", "retry", Quarantined),
    ("completed", "cancel", JobStateConflict),
    ("archived", "cancel", JobStateConflict),
    ("undecodable", "cancel", JobStateConflict),
    ("running", "delete", JobStateConflict),
]


@pytest.mark.parametrize(("state", "word", "error"), REFUSED)
async def test_an_operator_is_refused_where_no_arrow_leads(
    moved: World, state: str, word: str, error: type[HeadgateError]
) -> None:
    job_id = await BUILD[state](moved)
    record = await moved.client.hgetall(moved.keys("job", job_id))
    with pytest.raises(error):
        await operator(word)(moved, job_id)
    assert await state_of(moved, job_id) == state
    assert await moved.client.hgetall(moved.keys("job", job_id)) == record


def test_each_word_of_an_operator_has_an_arrow_or_a_refusal_in_every_state() -> None:
    arrows = {(one, what.split()[2]) for one, what, _, _, _ in ARROWS if what.startswith("an operator")}
    refused = {(state, {"retry": "retries", "cancel": "cancels", "delete": "deletes"}[word]) for state, word, _ in REFUSED}
    repeated = {("cancelled", "cancels")}
    assert arrows | refused | repeated == {(str(s), w) for s in JobState for w in ("retries", "cancels", "deletes")}
    assert arrows & refused == {("quarantined", "retries")}, "while released, and while barred"


async def test_cancelling_twice_changes_nothing(moved: World) -> None:
    job_id = await BUILD["cancelled"](moved)
    before = await moved.client.hgetall(moved.keys("job", job_id))
    await moved.advance(1)
    await moved.store.jobs.cancel(job_id)
    assert await moved.client.hgetall(moved.keys("job", job_id)) == before


@pytest.mark.parametrize("state", FINAL_STATES)
async def test_a_final_state_never_moves_by_itself(moved: World, state: str) -> None:
    job_id = await BUILD[state](moved, retention_ms=ARCHIVE_RETENTION_MS, deadline_ms=START_MS + DEADLINE)
    await bar(moved, job_id)
    for _ in range(7):
        await moved.advance(DAY - 2 * LEASE)
        await admit(moved)
        await lose_workers(moved)
        await release(moved, job_id)
        await bar(moved, job_id)
    assert await state_of(moved, job_id) == state


async def test_errors_count_as_attempts_and_lost_leases_as_crashes_apart(moved: World) -> None:
    job_id = await enqueue(moved, max_attempts=3)

    async def counted() -> tuple[int, int]:
        job = await moved.store.jobs.get(job_id)
        return job.attempt, job.crash_attempt

    await finish(moved, await admit_one(moved), "failed", "Oops")
    assert await counted() == (1, 0)
    await admit_one(moved)
    await lose_workers(moved)
    assert await counted() == (1, 1)
    await finish(moved, await admit_one(moved), "returned")
    assert await counted() == (1, 1), "what a worker hands back was no attempt"
    await finish(moved, await admit_one(moved), "failed", "Oops")
    await admit_one(moved)
    await lose_workers(moved)
    assert await counted() == (2, 2)
    assert await state_of(moved, job_id) == "available", "four tries, and neither limit is reached"
    assert await finish(moved, await admit_one(moved), "failed", "Oops") == "archived"
    assert await counted() == (3, 2)


async def test_a_retried_job_has_all_its_attempts_again(moved: World) -> None:
    job_id = await BUILD["archived"](moved)
    job = await moved.store.jobs.retry(job_id)
    assert (job.attempt, job.crash_attempt, job.finished_at_ms, job.available_at_ms) == (0, 0, None, START_MS)
    assert (await admit_one(moved)).id == job_id


async def test_a_job_past_its_deadline_cannot_be_retried(moved: World) -> None:
    job_id = await BUILD["completed"](moved, deadline_ms=START_MS + DEADLINE)
    await moved.advance(DEADLINE)
    with pytest.raises(JobStateConflict, match="deadline"):
        await moved.store.jobs.retry(job_id)
