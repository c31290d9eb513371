"""How a namespace stands, read when Prometheus asks."""

from __future__ import annotations

import signal
import time
import urllib.request

import pytest
from prometheus_client import start_http_server

from headgate import metrics
from headgate.connect import connect
from headgate.exposition import exposition
from headgate.models import JobState, QueueLimits
from headgate.settings import Settings
from headgate.store import Store
from tests.jobs.acts import admit, enqueue_many
from tests.metrics.conftest import exposed, value_of
from tests.support.servers import PrivateServer
from tests.support.worlds import World

MINUTE = 60_000


async def test_schedules_and_duties_stand_as_the_store_says(moved: World) -> None:
    await moved.store.queues.set_limits("full", QueueLimits(max_unfinished=0))
    for name in ("a", "b", "c"):
        await moved.put(name)
    await moved.put("full", queue="full")
    await moved.store.control.pause("c")
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await moved.advance(MINUTE)
    await scheduler.sweep()
    await scheduler.heart.beat()
    seen = await exposed(moved.store)
    assert value_of(seen, "headgate_store_up") == 1
    assert value_of(seen, "headgate_schedules") == 4
    assert value_of(seen, "headgate_schedules_paused") == 1
    assert value_of(seen, "headgate_schedules_failing") == 1
    assert value_of(seen, "headgate_processes") == 1
    assert value_of(seen, "headgate_duty_held", duty="scheduler") == 1
    assert value_of(seen, "headgate_duty_held", duty="reclaimer") == 0
    assert 0 < (value_of(seen, "headgate_next_due_seconds") or 0) <= 1.0, "the one that fails is tried again"
    await moved.advance(2 * MINUTE)
    seen = await exposed(moved.store)
    assert value_of(seen, "headgate_schedules_overdue") == 3
    assert value_of(seen, "headgate_next_due_seconds") == pytest.approx(-119, abs=1)


async def test_with_nothing_due_there_is_no_time_until_it_is(moved: World) -> None:
    seen = await exposed(moved.store)
    assert value_of(seen, "headgate_next_due_seconds") is None
    assert value_of(seen, "headgate_schedules") == 0
    assert value_of(seen, "headgate_duty_held", duty="scheduler") == 0


async def test_jobs_stand_by_queue_and_state(moved: World) -> None:
    await enqueue_many(moved, 3, queue="mail")
    await enqueue_many(moved, 2, queue="web")
    await admit(moved, 1, "mail")
    seen = await exposed(moved.store)
    jobs = {(each.labels["queue"], each.labels["state"]): each.value for each in seen if each.name == "headgate_jobs"}
    assert {place: count for place, count in jobs.items() if count} == {
        ("mail", "available"): 2,
        ("mail", "running"): 1,
        ("web", "available"): 2,
    }
    assert {state for _, state in jobs} == {*map(str, JobState)}


async def test_a_store_that_is_away_is_said_and_the_process_counts_are_told(own_server: PrivateServer) -> None:
    """`headgate_store_up` says what became of the rest."""
    client = connect(own_server.url, settings := Settings(call_timeout_ms=500))
    store = Store(client, settings=settings)
    await store.leases.overview()
    own_server.kill()
    seen = await exposed(store)
    assert value_of(seen, "headgate_store_up") == 0
    assert value_of(seen, "headgate_schedules") is None
    assert (value_of(seen, "headgate_script_seconds_count", script="duties") or 0) >= 1
    await client.aclose()


async def test_a_store_that_is_silent_costs_the_time_of_one_call(own_server: PrivateServer) -> None:
    client = connect(own_server.url, settings := Settings(call_timeout_ms=500))
    store = Store(client, settings=settings)
    await store.leases.overview()
    own_server.signal(signal.SIGSTOP)
    started = time.monotonic()
    try:
        seen = await exposed(store)
        took = time.monotonic() - started
    finally:
        own_server.signal(signal.SIGCONT)
    assert took < 0.9
    assert value_of(seen, "headgate_store_up") == 0
    await client.aclose()


@pytest.mark.damages_store("a record with a foreign field")
async def test_what_cannot_be_read_hides_nothing_else(moved: World) -> None:
    await enqueue_many(moved, 1, queue="mail")
    await moved.client.hset(moved.keys("queue", "mail"), "max_concurrent", "many")
    seen = await exposed(moved.store)
    assert value_of(seen, "headgate_store_up") == 0, "not all of it was answered"
    assert value_of(seen, "headgate_schedules") == 0
    assert value_of(seen, "headgate_jobs", queue="mail", state="available") is None


async def test_series_do_not_say_when_they_began(moved: World) -> None:
    """The client library tells of each in a series of its own, which doubles what is stored and says nothing."""
    assert not [each.name for each in await exposed(moved.store) if each.name.endswith("_created")]


async def test_the_global_registry_is_the_applications(moved: World) -> None:
    from prometheus_client import REGISTRY  # noqa: PLC0415 - what it must not be confused with

    assert b"headgate_ticks" in await exposition(moved.store)
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("headgate")]


def test_a_process_without_an_api_can_serve_its_counts() -> None:
    """As docs/metrics.md says it of workers."""
    server, thread = start_http_server(0, "127.0.0.1", registry=metrics.REGISTRY)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=5) as answer:
            assert b"headgate_sweep_seconds_count 0.0" in answer.read()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
