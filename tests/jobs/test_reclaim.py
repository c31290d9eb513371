"""The reclaimer's passes: fenced, bounded, over all queues; what they make of leases that ended."""

from __future__ import annotations

import pytest

from headgate.errors import LeaseLost
from headgate.models import QueueLimits
from headgate.settings import GRACE_EVERY_MS
from tests.jobs.acts import (
    LEASE,
    admit,
    admit_one,
    beat,
    counts,
    enqueue,
    enqueue_many,
    finish,
    lose_workers,
    names_of_keys,
    reclaim,
    state_of,
    states_of,
)
from tests.support.worlds import START_MS, World


async def test_without_the_lease_nothing_is_done(moved: World) -> None:
    job_id = await enqueue(moved, delay_ms=1)
    await reclaim(moved)
    await moved.advance(60_000)
    before = await names_of_keys(moved)
    for token in ("another", ""):
        with pytest.raises(LeaseLost):
            await moved.store.reclaims.some(token, "", lease_ms=LEASE)
    assert await state_of(moved, job_id) == "scheduled"
    assert await names_of_keys(moved) == before


# leases


async def test_a_lease_is_judged_to_the_millisecond_by_the_first_pass_that_meets_its_end(moved: World) -> None:
    job_id = await enqueue(moved)
    await admit_one(moved)
    await moved.advance(LEASE - 1)
    [answer] = await reclaim(moved)
    assert (answer.crashed, answer.running, answer.due_next_ms) == ({}, 1, START_MS + LEASE)
    await moved.advance(1)
    [answer] = await reclaim(moved)
    assert (answer.crashed, answer.running) == ({job_id: "available"}, 0)


async def test_it_is_heartbeats_that_are_heeded_and_not_how_long_no_reclaimer_came_by(moved: World) -> None:
    await reclaim(moved)
    job_id = await enqueue(moved)
    await admit_one(moved)
    for _ in range(20):
        await beat(moved)
        await moved.advance(LEASE)
    assert (await reclaim(moved))[0].crashed == {job_id: "available"}


async def test_after_a_silence_of_all_processes_every_lease_gets_a_lease_longer(moved: World) -> None:
    """The store may have been away, and the workers could not be heard."""
    await beat(moved)
    job_id = await enqueue(moved)
    claim = await admit_one(moved)
    now = await moved.advance(3_600_000)
    await beat(moved)
    for _ in range(2):
        [answer] = await reclaim(moved)
        assert (answer.crashed, answer.due_next_ms) == ({}, now + LEASE)
    await moved.advance(LEASE - 1)
    assert (await reclaim(moved))[0].crashed == {}
    assert await moved.store.attempts.renew([claim], LEASE) == (set(), set()), "it is heard again in time"
    await moved.advance(1)
    assert (await reclaim(moved))[0].crashed == {}
    assert await state_of(moved, job_id) == "running"
    await moved.advance(LEASE - 1)
    assert (await reclaim(moved))[0].crashed == {job_id: "available"}, "and then no more"


async def test_a_pause_of_a_lease_is_no_silence(moved: World) -> None:
    await beat(moved)
    job_id = await enqueue(moved)
    await admit_one(moved)
    await moved.advance(LEASE)
    await beat(moved)
    assert (await reclaim(moved))[0].crashed == {job_id: "available"}


