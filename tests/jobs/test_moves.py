"""Every move between states, one by one; and that there are no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headgate.errors import HeadgateError, JobStateConflict, Quarantined
from headgate.models import FINAL_STATES, JobState
from headgate.settings import ARCHIVE_RETENTION_MS
from tests.jobs.acts import LEASE, admit, admit_one, enqueue, finish, lose_workers, state_of
from tests.jobs.arrows import ARROWS, BUILD, DAY, DEADLINE, Arrow, bar, operator, release
from tests.support.worlds import START_MS, World


@pytest.mark.parametrize("arrow", ARROWS, ids=[f"{one or 'new'}: {what}" for one, what, *_ in ARROWS])
async def test_a_job_moves_as_the_table_says(moved: World, arrow: Arrow) -> None:
    before, _what, after, act, options = arrow
    job_id = await BUILD[before or after](moved, **options)
    assert await state_of(moved, job_id) == (before or after)
    await act(moved, job_id)
    assert await state_of(moved, job_id) == after


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
    refused = {
        (state, {"retry": "retries", "cancel": "cancels", "delete": "deletes"}[word]) for state, word, _ in REFUSED
    }
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
