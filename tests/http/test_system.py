"""Duties, liveness, readiness."""

from __future__ import annotations

from tests.http.client import SCHEDULE, Client, body_of, periodic, serving
from tests.support.servers import PrivateServer
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
    assert [problem["code"] for problem in overview.pop("problems")] == ["no_reclaimer"]
    assert overview == {
        "status": "degraded",
        "store": "ok",
        "store_time_ms": now_ms,
        "processes": 0,  # it beat a minute ago
        "swept_at_ms": None,
        "due_next_ms": now_ms - 1_000,
        "overdue_by_ms": 1_000,
        "overdue": 0,
        "oldest_overdue": None,
        "schedules": 2,
        "paused": 1,
        "failing": 0,
    }
    assert 0 < duty.pop("lease_left_ms") <= moved.settings.lease_ttl_ms
    assert duty == {"name": "scheduler", "holder": scheduler.heart.process_id, "epoch": 1}


async def test_duties_name_the_oldest_overdue_tick(moved_api: Client, moved: World) -> None:
    await body_of(await moved_api.put(periodic("a"), json=SCHEDULE), 201)
    now_ms = await moved.advance(60_000 + moved.settings.overdue_after_ms + 1)
    overview = await body_of(await moved_api.get("/api/v1/duties"))
    assert (overview["status"], overview["overdue"]) == ("down", 1)
    due_ms = now_ms - moved.settings.overdue_after_ms - 1
    assert overview["oldest_overdue"] == {"schedule_id": "a", "due_ms": due_ms}
    assert [problem["code"] for problem in overview["problems"]] == ["no_scheduler", "no_reclaimer", "overdue"]


async def test_readiness_names_a_full_store(own_server: PrivateServer) -> None:
    """And is back by itself, once there is room."""
    world = World(own_server.url, "full")
    async with serving(world.store) as api:
        await world.own_the_duty(world.scheduler())
        assert (await api.get("/readyz")).status == 200
        await world.client.config_set("maxmemory", "1")
        full = {"ready": False, "checks": {"store": "store_full", "scheduler": "held"}}
        assert await body_of(await api.get("/readyz"), 503) == full
        assert (await body_of(await api.get("/api/v1/duties")))["store"] == "store_full"
        await world.client.config_set("maxmemory", "0")
        assert (await api.get("/readyz")).status == 200
    await world.close()
