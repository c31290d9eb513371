"""Content that shows what there is to show: schedules and jobs in every state, a history, a herd, two workers."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiohttp import ClientSession

from tests.console.stage import Stage
from tests.support.worlds import wait_until

HOUR_MS = 3_600_000
STATES = (
    "scheduled",
    "available",
    "running",
    "retryable",
    "quarantined",
    "completed",
    "archived",
    "cancelled",
    "undecodable",
)
POISON = {"what": "a picture of two gigabytes"}
SCHEDULES: dict[str, dict[str, Any]] = {
    "digest": {
        "kind": "report",
        "spec": "CRON_TZ=Europe/Berlin 30 2 * * MON-FRI",
        "description": "Sends everybody what they missed.",
        "labels": {"team": "mail", "tier": "1"},
        "queue": "mail",
        "payload": {"what": "the last day"},
    },
    "stock-sync": {
        "kind": "report",
        "spec": "@every:400",
        "on_missed": "backfill",
        "backfill_limit": 2,
        "owner": "shop",
    },
    "thumbnails": {"kind": "report", "spec": "@every:700", "payload": POISON, "labels": {"team": "shop"}},
    "slow-import": {"kind": "slow", "spec": "@every:600", "overlap": "skip", "payload": {"what": "everything"}},
    "billing-export": {"kind": "report", "spec": "@every:900", "queue": "billing", "labels": {"team": "money"}},
    "newsletter": {"kind": "report", "spec": "0 8 * * MON", "queue": "mail", "on_missed": "run_once"},
    "night-watch": {"kind": "report", "spec": "@every:200", "payload": {"what": "the doors"}},
}


class Writer:
    """Asks the API for things."""

    def __init__(self, session: ClientSession, address: str) -> None:
        self._session = session
        self._base = f"{address}/api/v1"

    async def __call__(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Idempotency-Key": uuid.uuid4().hex, "X-Headgate-By": "zoe"}
        async with self._session.request(method, self._base + path, json=body, headers=headers) as answer:
            assert answer.status < 300, (method, path, await answer.text())
            return await answer.json() if answer.status != 204 else None


@asynccontextmanager
async def telling(stage: Stage) -> AsyncIterator[None]:
    """While it is open, two processes run and the namespace is full; what they do goes on."""
    async with ClientSession() as session:
        write = Writer(session, stage.address)
        await _before_anybody_works(write, await stage.world.store.time_ms())
        async with stage.running(), stage.running(scheduler=False):
            await _history(stage, write)
            yield


async def _before_anybody_works(write: Writer, now_ms: int) -> None:
    for name, definition in SCHEDULES.items():
        await write("PUT", f"/periodic/{name}", definition)
    await write("PUT", "/periodic/moving-house", {"kind": "report", "spec": "@every:300", "ends_at_ms": now_ms + 900})
    for number in range(12):
        await write("PUT", f"/periodic/warehouse-{number:02}", {"kind": "report", "spec": "0 3 * * *", "queue": "shop"})
    await write("PUT", "/queues/billing/limits", {"max_unfinished": 1, "max_concurrent": 0})
    await write("POST", "/jobs", {"kind": "report", "queue": "billing", "id": "invoice-2041"})
    await write("PUT", "/queues/mail/limits", {"max_concurrent": 4, "rate_limit": {"limit": 10, "window_ms": 60_000}})
    await write("POST", "/queues/mail/pause", {})
    for number in range(5):
        await write("POST", "/jobs", {"kind": "report", "queue": "mail", "id": f"mail-{number}", "priority": number})
    await write("POST", "/jobs", {"kind": "report", "id": "poisoned", "payload": POISON})
    fingerprint = (await write("GET", "/jobs/poisoned"))["fingerprint"]
    await write("PUT", f"/quarantine/{fingerprint}", {"note": "it fills the disk; ask Zoe before you release it"})
    await write(
        "POST", "/jobs", {"kind": "report", "id": "tomorrow", "delay_ms": 20 * HOUR_MS, "payload": {"what": "x"}}
    )
    await write("POST", "/jobs", {"kind": "report", "id": "regretted", "delay_ms": HOUR_MS})
    await write("POST", "/jobs/regretted/cancel")
    await write("POST", "/jobs", {"kind": "flaky", "id": "shaky", "max_attempts": 50})
    await write("POST", "/jobs", {"kind": "flaky", "id": "lost", "max_attempts": 1})
    await write("POST", "/jobs", {"kind": "report", "id": "misspelt", "payload": {"wat": 1}})


async def _history(stage: Stage, write: Writer) -> None:
    store = stage.world.store
    await write("POST", "/periodic/stock-sync/pause", {"reason": "the shop is moved"})
    paused = await write("POST", "/periodic/night-watch/pause", {"reason": "the guard is ill"})
    until_ms = await store.time_ms() + 48 * HOUR_MS
    reason = {"reason": "the mail server moves; ask Zoe", "until_ms": until_ms}
    await write("POST", "/periodic/newsletter/pause", reason)

    async def has_missed_some() -> bool:
        return await store.time_ms() > int(paused["pause"]["since_ms"]) + 2_000

    await wait_until(has_missed_some)
    await write("POST", "/periodic/night-watch/resume", {})
    await write("POST", "/periodic/stock-sync/resume", {"missed": "run_once"})
    for _ in range(3):
        await write("POST", "/periodic/digest/run", {})
    await write("PUT", "/periodic/digest", SCHEDULES["digest"] | {"spec": "CRON_TZ=Europe/Berlin 30 2 * * *"})
    gap = (await write("GET", "/periodic/night-watch/gaps"))["gaps"][0]
    some = {"after_ms": gap["from_ms"] - 1, "until_ms": gap["from_ms"] + 600}
    await write("POST", "/periodic/night-watch/backfill", some)

    async def there_is_one_of_each() -> bool:
        found = [await write("GET", f"/jobs?queue={queue}&state={state}") for queue, state in WHERE]
        failing = await write("GET", "/periodic?failing=true")
        return all(page["jobs"] for page in found) and bool(failing["schedules"])

    await wait_until(there_is_one_of_each)


WHERE = [("mail" if state == "available" else "default", state) for state in STATES]


async def pages_of(stage: Stage) -> dict[str, str]:
    """A name and an address of everything that there is to see."""
    pages = {
        "schedules": "#/schedules",
        "schedules-failing": "#/schedules?failing=true",
        "schedule": "#/schedules/stock-sync",
        "schedule-paused": "#/schedules/newsletter?tab=changes",
        "schedule-failing": "#/schedules/billing-export",
        "schedule-next": "#/schedules/digest?tab=next&n=30",
        "schedule-runs": "#/schedules/digest?tab=runs",
        "schedule-gaps": "#/schedules/night-watch?tab=gaps",
        "schedule-changes": "#/schedules/digest?tab=changes",
        "schedule-gone": "#/schedules/nobody",
        "upcoming": "#/upcoming?within=24h",
        "jobs-of-schedule": "#/jobs?schedule=stock-sync",
        "queues": "#/queues",
        "quarantine": "#/quarantine",
        "system": "#/system",
        "job-gone": "#/jobs/nobody",
    }
    events = await stage.world.events("stock-sync")
    pages["schedule-explain"] = f"#/schedules/stock-sync?tab=explain&tick={events[0]['tick_ms']}"
    for queue, state in WHERE:
        pages[f"jobs-{state}"] = f"#/jobs?queue={queue}&state={state}"
        listed = await stage.world.store.jobs.list(queue, state, limit=1)
        if listed.jobs:
            pages[f"job-{state}"] = f"#/jobs/{quote(listed.jobs[0].id, safe='')}"
    return pages