async def test_a_process_that_dies_at_each_start_is_not_taken_for_a_store_that_was_away(moved: World) -> None:
    """A silence puts the judgement off once in a minute."""
    await beat(moved)
    await moved.advance(LEASE + 1)
    await beat(moved)
    judged = []
    for start in range(1 + GRACE_EVERY_MS // LEASE):
        await enqueue(moved, payload=start)
        await admit_one(moved)
        await moved.advance(LEASE + 1)
        await beat(moved, f"start-{start}")
        judged.append((await reclaim(moved))[0].crashed != {})
    *within_a_minute, after = judged
    assert all(within_a_minute)
    assert not after


async def test_a_clock_that_went_back_neither_puts_the_judgement_off_nor_forbids_it(moved: World) -> None:
    await beat(moved)
    await moved.advance(3_600_000)
    await beat(moved)
    await moved.set_clock(START_MS)
    job_id = await enqueue(moved)
    await admit_one(moved)
    await beat(moved)
    await moved.advance(LEASE)
    assert (await reclaim(moved))[0].crashed == {job_id: "available"}, "what was put off belongs to another time"
    await admit_one(moved)
    await moved.advance(LEASE + 1)
    await beat(moved)
    assert (await reclaim(moved))[0].crashed == {}, "a silence counts again at once"


async def test_a_lost_worker_gives_its_place_back(moved: World) -> None:
    await moved.store.queues.set_limits("default", QueueLimits(max_concurrent=1))
    await enqueue_many(moved, 2)
    await admit_one(moved)
    assert await admit(moved) == []
    await lose_workers(moved)
    assert len(await admit(moved)) == 1


# all queues, in steps


async def test_a_pass_comes_to_every_queue(moved: World) -> None:
    jobs = {f"q{number:02}": await enqueue(moved, queue=f"q{number:02}", delay_ms=1000) for number in range(45)}
    await moved.advance(1000)
    answers = await reclaim(moved)
    assert [answer.last for answer in answers] == ["q19", "q39", "q44"]
    assert [answer.moved for answer in answers] == [20, 20, 5]
    assert await states_of(moved, [*jobs.values()][::9]) == ["available"] * 5


async def test_a_call_moves_at_most_200_jobs_and_a_pass_all(moved: World) -> None:
    await enqueue_many(moved, 450, delay_ms=1000)
    await enqueue(moved, queue="later", delay_ms=1000)
    await moved.advance(1000)
    answers = await reclaim(moved)
    assert [answer.moved for answer in answers] == [200, 200, 51]
    assert await counts(moved) == {"available": 450}
    assert await counts(moved, "later") == {"available": 1}


async def test_many_lost_leases_at_once_are_counted_once_each(moved: World) -> None:
    jobs = await enqueue_many(moved, 450)
    while await admit(moved, 200):
        pass
    await moved.advance(LEASE)
    answers = await reclaim(moved)
    crashed = [job_id for answer in answers for job_id in answer.crashed]
    assert sorted(crashed) == sorted(jobs)
    assert {(await moved.store.jobs.get(job_id)).crash_attempt for job_id in jobs[::45]} == {1}


@pytest.mark.damages_store("a foreign type in place of a set")
async def test_a_pass_does_not_stay_for_ever_at_what_cannot_be_moved(moved: World) -> None:
    """More than a call may do, in a queue that takes nothing back: the queues after it get their turn."""
    await enqueue_many(moved, 250, queue="bad", delay_ms=1000)
    job_id = await enqueue(moved, queue="good", delay_ms=1000)
    await moved.client.set(moved.keys("state", "bad", "available"), "foreign")
    await moved.advance(1000)
    assert [answer.moved for answer in await reclaim(moved)] == [0, 1]
    assert await moved.client.hget(moved.keys("job", job_id), "state") == "available"
    await moved.client.delete(moved.keys("state", "bad", "available"))
    assert sum(answer.moved for answer in await reclaim(moved)) == 250


# when to look again


async def test_a_pass_says_when_the_next_thing_is_due(moved: World) -> None:
    assert (await reclaim(moved))[0].due_next_ms is None
    now = START_MS
    for wait in (90_000, 50_000):
        await enqueue(moved, delay_ms=wait)
        assert (await reclaim(moved))[0].due_next_ms == now + wait
    await enqueue(moved, deadline_ms=now + 40_000)
    assert (await reclaim(moved))[0].due_next_ms == now + 40_000
    claim = await admit_one(moved)
    assert (await reclaim(moved))[0].due_next_ms == now + LEASE
    await finish(moved, claim, "failed", "Oops", 30_000)
    assert (await reclaim(moved))[0].due_next_ms == now + 30_000


# what it forgets


async def test_an_empty_queue_is_listed_no_more_unless_it_was_told_something(moved: World) -> None:
    for queue in ("told", "used"):
        await moved.store.jobs.delete(await enqueue(moved, queue=queue))
    await moved.store.queues.pause("told")
    await reclaim(moved)
    assert [queue.name for queue in (await moved.store.queues.list()).queues] == ["told"]
    await moved.store.queues.resume("told")
    await reclaim(moved)
    assert (await moved.store.queues.list()).queues == []


async def test_processes_that_were_not_seen_for_too_long_are_forgotten(moved: World) -> None:
    about = {"queues": "[]"}
    await moved.store.leases.heartbeat("old", [], about, ttl_ms=LEASE)
    await moved.advance(1)
    await moved.store.leases.heartbeat("live", [], about, ttl_ms=LEASE)
    await moved.advance(2 * LEASE - 1)
    await reclaim(moved)
    for family in ("processes", "workers"):
        assert await moved.client.zrange(moved.keys(family), 0, -1) == ["live"]
