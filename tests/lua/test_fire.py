"""`fire`, tick by tick: what is queued, what is recorded, where the schedule stands afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from redis.exceptions import ResponseError

from headgate.errors import LeaseLost, StoreFull
from headgate.missed import Plan
from headgate.models import Reason, ScheduleDefinition, TickRange
from headgate.names import fingerprint
from headgate.scheduler import Scheduler
from headgate.store.loader import compose, find_lua
from headgate.store.ticks import PlannedFire
from tests.support.check import check_trail, commands
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

MINUTE = 60_000


async def on_duty(world: World) -> Scheduler:
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    return scheduler


async def test_a_due_tick_becomes_one_job_one_event_and_an_advance(moved: World) -> None:
    await moved.put("a", payload={"n": 1}, queue="mail", priority=2, max_attempts=7)
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    job_id = f"sched-a-{tick}"
    assert await moved.queued("mail") == [job_id]
    assert await moved.client.zscore(moved.keys("state", "mail", "available"), job_id) == tick - 2 * MINUTE
    job = await moved.store.jobs.get(job_id, include_payload=True)
    assert (job.payload, job.queue, job.max_attempts, job.state) == ({"n": 1}, "mail", 7, "available")
    assert job.periodic_origin is not None
    assert (job.periodic_origin.schedule_id, job.periodic_origin.tick_ms) == ("a", tick)
    assert await moved.events("a") == [
        {
            "event_id": 1,
            "schedule_id": "a",
            "tick_ms": tick,
            "job_id": job_id,
            "outcome": "enqueued",
            "reason": "accepted",
            "recorded_at_ms": tick,
            "attempts": 1,
        }
    ]
    record = await moved.record("a")
    assert (record["last_tick_ms"], record["anchor_ms"]) == (str(tick), str(tick))
    assert record["next_run_ms"] == str(tick + MINUTE)
    assert record["outcomes"] == "e"
    assert record["revision"] == "1", "firing moved the revision"
    assert await moved.client.zscore(moved.keys("due"), "a") == tick + MINUTE


async def test_no_tick_fires_before_its_time_by_the_stores_clock(moved: World) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    page = await moved.store.ticks.due(scheduler.duty.token, 10)
    await moved.advance(-1)
    plan = Plan((tick,), None, tick + MINUTE)
    assert await moved.store.ticks.fire(scheduler.duty.token, [PlannedFire(page.rows[0], plan)]) == ["early"]
    assert await moved.queued() == []
    assert await moved.events("a") == []


@pytest.mark.parametrize(("policy", "fired"), [("skip", 1), ("run_once", 1), ("backfill", 3)])
@pytest.mark.parametrize("missed", [1, 2, 5, 60, 30 * 86_400])
async def test_downtime_fires_what_the_policy_says_and_records_the_rest(
    moved: World, policy: str, fired: int, missed: int
) -> None:
    await moved.put("a", "@every:1000", on_missed=policy, backfill_limit=3)
    scheduler = await on_duty(moved)
    now = await moved.advance(missed * 1000)
    await scheduler.sweep()
    ticks = [event["tick_ms"] for event in await moved.events("a")]
    expected = [now - back * 1000 for back in range(min(fired, missed))]
    assert ticks == expected
    first = (await moved.events("a"))[-1]
    if missed > fired:
        older = {"from_ms": START_MS + 1000, "until_ms": expected[-1] - 1000}
        assert first["discarded"] == older
        assert await moved.gaps("a") == [{**older, "reason": "discarded", "spec": "@every:1000"}]
    else:
        assert "discarded" not in first
    if missed < 10_000:
        await check_trail(moved, "a", since_ms=START_MS, until_ms=now)


async def test_of_a_trail_longer_than_what_is_kept_the_jobs_tell_the_rest(moved: World) -> None:
    """So that on a slow machine more ticks may pass than a trail keeps, and one that is missing still shows."""
    await moved.put("a", "@every:1000", on_missed="backfill", backfill_limit=130)
    scheduler = await on_duty(moved)
    now = await moved.advance(150_000)
    await scheduler.sweep()
    assert len(await moved.events("a")) == 100
    await check_trail(moved, "a", since_ms=START_MS, until_ms=now)
    for tick in (now - 129_000, now - 110_000, now):
        job_id = f"sched-a-{tick}"
        place = await moved.client.zscore(moved.keys("state", "default", "available"), job_id)
        await moved.client.zrem(moved.keys("state", "default", "available"), job_id)
        with pytest.raises(AssertionError):
            await check_trail(moved, "a", since_ms=START_MS, until_ms=now)
        await moved.client.zadd(moved.keys("state", "default", "available"), {job_id: place})
    await check_trail(moved, "a", since_ms=START_MS, until_ms=now)


@pytest.mark.parametrize("policy", ["skip", "run_once", "backfill"])
async def test_work_does_not_grow_with_the_length_of_an_outage(moved: World, policy: str) -> None:
    counts = []
    for schedule_id, outage_ms in (("short", 20_000), ("long", 30 * 86_400_000)):
        await moved.put(schedule_id, "@every:1000", on_missed=policy, backfill_limit=5)
        scheduler = await on_duty(moved)
        await moved.advance(outage_ms)
        before = await commands(moved)
        await scheduler.sweep()
        counts.append(await commands(moved) - before)
        await moved.store.schedules.delete(schedule_id)
        await moved.client.delete(moved.keys("duty", "scheduler"))
    assert counts[0] == counts[1]


async def test_a_backfill_wider_than_one_call_goes_on_in_the_next(moved: World) -> None:
    await moved.put("a", "@every:1000", on_missed="backfill", backfill_limit=1000)
    scheduler = await on_duty(moved)
    now = await moved.advance(1000 * 700)
    while int((await moved.record("a"))["next_run_ms"]) <= now:
        await scheduler.sweep()
    jobs = await moved.queued()
    assert len(jobs) == 700
    assert (await moved.record("a"))["event_seq"] == "700"
    assert len(await moved.events("a")) == 100, "the trail is capped"


async def test_a_quarantined_tick_is_skipped_and_its_ticks_are_one_gap(moved: World) -> None:
    await moved.put("a", payload=[1])
    await moved.store.quarantine.add(fingerprint("test", "[1]"), note="crashes its worker")
    scheduler = await on_duty(moved)
    for _ in range(3):
        await moved.advance(MINUTE)
        await scheduler.sweep()
    now = START_MS + 3 * MINUTE
    assert [(e["outcome"], e["reason"], e["job_id"]) for e in await moved.events("a")] == [
        ("skipped", "quarantined", None)
    ] * 3
    gap = {"from_ms": START_MS + MINUTE, "until_ms": now, "reason": "quarantined", "spec": "@every:60000"}
    assert await moved.gaps("a") == [gap]
    assert await moved.queued() == []
    await check_trail(moved, "a", since_ms=START_MS, until_ms=now)


async def test_a_tick_identity_used_before_with_the_same_content_is_replayed_not_queued_again(moved: World) -> None:
    """A schedule restored from a dump knows nothing of what it fired since; the marker does."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    dump = await raw_dump(moved, "a")
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    await finish(moved, f"sched-a-{tick}")
    await raw_restore(moved, "a", dump)
    await scheduler.sweep()
    assert await moved.queued() == []
    assert (await moved.events("a"))[0]["reason"] == "replayed"


