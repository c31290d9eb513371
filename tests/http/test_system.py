"""Duties, liveness, readiness."""

from __future__ import annotations

from tests.http.client import SCHEDULE, Client, body_of, periodic
from tests.support.worlds import World


async def test_health_needs_only_the_process(api: Client) -> None:
    assert await body_of(await api.get("/healthz")) == {"status": "ok"}
    assert (await api.head("/healthz")).status == 200


async def test_readiness_needs_somebody_on_duty(api: Client, world: World) -> None:
    response = await api.get("/readyz")
    vacant = {"ready": False, "checks": {"store": "ok", "scheduler": "vacant"}}
    assert await body_of(response, 503) == vacant
    assert response.headers["Retry-After"] == "1"
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    assert await body_of(await api.get("/readyz")) == {"ready": True, "checks": {"store": "ok", "scheduler": "held"}}
    await scheduler.heart.resign()
    assert await body_of(await api.get("/readyz"), 503) == vacant


async def test_looking_writes_nothing(api: Client, world: World) -> None:
    lists = ("queues", "quarantine", "workers", "jobs?queue=q&state=running", "jobs?periodic_schedule_id=s", "duties")
    others = ("periodic", "periodic/s/enqueue-events", "jobs/j/admission", "queues/q")
    for path in ("/healthz", "/readyz", *(f"/api/v1/{name}" for name in lists + others)):
        await (await api.get(path)).read()
    assert await world.client.keys(f"{world.keys.root}*") == []


async def test_duties_name_the_holder_and_the_backlog(moved_api: Client, moved: World) -> None:
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await body_of(await moved_api.put(periodic("a"), json=SCHEDULE), 201)
    await body_of(await moved_api.put(periodic("b"), json=SCHEDULE | {"paused": True}), 201)
    now_ms = await moved.advance(61_000)
    overview = await body_of(await moved_api.get("/api/v1/duties"))
    duty, reclaimer = overview.pop("duties")
    assert reclaimer == {"name": "reclaimer", "holder": None, "epoch": 0, "lease_left_ms": None}
    assert overview == {
        "store_time_ms": now_ms,
        "due_next_ms": now_ms - 1_000,
        "overdue_by_ms": 1_000,
        "schedules": 2,
        "paused": 1,
        "failing": 0,
    }
    assert 0 < duty.pop("lease_left_ms") <= moved.settings.lease_ttl_ms
    assert duty == {"name": "scheduler", "holder": scheduler.heart.process_id, "epoch": 1}
