"""What the tests of jobs do to one, and where they look for it."""

from __future__ import annotations

from typing import Any, Final

from headgate.errors import JobNotFound
from headgate.models import JobRequest, JobState, Quarantine
from headgate.scheduler import Scheduler
from headgate.store.attempts import Claim, Report
from headgate.store.reclaims import Reclaimed
from tests.support.worlds import World

LEASE: Final = 5_000
"""Life of every lease: of a running job, of the reclaimer, of a process."""


async def enqueue(world: World, **options: Any) -> str:
    return (await world.store.producer.enqueue(request(**options))).job_id


async def enqueue_many(world: World, count: int, **options: Any) -> list[str]:
    """So many jobs of one kind, in batches of 200."""
    made: list[str] = []
    for begin in range(0, count, 200):
        batch = [request(**options) for _ in range(min(200, count - begin))]
        made += [each.job_id for each in await world.store.producer.enqueue_many(batch)]
    return made


def request(**options: Any) -> JobRequest:
    return JobRequest(**{"kind": "test"} | options)


async def admit(world: World, capacity: int = 10, *queues: str, worker: str = "w") -> list[Claim]:
    answer = await world.store.attempts.admit(worker, queues or ("default",), capacity, LEASE)
    return answer.claims


async def admit_one(world: World, *queues: str) -> Claim:
    [claim] = await admit(world, 1, *queues)
    return claim


async def finish(world: World, claim: Claim, verdict: str = "completed", error: str = "", wait_ms: int = 0) -> str:
    [state] = await world.store.attempts.finish([Report(claim, verdict, error, wait_ms)])
    return state


async def reclaim(world: World) -> list[Reclaimed]:
    """One whole pass of the reclaimer."""
    await world.client.set(world.keys("duty", "reclaimer"), "tok")
    answers = [await world.store.reclaims.some("tok", "", lease_ms=LEASE)]
    while not answers[-1].all:
        answers.append(await world.store.reclaims.some("tok", answers[-1].last, lease_ms=LEASE))
        assert len(answers) < 1000, "the pass does not come to an end"
    return answers


async def lose_workers(world: World) -> None:
    """All leases end unrenewed, and a reclaimer comes by."""
    await world.advance(LEASE)
    await reclaim(world)


async def beat(world: World, process_id: str = "p") -> None:
    """A heartbeat of a process that has no duty and works on nothing."""
    await world.store.leases.heartbeat(process_id, [], {}, ttl_ms=LEASE)


async def state_of(world: World, job_id: str) -> str:
    """Its state by its record, which must stand in the set of that state and in no other; '' when it is gone."""
    queues = await world.client.zrange(world.keys("queues"), 0, -1)
    stands_in = [
        str(state)
        for queue in queues
        for state in JobState
        if await world.client.zscore(world.keys("state", queue, state), job_id) is not None
    ]
    try:
        job = await world.store.jobs.get(job_id)
    except JobNotFound:
        assert stands_in == []
        return ""
    assert stands_in == [job.state]
    return str(job.state)


async def states_of(world: World, job_ids: list[str]) -> list[str]:
    return [await state_of(world, job_id) for job_id in job_ids]


async def counts(world: World, queue: str = "default") -> dict[str, int]:
    """Jobs of a queue by state, those states that have any."""
    return {state: count for state, count in (await world.store.queues.get(queue)).counts.items() if count}


async def fingerprint_of(world: World, job_id: str) -> str:
    return (await world.store.jobs.get(job_id)).fingerprint


async def sweep(world: World, scheduler: Scheduler) -> None:
    """One sweep under a lease that is certainly alive."""
    await world.own_the_duty(scheduler)
    await scheduler.sweep()


async def happened(world: World, schedule_id: str) -> list[str]:
    """What became of a schedule's ticks, newest first."""
    return [f"{event['outcome']}/{event['reason']}" for event in await world.events(schedule_id)]


async def names_of_keys(world: World) -> set[str]:
    """Every key of the namespace: what was refused must leave them as they were."""
    return {key async for key in world.client.scan_iter(match=world.keys.root + "*", count=1000)}


async def entries(world: World) -> list[Quarantine]:
    """What is quarantined."""
    return (await world.store.quarantine.list()).quarantines
