"""Release: what was quarantined goes back, in steps that anybody may go on with, and no further than it is to."""

from __future__ import annotations

import pytest

from headgate.errors import QuarantineNotFound
from headgate.names import fingerprint
from tests.jobs.acts import (
    admit,
    admit_one,
    counts,
    enqueue,
    enqueue_many,
    entries,
    reclaim,
    state_of,
)
from tests.support.worlds import START_MS, World

BAD = fingerprint("test", '"bad"')


async def one_step(world: World) -> tuple[int, int]:
    """The first step of a release, whose caller dies."""
    freed, left = await world.store.quarantine._scripts.call("quarantine_release", BAD)
    return freed, left


async def set_aside(world: World, count: int) -> list[str]:
    jobs = await enqueue_many(world, count, payload="bad")
    await world.store.quarantine.add(BAD)
    while (await counts(world)).get("available"):
        assert await admit(world, 200) == []
    return jobs


async def test_a_release_puts_all_back_in_steps_and_their_crashes_are_forgotten(moved: World) -> None:
    jobs = await set_aside(moved, 450)
    await moved.client.hset(moved.keys("job", jobs[0]), "crash_attempt", 2)
    assert await moved.store.quarantine.release(BAD) == 450
    assert await counts(moved) == {"available": 450}
    assert (await moved.store.jobs.get(jobs[0])).crash_attempt == 0
    assert await entries(moved) == []
    assert await moved.client.exists(*map(moved.keys, ("quarantine", "barred", "releasing"))) == 0
    assert await moved.client.exists(moved.keys("quarantined", BAD)) == 0
    with pytest.raises(QuarantineNotFound):
        await moved.store.quarantine.release(BAD)


async def test_jobs_keep_their_place_in_the_queue_through_quarantine(moved: World) -> None:
    jobs = [await enqueue(moved, payload="bad")]
    await moved.advance(1)
    jobs.append(await enqueue(moved, payload="good"))
    await moved.store.quarantine.add(BAD)
    await admit(moved, 0)
    await moved.store.queues.pause("default")
    await moved.store.queues.resume("default")
    assert (await admit_one(moved)).id == jobs[1]
    await moved.store.quarantine.release(BAD)
    await enqueue(moved)
    assert (await admit_one(moved)).id == jobs[0]


async def test_a_release_cut_off_between_two_steps_is_finished_by_the_reclaimer(moved: World) -> None:
    await set_aside(moved, 450)
    assert await one_step(moved) == (200, 250)
    assert await counts(moved) == {"available": 200, "quarantined": 250}
    answers = await reclaim(moved)
    assert all(answer.moved <= 200 for answer in answers)
    answers += await reclaim(moved)
    assert sum(answer.moved for answer in answers) == 250
    assert await counts(moved) == {"available": 450}
    assert await moved.client.exists(moved.keys("releasing")) == 0


async def test_a_release_cut_off_can_be_asked_for_again(moved: World) -> None:
    await set_aside(moved, 250)
    await one_step(moved)
    assert await moved.store.quarantine.release(BAD) == 50


async def test_an_operator_may_retry_one_job_of_a_release_that_was_cut_off(moved: World) -> None:
    await set_aside(moved, 201)
    await one_step(moved)
    [left] = (await moved.store.jobs.list("default", "quarantined")).jobs
    await moved.store.jobs.retry(left.id)
    assert await state_of(moved, left.id) == "available"
    await reclaim(moved)
    assert await moved.client.exists(moved.keys("releasing"), moved.keys("quarantined", BAD)) == 0


async def test_barring_again_while_releasing_keeps_what_is_not_back(moved: World) -> None:
    await set_aside(moved, 450)
    await one_step(moved)
    assert await moved.store.quarantine.add(BAD, note="not yet") is True
    await reclaim(moved)
    assert await counts(moved) == {"available": 200, "quarantined": 250}
    assert await admit(moved, 200) == []
    assert await counts(moved) == {"quarantined": 450}
    assert (await entries(moved))[0].set_aside == 450
    assert await moved.store.quarantine.release(BAD) == 450


async def test_a_release_under_way_does_not_undo_a_bar_that_came_meanwhile(moved: World) -> None:
    await set_aside(moved, 450)
    scripts = moved.store.quarantine._scripts
    call, calls = scripts.call, 0

    async def barred_after_the_first(name: str, *args: str | int) -> object:
        nonlocal calls
        answer, calls = await call(name, *args), calls + 1
        if calls == 1:
            await moved.store_on(moved.client).quarantine.add(BAD, note="not yet")
        return answer

    scripts.call = barred_after_the_first  # type: ignore[method-assign]
    assert await moved.store.quarantine.release(BAD) == 200
    scripts.call = call  # type: ignore[method-assign]
    assert [entry.note for entry in await entries(moved)] == ["not yet"]
    assert await counts(moved) == {"available": 200, "quarantined": 250}


@pytest.mark.parametrize("how", ["delete", "cancel", "deadline"])
async def test_a_job_that_ends_while_set_aside_is_not_released(moved: World, how: str) -> None:
    job_id = await enqueue(moved, payload="bad", deadline_ms=START_MS + 1000)
    await moved.store.quarantine.add(BAD)
    await admit(moved)
    if how == "deadline":
        await moved.advance(1000)
        await reclaim(moved)
    else:
        await getattr(moved.store.jobs, how)(job_id)
    assert await moved.client.exists(moved.keys("quarantined", BAD)) == 0
    assert await moved.store.quarantine.release(BAD) == 0
    assert await state_of(moved, job_id) == {"delete": "", "cancel": "cancelled", "deadline": "archived"}[how]


@pytest.mark.damages_store("a foreign type")
async def test_a_release_ends_though_some_jobs_cannot_come_back(moved: World) -> None:
    await set_aside(moved, 3)
    await moved.client.set(moved.keys("state", "default", "available"), "foreign")
    assert await moved.store.quarantine.release(BAD) == 0
    [answer] = await reclaim(moved)
    assert answer.due_next_ms != answer.now_ms, "nor is the reclaimer kept busy by them"
    await moved.client.delete(moved.keys("state", "default", "available"))
    await reclaim(moved)
    assert await counts(moved) == {"available": 3}
