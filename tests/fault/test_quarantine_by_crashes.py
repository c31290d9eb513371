"""A payload that kills workers is locked away, with its siblings and its schedule's ticks; an operator lets it out."""

from __future__ import annotations

import signal

import pytest

from headgate.errors import Quarantined
from headgate.models import JobRequest, JobState, QueueLimits
from tests.fault.test_worker_death import Start, enqueue, quick, reaches, says, start
from tests.support.worlds import World, running, wait_until

__all__ = ["quick", "start"]

DEADLY = {"sleep_ms": 60_000}


async def test_three_kills_quarantine_the_content_and_an_operator_releases_it_all(quick: World, start: Start) -> None:
    await quick.store.queues.set_limits("default", QueueLimits(max_concurrent=1))
    requests = [JobRequest(kind="test", payload=DEADLY)] * 21
    killed, *siblings = [each.job_id for each in await quick.store.producer.enqueue_many(requests)]
    killed, *siblings = sorted([killed, *siblings])  # the order of those that came at one instant
    for _ in range(3):
        worker = start()
        await says(worker, f"begins {killed}")
        worker.signal(signal.SIGKILL)
    job = await reaches(quick, killed, "quarantined")
    assert (job.attempt, job.crash_attempt, job.last_error) == (0, 3, "WorkerLost")
    [entry] = (await quick.store.quarantine.list()).quarantines
    assert (entry.fingerprint, entry.why, entry.job_id, entry.set_aside) == (job.fingerprint, "crash_limit", killed, 1)

    await quick.put("deadly", "@every:200", payload=DEADLY)
    worker = start()
    for sibling in siblings:
        await reaches(quick, sibling, "quarantined")
    await reaches(quick, await enqueue(quick), "completed")
    with pytest.raises(Quarantined):
        await quick.store.producer.enqueue(requests[0])
    async with running(quick.scheduler()):
        await skips_ticks(quick)

    assert await quick.store.quarantine.release(job.fingerprint) == len(requests)
    assert (await quick.store.queues.get("default")).counts[JobState.QUARANTINED] == 0
    assert (await reaches(quick, killed, "running")).crash_attempt == 0
    assert worker.alive


async def skips_ticks(world: World) -> None:
    """Wait until its schedule has two ticks behind it, and see that both were skipped."""

    async def two() -> bool:
        return len(await world.events("deadly")) > 1

    await wait_until(two)
    events = await world.events("deadly")
    assert {(event["outcome"], event["reason"]) for event in events} == {("skipped", "quarantined")}
    assert (await world.store.schedules.get("deadly")).failure is None