@pytest.mark.damages_store("a state by hand")
async def test_a_marker_that_lapsed_leaves_the_job_itself_to_say_that_it_was_queued(moved: World) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved)
    dump = await raw_dump(moved, "a")
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    await moved.client.hset(moved.keys("job", f"sched-a-{tick}"), "state", "running")
    await moved.client.delete(moved.keys("tick", "a", tick))
    await raw_restore(moved, "a", dump)
    await scheduler.sweep()
    assert await moved.client.hget(moved.keys("job", f"sched-a-{tick}"), "state") == "running"
    assert (await moved.events("a"))[0]["reason"] == "replayed"


@pytest.mark.damages_store("a marker by hand")
async def test_a_tick_identity_used_before_with_other_content_is_an_id_conflict(moved: World) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    await moved.client.set(moved.keys("tick", "a", tick), f"sched-a-{tick} {'0' * 32} default")
    await scheduler.sweep()
    event = (await moved.events("a"))[0]
    assert (event["outcome"], event["reason"], event["job_id"]) == ("deduplicated", "id_conflict", f"sched-a-{tick}")
    assert await moved.queued() == []
    assert (await moved.record("a"))["last_tick_ms"] == str(tick)


async def test_a_job_finished_and_removed_before_its_schedule_advanced_is_not_queued_again(moved: World) -> None:
    """The ledger alone must do: the marker may be gone as well."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    await moved.client.set(moved.keys("events", "a"), "foreign")
    await scheduler.sweep()
    assert await moved.queued() == [f"sched-a-{tick}"]
    await finish(moved, f"sched-a-{tick}")
    await moved.client.delete(moved.keys("events", "a"), moved.keys("tick", "a", tick))
    await moved.advance(1000)
    await scheduler.sweep()
    assert await moved.queued() == []
    event = (await moved.events("a"))[0]
    assert (event["outcome"], event["reason"], event["attempts"]) == ("enqueued", "replayed", 2)


async def test_a_schedule_changed_since_it_was_read_is_left_for_the_next_sweep(moved: World) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    row = (await moved.store.ticks.due(scheduler.duty.token, 10)).rows[0]
    await moved.put("a", "@every:7000")
    plan = Plan((tick,), None, tick + MINUTE)
    assert await moved.store.ticks.fire(scheduler.duty.token, [PlannedFire(row, plan)]) == ["moved"]
    assert await moved.queued() == []


async def test_a_plan_older_than_the_last_decided_tick_is_left_alone(moved: World) -> None:
    """A queued tick that lacks its event moves neither revision nor next run: the last tick is compared as well."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    queued = await moved.advance(MINUTE)
    stale = (await moved.store.ticks.due(scheduler.duty.token, 10)).rows[0]
    await moved.client.sadd(moved.keys("events", "a"), "foreign")
    await scheduler.sweep()
    await moved.client.delete(moved.keys("events", "a"))
    later = await moved.advance(MINUTE)
    plan = Plan((later,), TickRange(from_ms=queued, until_ms=queued), later + MINUTE)
    assert await moved.store.ticks.fire(scheduler.duty.token, [PlannedFire(stale, plan)]) == ["moved"]
    assert await moved.store.ticks.fail(scheduler.duty.token, stale, later, Reason.INVALID_SPEC) is False
    assert await moved.store.ticks.reanchor(scheduler.duty.token, stale, later, None) is False


