"""What a user may write; a strict type checker has nothing to say."""

from __future__ import annotations

import asyncio
import datetime as dt

import headgate

app = headgate.Headgate("redis://localhost:6379/0", namespace="shop")


@app.actor("digest.send", queue="mail")
async def send_digest(job: headgate.Job, team: str, day: dt.date | None = None) -> None:
    job.logger.info("team %s, tick %s", team, job.tick)
    if day is not None and job.attempt > 1:
        raise headgate.Discard("too late")


@app.actor("sync")
def sync(count: int = 1) -> None: ...


@app.middleware
async def trace(job: headgate.Job, call_next: headgate.CallNext) -> None:
    await call_next(job)


@app.before_enqueue
async def holidays(job: headgate.Enqueueing) -> None:
    job.headers["trace"] = "1"
    if job.tick_ms == 0:
        raise headgate.SkipTick("a holiday")


@app.after_enqueue
async def count(job: headgate.Enqueueing, outcome: str, reason: str) -> None: ...


app.periodic(
    "digest-eu",
    "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI",
    kind="digest.send",
    payload={"team": "eu"},
    on_missed="backfill",
    backfill_limit=3,
)


async def main() -> None:
    async with app.run(concurrency=5, shutdown_grace=2.0) as running:
        put = await running.schedules.put("a", "@every:1000", kind="sync", on_missed=headgate.MissedPolicy.SKIP)
        assert put.schedule.next_run_ms
        enqueued = await app.enqueue("sync", {"count": 2}, priority=1)
        await jobs(running, enqueued.job_id)
        await queues(running)
        await quarantine(running)
        page = await app.schedules.events("a", limit=10)
        print([event.outcome for event in page.events])


async def jobs(app: headgate.Headgate, job_id: str) -> None:
    request: headgate.JobRequest = app.request(
        "digest.send", {"team": "eu"}, delay_ms=5000, unique_key="eu", unique_ms=60_000, headers={"trace": "1"}
    )
    batch = [request, headgate.JobRequest(kind="sync", payload={"count": 2}, deadline_ms=2_000_000_000_000)]
    answers = await app.enqueue_many(batch, idempotency_key="k")
    print([answer.job_id for answer in answers if not (answer.duplicate or answer.replayed)])
    state: str = (await app.jobs.get(job_id)).state
    page = await app.jobs.list("mail", "archived", limit=10)
    page = await app.jobs.list("mail", "archived", cursor=page.next_cursor)
    of_a_schedule = await app.jobs.list_of_schedule("digest-eu")
    print(state, [job.last_error for job in [*page.jobs, *of_a_schedule.jobs]])
    admission = await app.jobs.admission(job_id)
    if not admission.admissible and admission.blocked_by is not None:
        print(str(admission.blocked_by), (admission.estimate_ms or 0) + 1)
    attempts: int = (await app.jobs.retry(job_id)).attempt
    print(attempts, (await app.jobs.cancel(job_id)).state)
    await app.jobs.delete(job_id)


async def queues(app: headgate.Headgate) -> None:
    rate = headgate.RateLimit(limit=100, window_ms=1000, burst=10)
    queue = await app.queues.set_limits("mail", headgate.QueueLimits(max_concurrent=7, rate_limit=rate))
    print(queue.limits.max_unfinished, queue.counts["available"])
    paused: bool = (await app.queues.pause("mail")).paused
    print(paused, (await app.queues.resume("mail")).paused_since_ms, (await app.queues.get("mail")).name)
    print([each.name for each in (await app.queues.list(limit=10)).queues])
    print([worker.id for worker in (await app.workers.list()).workers])


async def quarantine(app: headgate.Headgate) -> None:
    for entry in (await app.quarantine.list()).quarantines:
        released: int = await app.quarantine.release(entry.fingerprint)
        added: bool = await app.quarantine.add(entry.fingerprint, note="not yet")
        print(released, added, entry.set_aside)


if __name__ == "__main__":
    asyncio.run(main())
