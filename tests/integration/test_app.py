"""An application: what it declares is there once it runs, what it is given runs, and at its end nothing is lost."""

from __future__ import annotations

import asyncio
import logging
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import headgate
from headgate.errors import Discard, IdempotencyKeyReused, InvalidRequest, Quarantined, StoreUnavailable
from headgate.models import Job, JobState
from headgate.names import fingerprint
from headgate.settings import Settings
from tests.support.leaks import check_after
from tests.support.servers import PrivateServer
from tests.support.worlds import World, wait_until

QUICK = Settings(lease_ttl_ms=1500, lease_margin_ms=150, call_timeout_ms=500)
Apps = Callable[[], headgate.Headgate]
Measured = Callable[[str], None]


@pytest.fixture
async def here(server: PrivateServer, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A namespace on real time with a short lease."""
    world = World(server.url, f"t-{uuid.uuid4().hex[:12]}", settings=QUICK)
    try:
        yield world
        await check_after(world, request.node)
    finally:
        await world.close()


@pytest.fixture
def app(here: World) -> headgate.Headgate:
    return another(here)


def another(world: World) -> headgate.Headgate:
    return headgate.Headgate(world.url, namespace=world.namespace, settings=world.settings)


async def reaches(world: World, job_id: str, *states: str, seconds: float = 10) -> Job:
    """Wait until the job is in one of these states."""

    async def there() -> bool:
        return await world.client.hget(world.keys("job", job_id), "state") in states

    await wait_until(there, seconds=seconds)
    return await world.store.jobs.get(job_id)


async def due_now(world: World, job_id: str, queue: str = "default") -> None:
    """A job that waits for its retry waits no longer."""
    await world.client.zadd(world.keys("state", queue, "retryable"), {job_id: 0}, xx=True)
    await world.client.publish(world.keys("ready"), queue)


# declaring


async def test_a_declared_schedule_runs_as_jobs_of_its_actor(here: World, app: headgate.Headgate) -> None:
    seen: list[tuple[str, int]] = []

    @app.actor("digest.send", queue="mail")
    async def send(job: headgate.Job, team: str) -> None:
        assert job.origin is not None
        assert job.tick is not None
        assert job.tick.timestamp() * 1000 == job.origin.tick_ms
        assert (job.kind, job.attempt, job.origin.schedule_id) == ("digest.send", 1, "digest")
        seen.append((team, job.origin.tick_ms))

    app.periodic("digest", "@every:50", kind="digest.send", payload={"team": "eu"}, on_missed="backfill")
    async with app.run():

        async def enough() -> bool:
            return len(seen) >= 5

        await wait_until(enough)
        page = await app.schedules.events("digest")
    ticks = [tick for _, tick in seen]
    assert sorted(set(ticks)) == list(range(min(ticks), max(ticks) + 1, 50)), "one job a tick, and no tick left out"
    assert len(set(ticks)) == len(ticks)
    assert {team for team, _ in seen} == {"eu"}
    assert {event.outcome for event in page.events} == {"enqueued"}
    job = await here.store.jobs.get(f"sched-digest-{ticks[0]}")
    assert (job.state, job.queue) == ("completed", "mail")


async def test_an_actor_may_be_declared_after_its_schedule(here: World, app: headgate.Headgate) -> None:
    ran = anyio.Event()
    app.periodic("a", "@every:50", kind="late", payload={"n": 1})

    @app.actor("late", queue="mail")
    async def late(n: int) -> None:
        assert n == 1
        ran.set()

    async with app.run():
        with anyio.fail_after(10):
            await ran.wait()
    assert (await here.record("a"))["queue"] == "mail"


async def test_what_is_as_declared_is_left_alone_and_what_changed_is_written(here: World) -> None:
    async def start(spec: str, payload: object) -> dict[str, str]:
        app = another(here)
        app.periodic("a", spec, kind="test", payload=payload)
        async with app.run(scheduler=False, worker=False):
            return await here.record("a")

    first = await start("@every:3600000", 1)
    assert await start("@every:3600000", 1) == first
    second = await start("@every:3600000", 2)
    assert int(second["revision"]) > int(first["revision"])
    assert (second["next_run_ms"], second["anchor_ms"]) == (first["next_run_ms"], first["anchor_ms"])
    await here.put("other", "@every:3600000")
    other = await here.record("other")
    await start("@every:7200000", 2)
    assert await here.record("other") == other


async def test_twenty_that_start_at_once_leave_one_schedule_its_phase_unmoved(here: World) -> None:
    async def start() -> None:
        app = another(here)
        app.periodic("a", "@every:3600000", kind="test", payload={"n": 2})
        async with app.run(worker=False):
            pass

    await here.put("a", "@every:3600000", payload={"n": 1})
    before = await here.record("a")
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(start)
    after = await here.record("a")
    assert int(after["revision"]) == int(before["revision"]) + 1
    assert after["payload"] == '{"n":2}'
    for field in ("next_run_ms", "anchor_ms", "last_tick_ms", "created_at_ms", "paused"):
        assert after[field] == before[field]
    assert await here.client.zrange(here.keys("schedules"), 0, -1) == ["a"]


def test_a_wrong_declaration_is_an_error_when_it_is_declared() -> None:
    app = headgate.Headgate("redis://nowhere:1")

    @app.actor("test")
    async def test(team: str) -> None: ...

    good: dict[str, Any] = {"spec": "@every:1000", "kind": "test", "payload": {"team": "eu"}}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"payload": {"team": 7654321}}, "payload"),
        ({"payload": {}}, "payload"),
        ({"payload": None}, "payload"),
        ({"payload": {"team": "eu", "more": 1}}, "payload"),
        ({"payload": object()}, "payload"),
        ({"spec": "every day"}, "spec"),
        ({"spec": "CRON_TZ=Mars/Olympus 0 9 * * *"}, "spec"),
        ({"kind": "a b"}, "kind"),
        ({"on_missed": "never"}, "on_missed"),
        ({"backfill_limit": 0}, "backfill_limit"),
        ({"priority": 101}, "priority"),
        ({"timeout_ms": -1}, "timeout_ms"),
    ]
    for change, field in wrong:
        with pytest.raises(InvalidRequest) as refused:
            app.periodic("a", **good | change)
        assert refused.value.field == field
        assert "7654321" not in refused.value.message
    with pytest.raises(InvalidRequest, match="schedule id"):
        app.periodic("a b", **good)
    app.periodic("a", **good)
    with pytest.raises(InvalidRequest, match="declared twice"):
        app.periodic("a", **good)
    with pytest.raises(InvalidRequest, match="has an actor already"):
        app.actor("test")(test)


async def test_a_schedule_declared_before_its_actor_is_judged_before_anything_is_opened() -> None:
    app = headgate.Headgate("redis://nowhere:1")
    app.periodic("a", "@every:1000", kind="test", payload={"team": 1})

    @app.actor("test")
    async def test(team: str) -> None: ...

    with pytest.raises(InvalidRequest, match="team"):
        async with app.run():
            pytest.fail("it ran")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 1.5}, "concurrency"),
        ({"queues": "mail"}, "queues"),
        ({"queues": ["a b"]}, "queue"),
    ],
)
async def test_a_wrong_way_to_run_is_refused(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        async with headgate.Headgate("redis://nowhere:1").run(**arguments):
            pytest.fail("it ran")
    assert refused.value.field == field


# using


async def test_what_is_not_open_says_how_to_open_it(app: headgate.Headgate) -> None:
    with pytest.raises(InvalidRequest, match="open the application first"):
        await app.enqueue("test")
    for use in (lambda: app.jobs, lambda: app.schedules, lambda: app.store):
        with pytest.raises(InvalidRequest, match="open the application first"):
            use()
    async with app:
        with pytest.raises(InvalidRequest, match="open already"):
            await app.__aenter__()
        assert (await app.schedules.list()).schedules == []
    with pytest.raises(InvalidRequest, match="open the application first"):
        await app.enqueue("test")


async def test_a_store_that_is_not_there_is_an_error_without_the_password() -> None:
    app = headgate.Headgate("redis://user:hunter2@127.0.0.1:1/0")
    with pytest.raises(StoreUnavailable) as refused:
        async with app.run():
            pytest.fail("it ran")
    assert "hunter2" not in str(refused.value)
    with pytest.raises(StoreUnavailable):
        async with app:
            pytest.fail("it opened")


async def test_an_error_of_the_body_comes_out_as_it_is(app: headgate.Headgate) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with app.run():
            raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        async with app:
            raise KeyError("mine")


async def test_an_open_application_enqueues_for_others_and_runs_nothing(here: World, app: headgate.Headgate) -> None:
    @app.actor("test", queue="mail")
    async def test(team: str) -> None: ...

    async with app:
        job_id = (await app.enqueue("test", {"team": "eu"}, priority=3)).job_id
        job = await app.jobs.get(job_id, include_payload=True)
        assert (job.queue, job.payload, job.priority, job.state) == ("mail", {"team": "eu"}, 3, "available")
        elsewhere = (await app.enqueue("test", {"team": "eu"}, queue="elsewhere")).job_id
        assert (await app.jobs.get(elsewhere)).queue == "elsewhere"
        with pytest.raises(InvalidRequest, match="team"):
            await app.enqueue("test", {"team": 1})
        with pytest.raises(InvalidRequest, match="team"):
            await app.enqueue("test")
        with pytest.raises(InvalidRequest):
            await app.enqueue("a b")
        await here.store.quarantine.add(fingerprint("barred", "null"), note="")
        with pytest.raises(Quarantined):
            await app.enqueue("barred")
    assert await here.queued("mail") == [job_id]


async def test_a_key_makes_a_repeat_harmless_and_without_one_each_call_is_a_job(app: headgate.Headgate) -> None:
    async with app:
        first = await app.enqueue("test", 1, idempotency_key="k")
        again = await app.enqueue("test", 1, idempotency_key="k")
        assert (again.job_id, first.replayed, again.replayed) == (first.job_id, False, True)
        with pytest.raises(IdempotencyKeyReused):
            await app.enqueue("test", 2, idempotency_key="k")
        assert (await app.enqueue("test", 1)).job_id != (await app.enqueue("test", 1)).job_id


async def test_schedules_are_managed_with_the_actors_word_on_payloads(app: headgate.Headgate) -> None:
    ran: list[str] = []

    @app.actor("test", queue="mail")
    async def test(job: headgate.Job, team: str) -> None:
        assert (job.origin, job.tick) == (None, None)
        ran.append(team)

    async with app.run():
        put = await app.schedules.put("a", "@every:3600000", kind="test", payload={"team": "eu"})
        assert (put.change, put.schedule.queue) == ("created", "mail")
        with pytest.raises(InvalidRequest, match="team"):
            await app.schedules.put("a", "@every:3600000", kind="test", payload={"team": 1})
        assert (await app.schedules.get("a")).payload == {"team": "eu"}
        one = await app.schedules.run_now("a", idempotency_key="k")
        two = await app.schedules.run_now("a", idempotency_key="k")
        assert (one.job_id, two.replayed) == (two.job_id, True)

        async def done() -> bool:
            return (await app.jobs.get(one.job_id)).state == JobState.COMPLETED

        await wait_until(done)
        await app.schedules.delete("a")
        assert (await app.schedules.list()).schedules == []
    assert ran == ["eu"]


# working


async def test_a_job_for_an_idle_worker_starts_within_milliseconds(
    here: World, app: headgate.Headgate, measured: Measured
) -> None:
    started = anyio.Event()
    took: list[float] = []

    @app.actor("test")
    async def test() -> None:
        started.set()

    async with app.run(scheduler=False):
        for _ in range(10):
            await anyio.wait_all_tasks_blocked()
            started = anyio.Event()
            before = time.perf_counter()
            job_id = (await app.enqueue("test")).job_id
            with anyio.fail_after(10):
                await started.wait()
            took.append((time.perf_counter() - before) * 1000)
            await reaches(here, job_id, "completed")
    took.sort()
    measured(f"enqueue to start on an idle worker: median {took[5]:.1f} ms, longest {took[-1]:.1f} ms")
    assert took[5] < 200


async def test_no_more_run_at_once_than_may_and_all_places_are_used(here: World, app: headgate.Headgate) -> None:
    now, most, ran = 0, 0, 0

    @app.actor("test")
    async def test() -> None:
        nonlocal now, most, ran
        now += 1
        most = max(most, now)
        await anyio.sleep(0.002)
        now -= 1
        ran += 1

    async with app:
        for _ in range(60):
            await app.enqueue("test")
    async with app.run(concurrency=4):

        async def all_ran() -> bool:
            return ran == 60

        await wait_until(all_ran)
    assert most == 4
    assert await here.queued() == []


async def test_a_failing_job_is_tried_again_with_growing_waits_and_then_archived(
    here: World, app: headgate.Headgate
) -> None:
    attempts: list[int] = []

    @app.actor("test")
    async def test(job: headgate.Job) -> None:
        attempts.append(job.attempt)
        raise ValueError("a text that is nobody's business")

    waits = []
    async with app.run(scheduler=False):
        job_id = (await app.enqueue("test", max_attempts=5)).job_id
        for attempt in range(1, 5):
            while (job := await reaches(here, job_id, "retryable")).attempt < attempt:
                pass
            assert job.started_at_ms is not None
            waits.append(job.available_at_ms - job.started_at_ms)
            await due_now(here, job_id)
        job = await reaches(here, job_id, "archived")
    assert attempts == [1, 2, 3, 4, 5]
    assert (job.attempt, job.last_error) == (5, "ValueError")
    for attempt, wait in enumerate(waits):
        assert 1 <= wait <= 1000 * 2**attempt + 200, "full jitter under a doubling ceiling"


async def test_verdicts_reach_the_record(here: World, app: headgate.Headgate) -> None:
    @app.actor("discarding")
    async def discarding() -> None:
        raise Discard("not worth it")

    @app.actor("exiting")
    def exiting() -> None:
        raise SystemExit

    @app.actor("cancelling")
    async def cancelling() -> None:
        raise asyncio.CancelledError

    @app.actor("slow")
    async def slow() -> None:
        await anyio.sleep_forever()

    @app.actor("picky")
    async def picky(team: str) -> None: ...

    async with app:
        ids = [
            (await app.enqueue("discarding")).job_id,
            (await app.enqueue("exiting", max_attempts=1)).job_id,
            (await app.enqueue("cancelling", max_attempts=1)).job_id,
            (await app.enqueue("slow", max_attempts=1, timeout_ms=20)).job_id,
        ]
    async with another(here) as stranger:  # that knows no actor, and so checks nothing
        ids.append((await stranger.enqueue("picky", {"team": 1})).job_id)
    async with app.run(scheduler=False):
        jobs = [await reaches(here, job_id, "cancelled", "archived", "undecodable") for job_id in ids]
        assert (await app.enqueue("discarding")).job_id, "it still works"
    assert [(job.state.value, job.last_error) for job in jobs] == [
        ("cancelled", "Discard"),
        ("archived", "SystemExit"),
        ("archived", "CancelledError"),
        ("archived", "TimeoutError"),
        ("undecodable", "invalid_request"),
    ]


async def test_nothing_that_a_handler_raises_ends_the_worker(here: World, app: headgate.Headgate) -> None:
    @app.actor("test")
    async def test(how: str) -> None:
        match how:
            case "exit":
                raise SystemExit
            case "interrupt":
                raise KeyboardInterrupt
            case "cancelled":
                raise asyncio.CancelledError
            case "itself":
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                await anyio.lowlevel.checkpoint()
            case "group":
                raise BaseExceptionGroup("", [SystemExit()])

    async with app.run(scheduler=False, concurrency=1):
        for how in ("exit", "interrupt", "cancelled", "group"):
            failed = (await app.enqueue("test", {"how": how}, max_attempts=1)).job_id
            await reaches(here, failed, "archived")
            await reaches(here, (await app.enqueue("test", {"how": ""})).job_id, "completed")
        returned = (await app.enqueue("test", {"how": "itself"}, max_attempts=1)).job_id
        assert (await reaches(here, returned, "retryable")).attempt == 0
        await reaches(here, (await app.enqueue("test", {"how": ""})).job_id, "completed")


async def test_a_job_whose_zone_is_not_to_be_had_fails_alone(here: World, app: headgate.Headgate) -> None:
    @app.actor("test")
    async def test() -> None: ...

    async with app:
        bad, good = (await app.enqueue("test", max_attempts=1)).job_id, (await app.enqueue("test")).job_id
    origin = {"periodic_schedule_id": "a", "periodic_tick_ms": "1800000000000", "zone": "Mars/Olympus"}
    await here.client.hset(here.keys("job", bad), mapping=origin)
    async with app.run(scheduler=False):
        await reaches(here, good, "completed")
        assert (await reaches(here, bad, "archived")).last_error == "ZoneInfoNotFoundError"


async def test_a_job_of_an_unknown_kind_waits_visibly_uncounted_and_not_hot(
    here: World, app: headgate.Headgate, caplog: pytest.LogCaptureFixture
) -> None:
    @app.actor("known")
    async def known() -> None: ...

    with caplog.at_level(logging.WARNING):
        async with app.run(scheduler=False):
            job_id = (await app.enqueue("unknown", max_attempts=1)).job_id
            for claims in range(1, 5):
                record: dict[str, str] = {}

                async def handed_back(claims: int = claims, record: dict[str, str] = record) -> bool:
                    record.update(await here.client.hgetall(here.keys("job", job_id)))
                    return record["state"] == "retryable" and int(record["claim"]) >= claims

                await wait_until(handed_back)
                assert (record["attempt"], record["crash_attempt"], record["last_error"]) == ("0", "0", "NoActor")
                # Else it would be claimed again at once.
                assert int(record["available_at_ms"]) > int(record["started_at_ms"])
                await due_now(here, job_id)
            await reaches(here, (await app.enqueue("known")).job_id, "completed")
    assert caplog.text.count("job.no_actor") == 1
    informed = another(here)
    ran = anyio.Event()

    @informed.actor("unknown")
    async def unknown() -> None:
        ran.set()

    await due_now(here, job_id)
    async with informed.run(scheduler=False):
        job = await reaches(here, job_id, "completed")
    assert ran.is_set()
    assert (job.attempt, job.crash_attempt, job.last_error) == (0, 0, None)


async def test_middleware_wraps_every_attempt_in_the_order_of_its_declaration(app: headgate.Headgate) -> None:
    notes: list[str] = []

    @app.middleware
    async def outer(job: headgate.Job, call_next: headgate.CallNext) -> None:
        notes.append(f"outer {job.kind}")
        await call_next(job)

    @app.middleware
    async def inner(job: headgate.Job, call_next: headgate.CallNext) -> None:
        await call_next(job)
        notes.append("inner after")

    @app.actor("test")
    def test() -> None:
        notes.append("actor")

    async with app.run(scheduler=False):
        await app.enqueue("test")

        async def all_said() -> bool:
            return len(notes) == 3

        await wait_until(all_said)
    assert notes == ["outer test", "actor", "inner after"]


# ending


async def test_running_jobs_get_their_grace_and_nothing_new_begins(here: World, app: headgate.Headgate) -> None:
    started, go_on, ran = anyio.Event(), anyio.Event(), list[int]()

    @app.actor("test")
    async def test(number: int) -> None:
        started.set()
        await go_on.wait()
        ran.append(number)

    async with anyio.create_task_group() as tasks, app.run(concurrency=1, shutdown_grace=10):
        first = (await app.enqueue("test", {"number": 1})).job_id
        await started.wait()
        second = (await app.enqueue("test", {"number": 2})).job_id

        async def release() -> None:
            await anyio.wait_all_tasks_blocked()
            go_on.set()

        tasks.start_soon(release)
    assert ran == [1]
    assert (await here.store.jobs.get(first)).state == "completed"
    assert await here.queued() == [second]


async def test_what_outlasts_its_grace_is_handed_back_without_an_attempt(here: World, app: headgate.Headgate) -> None:
    started = list[str]()

    @app.actor("sleeping")
    async def sleeping() -> None:
        started.append("sleeping")
        await anyio.sleep_forever()

    @app.actor("stubborn")
    async def stubborn() -> None:
        started.append("stubborn")
        with suppress(BaseException):
            await anyio.sleep_forever()
        raise ConnectionError

    async with app.run(shutdown_grace=0.02):
        ids = [(await app.enqueue(kind, max_attempts=1)).job_id for kind in ("sleeping", "stubborn")]

        async def both() -> bool:
            return len(started) == 2

        await wait_until(both)
        before = time.monotonic()
    assert time.monotonic() - before < 2
    assert sorted(await here.queued()) == sorted(ids)
    for job_id in ids:
        job = await here.store.jobs.get(job_id)
        assert (job.state, job.attempt, job.crash_attempt) == ("available", 0, 0)
    assert await here.client.exists(here.keys("duty", "scheduler")) == 0, "the lease is given up at once"


async def test_an_end_in_the_middle_of_a_claim_costs_nobody_a_lease(here: World) -> None:
    """Whenever the end comes: each job completed or back in its queue, none left leased to a worker that is gone."""
    begun = list[int]()
    async with another(here) as app:
        ids = [(await app.enqueue("test")).job_id for _ in range(40)]
    for grace in range(15):
        app = another(here)

        @app.actor("test")
        async def test() -> None:
            begun.append(1)
            await anyio.lowlevel.checkpoint()

        async with app.run(scheduler=False, concurrency=1, shutdown_grace=0):
            await anyio.sleep(grace / 1000)
        assert await here.client.zcard(here.keys("state", "default", "running")) == 0
    for job_id in ids:
        job = await here.store.jobs.get(job_id)
        assert (job.state in ("available", "completed"), job.attempt, job.crash_attempt) == (True, 0, 0)


async def test_a_process_is_seen_with_what_it_works_on_until_its_last_job_has_ended(here: World) -> None:
    """Its duties are given up at once, its record only when nothing runs any more; claims bear its id."""
    app, began, release = another(here), anyio.Event(), anyio.Event()

    @app.actor("slow", queue="q2")
    async def slow() -> None:
        began.set()
        await release.wait()

    @app.actor("idle", queue="q1")
    async def idle() -> None: ...

    async def given_up() -> bool:
        return not await here.client.exists(here.keys("duty", "scheduler"))

    async def watch() -> None:
        await wait_until(given_up)
        assert await here.client.zrange(here.keys("processes"), 0, -1) == [process_id]
        assert await here.client.exists(here.keys("process", process_id))
        release.set()

    async with anyio.create_task_group() as tasks, app.run(concurrency=3):
        job_id = (await app.enqueue("slow")).job_id
        await began.wait()
        await wait_until(partial(all_seen, here, 1))
        [process_id] = await here.client.zrange(here.keys("processes"), 0, -1)
        record = await here.client.hgetall(here.keys("process", process_id))
        assert (record["queues"], record["kinds"]) == ('["q1","q2"]', '["idle","slow"]')
        assert (record["concurrency"], record["pid"]) == ("3", str(os.getpid()))
        assert record["running"] in ("0", "1")
        assert await here.client.hget(here.keys("job", job_id), "worker") == process_id
        tasks.start_soon(watch)
    assert await here.client.exists(here.keys("processes"), here.keys("process", process_id)) == 0


async def test_a_process_without_a_worker_tells_of_no_queues(here: World, app: headgate.Headgate) -> None:
    """Nobody is to wait for it to run a job; one on no duty at all is seen like any other."""
    for scheduler in (True, False):
        async with app.run(scheduler=scheduler, worker=False):
            await wait_until(partial(all_seen, here, 1))
            [process_id] = await here.client.zrange(here.keys("processes"), 0, -1)
            record = await here.client.hgetall(here.keys("process", process_id))
            assert record.keys() == {"host", "pid", "version", "seen_at_ms"}


async def all_seen(world: World, count: int) -> bool:
    return bool(await world.client.zcard(world.keys("processes")) == count)


async def test_cancelling_the_program_ends_it_and_hands_its_jobs_back(here: World, app: headgate.Headgate) -> None:
    started = anyio.Event()

    @app.actor("test")
    async def test() -> None:
        started.set()
        await anyio.sleep_forever()

    async def program() -> None:
        async with app.run(shutdown_grace=0):
            await app.enqueue("test")
            await anyio.sleep_forever()

    task = asyncio.create_task(program())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await here.queued()) == 1