@pytest.mark.parametrize("call", ["due", "reindex", "fail", "reanchor"])
async def test_every_write_of_the_duty_is_fenced(moved: World, call: str) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved)
    await moved.advance(MINUTE)
    row = (await moved.store.ticks.due(scheduler.duty.token, 10)).rows[0]
    before = await moved.record("a")
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "due": lambda: moved.store.ticks.due("stale/token", 10),
        "reindex": lambda: moved.store.schedules.reindex("stale/token", "", 10),
        "fail": lambda: moved.store.ticks.fail("stale/token", row, 1, Reason.INVALID_SPEC),
        "reanchor": lambda: moved.store.ticks.reanchor("stale/token", row, 1, 2),
    }
    with pytest.raises(LeaseLost):
        await calls[call]()
    assert await moved.record("a") == before


async def test_the_same_fire_sent_twice_is_done_once(moved: World) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    row = (await moved.store.ticks.due(scheduler.duty.token, 10)).rows[0]
    batch = [PlannedFire(row, Plan((tick,), None, tick + MINUTE))]
    assert await moved.store.ticks.fire(scheduler.duty.token, batch) == ["enqueued/accepted"]
    assert await moved.store.ticks.fire(scheduler.duty.token, batch) == ["moved"]
    assert len(await moved.events("a")) == 1


