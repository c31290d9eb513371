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
        state: str = (await app.jobs.get(enqueued.job_id)).state
        page = await app.schedules.events("a", limit=10)
        print(state, [event.outcome for event in page.events])


if __name__ == "__main__":
    asyncio.run(main())
