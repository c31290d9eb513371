"""Which leases that ended count as crashes: a store that was away is not taken for lost workers, nor these for it."""

from __future__ import annotations

import pytest

from headgate.models import QueueLimits, RateLimit
from headgate.settings import GRACE_EVERY_MS
from tests.jobs.acts import admit, enqueue, enqueue_many, reclaim
from tests.support.worlds import World

LEASE = 5_000
BEAT = LEASE // 3
HOUR = 3_600_000


async def beat(world: World, process: str = "p") -> None:
    await world.store.leases.heartbeat(process, [], {}, ttl_ms=LEASE)


async def crashes(world: World, job_id: str) -> int:
    await reclaim(world)
    return (await world.store.jobs.get(job_id)).crash_attempt


async def test_a_silence_of_all_processes_puts_the_judgement_off_by_a_lease(moved: World) -> None:
    job_id = await enqueue(moved)
    await beat(moved)
    await admit(moved)
    await moved.advance(LEASE + 1)
    await beat(moved)
    assert await crashes(moved, job_id) == 0
    for _ in range(2):
        await moved.advance(LEASE // 2)
        await beat(moved)
    assert await crashes(moved, job_id) == 1, "a lease later, and not the moment that nobody speaks up"


@pytest.mark.parametrize("pause", [1, LEASE])
async def test_while_any_process_is_heard_leases_end_when_they_end(moved: World, pause: int) -> None:
    """However long no reclaimer came by."""
    job_id = await enqueue(moved)
    await admit(moved)
    await beat(moved)
    await moved.advance(LEASE - pause)
    await beat(moved, "another")
    await moved.advance(pause)
    await beat(moved)
    assert await crashes(moved, job_id) == 1


async def test_the_judgement_is_put_off_at_most_once_a_minute(moved: World) -> None:
    """Two silences in a row: the second is no reason any more, until a minute after the first."""
    for silence, expected in ((LEASE + 1, 0), (LEASE + 1, 1), (GRACE_EVERY_MS + 2 * LEASE, 0)):
        await beat(moved)
        job_id = await enqueue(moved, queue=f"q{silence}-{expected}")
        await admit(moved, 1, f"q{silence}-{expected}")
        await moved.advance(silence)
        await beat(moved)
        assert await crashes(moved, job_id) == expected


@pytest.mark.parametrize("pause", [0, 1000, 10_000, 30_000])
async def test_a_process_that_dies_at_each_start_still_gets_its_payload_quarantined(moved: World, pause: int) -> None:
    """Alone in its namespace, started again at once or a while later, and dead before a lease has passed: a schedule
    brings it the payload anew each time. Its silences are not the store's."""
    for life in range(25):
        await beat(moved, f"life{life}")
        await moved.advance(1000)
        await reclaim(moved)
        if (await moved.store.quarantine.list()).quarantines:
            break
        await enqueue(moved, payload="deadly")
        await admit(moved)
        await moved.advance(500 + pause)
    else:
        raise AssertionError("it is never quarantined")
    await enqueue(moved, payload="harmless")
    assert [claim.payload for claim in await admit(moved)] == ['"harmless"']


async def test_a_clock_that_went_back_costs_no_judgement_and_no_tokens(moved: World) -> None:
    await moved.advance(HOUR)
    rate = RateLimit(limit=10, window_ms=1000, burst=2)
    await moved.store.queues.set_limits("default", QueueLimits(rate_limit=rate))
    await beat(moved)
    await moved.advance(LEASE + 1)
    await beat(moved)  # from now on judgement is put off
    await enqueue_many(moved, 20)
    assert len(await admit(moved)) == 2
    await moved.advance(-HOUR)
    lost = await enqueue(moved, queue="other")
    await admit(moved, 1, "other")
    assert await admit(moved) == [], "an empty bucket is empty"
    for expected in (1, 2, 2):
        await moved.advance(100 * expected)
        assert len(await admit(moved)) == expected, "it fills as ever"
    for _ in range(4):
        await moved.advance(BEAT)
        await beat(moved)
    assert await crashes(moved, lost) == 1
    # And a silence is one again: the grace of the hour to come does not stand in its way.
    again = await enqueue(moved, queue="third")
    await admit(moved, 1, "third")
    await moved.advance(GRACE_EVERY_MS + LEASE)
    await beat(moved)
    assert await crashes(moved, again) == 0