async def test_a_token_without_the_lease_writes_nothing(moved: World) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    row = (await moved.store.ticks.due(scheduler.duty.token, 10)).rows[0]
    with pytest.raises(LeaseLost):
        await moved.store.ticks.fire("stale/token", [PlannedFire(row, Plan((tick,), None, None))])
    assert await moved.queued() == []
    assert await moved.events("a") == []


async def test_a_record_without_a_field_that_a_job_needs_fails_and_is_retried_with_growing_waits(moved: World) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved)
    await moved.client.hdel(moved.keys("schedule", "a"), "queue")
    now = await moved.advance(MINUTE)
    waits = []
    for _ in range(9):
        await scheduler.sweep()
        retry_at = int((await moved.record("a"))["retry_at_ms"])
        waits.append(retry_at - now)
        assert await moved.client.zscore(moved.keys("due"), "a") == retry_at
        now = await moved.advance(waits[-1])
    assert waits == [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]
    assert await moved.client.zrange(moved.keys("failing"), 0, -1) == ["a"]


async def test_repeated_failures_of_one_tick_are_one_event_whose_attempts_grow(moved: World) -> None:
    await moved.put("a", "@every:86400000")
    scheduler = await on_duty(moved)
    await moved.client.hdel(moved.keys("schedule", "a"), "queue")
    tick = await moved.advance(86_400_000 - START_MS % 86_400_000)
    for _ in range(4):
        await scheduler.sweep()
        await moved.advance(60_000)
    event, *others = await moved.events("a")
    assert others == []
    assert (event["outcome"], event["reason"], event["attempts"]) == ("failed", "invalid_request", 4)
    assert (await moved.record("a"))["outcomes"] == "f"
    await moved.client.hset(moved.keys("schedule", "a"), "queue", "default")
    await scheduler.sweep()
    newest, oldest = await moved.events("a")
    assert (newest["outcome"], newest["attempts"], newest["first_attempt_ms"]) == ("enqueued", 5, tick)
    assert oldest["attempts"] == 4
    record = await moved.record("a")
    assert not [field for field in record if field.startswith(("failing", "retry"))]
    assert await moved.client.zcard(moved.keys("failing")) == 0


async def test_a_spec_that_is_refused_now_is_recorded_and_delays_nobody(moved: World) -> None:
    for schedule_id in ("a", "b"):
        await moved.put(schedule_id)
    await moved.client.hset(moved.keys("schedule", "a"), "spec", "CRON_TZ=Mars/Olympus 0 9 * * *")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    assert [(e["outcome"], e["reason"]) for e in await moved.events("a")] == [("failed", "invalid_spec")]
    assert await moved.queued() == [f"sched-b-{tick}"]


async def test_no_due_tick_after_all_re_anchors_without_an_event(moved: World) -> None:
    """As after a change of zone rules: the stored next run is no tick any more."""
    await moved.put("a", "0 0 * * *")
    scheduler = await on_duty(moved)
    await moved.client.hset(moved.keys("schedule", "a"), "next_run_ms", START_MS + 500)
    await moved.client.zadd(moved.keys("due"), {"a": START_MS + 500})
    now = await moved.advance(1000)
    await scheduler.sweep()
    record = await moved.record("a")
    midnight = START_MS - START_MS % 86_400_000 + 86_400_000
    assert (record["anchor_ms"], record["next_run_ms"]) == (str(now), str(midnight))
    assert await moved.events("a") == []


@pytest.mark.parametrize(("schedule_id", "tick"), [("a", ""), ("", "1")])
async def test_the_one_job_writer_refuses_half_an_origin(moved: World, schedule_id: str, tick: str) -> None:
    source = "#!lua\n-- Repeat:  harmless\n-- include: jobs\nwrite_job('x', {}, ARGV[1], ARGV[2], '')\n"
    library = {path.stem: path.read_text() for path in (find_lua() / "lib").glob("*.lua")}
    script = compose("half", source, library)
    with pytest.raises(ResponseError, match="half a periodic origin"):
        await moved.client.eval(script.text, 1, moved.keys.root, schedule_id, tick)
    assert await moved.client.exists(moved.keys("job", "x")) == 0


async def test_a_schedule_with_no_further_tick_stays_and_waits_for_nothing(moved: World) -> None:
    await moved.put("a", "@every:253402300799999")
    assert (await moved.record("a"))["next_run_ms"] == "253402300799999"
    scheduler = await on_duty(moved)
    await moved.set_clock(253_402_300_799_999)
    await scheduler.sweep()
    assert (await moved.record("a"))["next_run_ms"] == ""
    assert await moved.client.zscore(moved.keys("due"), "a") == float("inf")
    event = (await moved.store.events.list("a")).events[0]
    assert event.tick_ms == 253_402_300_799_999, "fifteen digits survive the script"


async def test_a_full_store_refuses_the_call_before_its_first_write(own_server: PrivateServer) -> None:
    world = World(own_server.url, "full", moved=True)
    try:
        await world.set_clock(START_MS)
        await world.put("a")
        scheduler = await on_duty(world)
        tick = await world.advance(MINUTE)
        before = await world.record("a")
        await world.client.config_set("maxmemory", "1")
        for _ in range(2):
            with pytest.raises(StoreFull):
                await scheduler.sweep()
        assert (await scheduler.heart.beat()).duties["scheduler"].held, "a full store renews a lease"
        await world.client.config_set("maxmemory", "0")
        assert await world.record("a") == before
        assert await world.client.exists(world.keys("tick", "a", tick)) == 0
        await scheduler.sweep()
        event = (await world.events("a"))[0]
        assert (event["outcome"], event["attempts"]) == ("enqueued", 3)
        assert event["first_attempt_ms"] == tick
        await check_trail(world, "a", since_ms=START_MS, until_ms=tick)
        await check_store(world)
    finally:
        await world.close()


async def test_a_changed_spec_that_passes_due_ticks_records_them_as_a_gap(moved: World) -> None:
    await moved.put("a", "@every:1000")
    now = await moved.advance(5000)
    await moved.put("a", "@every:7000")
    event = (await moved.events("a"))[0]
    assert (event["outcome"], event["reason"], event["tick_ms"]) == ("skipped", "spec_changed", now)
    assert event["discarded"] == {"from_ms": START_MS + 1000, "until_ms": now - 1000}
    gap = {"from_ms": START_MS + 1000, "until_ms": now, "reason": "spec_changed", "spec": "@every:1000"}
    assert await moved.gaps("a") == [gap], "whose ticks they are is the old spec"
    record = await moved.record("a")
    assert (record["last_tick_ms"], record["anchor_ms"]) == (str(now), str(now))


async def test_an_unchanged_spec_keeps_its_phase_and_its_due_tick(moved: World) -> None:
    await moved.put("a")
    tick = await moved.advance(MINUTE)
    await moved.store.schedules.put("a", ScheduleDefinition(kind="test", spec="@every:60000", payload="new"))
    assert (await moved.record("a"))["next_run_ms"] == str(tick)
    scheduler = await on_duty(moved)
    await scheduler.sweep()
    assert (await moved.store.jobs.get(f"sched-a-{tick}", include_payload=True)).payload == "new"


async def raw_dump(world: World, schedule_id: str) -> dict[str, str]:
    return await world.record(schedule_id)


async def raw_restore(world: World, schedule_id: str, record: dict[str, str]) -> None:
    """As an operator who restores a record from a backup: what the schedule knew of the time since is gone."""
    await world.client.delete(world.keys("schedule", schedule_id))
    await world.client.hset(world.keys("schedule", schedule_id), mapping=record | {"event_seq": "1"})
    await world.client.zadd(world.keys("due"), {schedule_id: record["next_run_ms"]})


async def finish(world: World, job_id: str) -> None:
    """As a worker and a reclaimer would: the job ran and is gone."""
    await world.client.zrem(world.keys("state", "default", "available"), job_id)
    await world.client.delete(world.keys("job", job_id))
