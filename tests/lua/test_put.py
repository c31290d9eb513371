"""`put` and `delete`: what a write of a schedule changes, what it leaves, and what it refuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from headgate.errors import Conflict, InvalidRequest, InvalidSpec, ScheduleNotFound, StoreError, StoreFull
from headgate.models import MissedPolicy, ScheduleDefinition
from headgate.scheduler import Scheduler
from headgate.settings import Settings
from headgate.store.wakeups import Wakeups
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

MINUTE = 60_000
YEAR = 365 * 86_400_000


async def on_duty(world: World) -> Scheduler:
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    return scheduler


async def everything(world: World) -> dict[str, Any]:
    """Each key of the namespace with its value, lifetimes aside."""
    read: dict[str, Callable[[str], Awaitable[Any]]] = {
        "string": world.client.get,
        "hash": world.client.hgetall,
        "list": lambda key: world.client.lrange(key, 0, -1),
        "set": world.client.smembers,
        "zset": lambda key: world.client.zrange(key, 0, -1, withscores=True),
    }
    keys = [key async for key in world.client.scan_iter(match=world.keys.root + "*", count=1000)]
    return {key: await read[await world.client.type(key)](key) for key in keys}


def definition(spec: str = "@every:60000", **options: Any) -> ScheduleDefinition:
    return ScheduleDefinition(**({"kind": "test", "spec": spec} | options))


async def failing(world: World, schedule_id: str) -> Scheduler:
    """The schedule's due tick cannot be carried out: its queue holds a foreign type."""
    scheduler = await on_duty(world)
    queue = world.keys("state", (await world.record(schedule_id))["queue"], "available")
    waiting = dict(await world.client.zrange(queue, 0, -1, withscores=True))
    await world.client.set(queue, "foreign")
    await world.advance(MINUTE)
    await scheduler.sweep()
    await world.client.delete(queue)
    if waiting:
        await world.client.zadd(queue, waiting)
    assert await world.client.zscore(world.keys("failing"), schedule_id)
    return scheduler


async def without_its_event(world: World, schedule_id: str) -> Scheduler:
    """A tick of the schedule is queued, and its event could not be written."""
    scheduler = await on_duty(world)
    await world.client.set(world.keys("events", schedule_id), "foreign")
    await world.advance(MINUTE)
    await scheduler.sweep()
    await world.client.delete(world.keys("events", schedule_id))
    record = await world.record(schedule_id)
    assert int(record["last_tick_ms"]) > int(record["anchor_ms"])
    return scheduler


# creating


async def test_a_created_schedule_holds_its_definition_and_waits_for_its_first_tick(moved: World) -> None:
    await moved.set_clock(START_MS + 1)
    result = await moved.store.schedules.put(
        "a", definition(payload={"big": 2**70, "none": []}, queue="mail", priority=-3, on_missed=MissedPolicy.BACKFILL)
    )
    assert result.change == "created"
    schedule = await moved.store.schedules.get("a")
    assert schedule == result.schedule
    assert (schedule.payload, schedule.payload_bytes) == ({"big": 2**70, "none": []}, 40)
    assert (schedule.queue, schedule.priority, schedule.on_missed) == ("mail", -3, "backfill")
    assert (schedule.created_at_ms, schedule.updated_at_ms, schedule.anchor_ms) == (START_MS + 1,) * 3
    assert (schedule.next_run_ms, schedule.last_tick_ms) == (START_MS + MINUTE, None)
    assert (schedule.outcomes, schedule.failure, schedule.paused) == ("", None, False)
    assert await moved.client.zscore(moved.keys("due"), "a") == START_MS + MINUTE
    assert await moved.client.zscore(moved.keys("schedules"), "a") == 0
    assert await moved.events("a") == []


async def test_the_instant_of_creation_is_not_a_tick(moved: World) -> None:
    """A schedule made at a tick fires at the next one."""
    await moved.put("a")
    assert (await moved.record("a"))["next_run_ms"] == str(START_MS + MINUTE)


async def test_a_schedule_paused_at_creation_waits_for_nothing(moved: World) -> None:
    """It stands in the index of paused ones, not in the due index, and has no next run."""
    result = await moved.store.schedules.put("a", definition(), paused=True)
    assert (result.schedule.paused, result.schedule.next_run_ms) == (True, None)
    assert await moved.client.zrange(moved.keys("due"), 0, -1) == []
    assert await moved.client.zrange(moved.keys("paused"), 0, -1, withscores=True) == [("a", START_MS)]
    scheduler = await on_duty(moved)
    await moved.advance(10 * MINUTE)
    await scheduler.sweep()
    assert await moved.queued() == []


async def test_a_write_of_a_paused_schedule_leaves_it_paused(moved: World) -> None:
    """The pause state belongs to pause and resume; also since when. What the new spec passes was due to the pause."""
    await moved.store.schedules.put("a", definition(), paused=True)
    await moved.advance(10 * MINUTE)
    for paused in (False, True):
        result = await moved.store.schedules.put("a", definition("@every:7000", payload=paused), paused=paused)
        assert (result.change, result.schedule.paused, result.schedule.next_run_ms) == ("updated", True, None)
    assert await moved.client.zrange(moved.keys("due"), 0, -1) == []
    assert await moved.client.zscore(moved.keys("paused"), "a") == START_MS
    [event] = await moved.events("a")
    assert (event["outcome"], event["reason"], event["tick_ms"]) == ("skipped", "paused", START_MS + 10 * MINUTE)
    [gap] = await moved.gaps("a")
    assert (gap["from_ms"], gap["until_ms"]) == (START_MS + MINUTE, START_MS + 10 * MINUTE)
    assert (gap["reason"], gap["spec"]) == ("paused", "@every:60000")


async def test_the_wish_to_pause_counts_at_creation_only(moved: World) -> None:
    await moved.put("a")
    result = await moved.store.schedules.put("a", definition(payload="new"), paused=True)
    assert not result.schedule.paused
    assert await moved.client.zcard(moved.keys("paused")) == 0


@pytest.mark.parametrize(
    ("schedule_id", "options", "field"),
    [
        ("", {}, "id"),
        ("a/b", {}, "id"),
        ("x" * 201, {}, "id"),
        ("a", {"spec": "@every:0"}, "spec"),
        ("a", {"spec": "CRON_TZ=Mars/Olympus 0 9 * * *"}, "spec"),
        ("a", {"kind": ""}, "kind"),
        ("a", {"queue": "a b"}, "queue"),
        ("a", {"priority": 101}, "priority"),
        ("a", {"priority": -101}, "priority"),
        ("a", {"max_attempts": 0}, "max_attempts"),
        ("a", {"timeout_ms": 0}, "timeout_ms"),
        ("a", {"retention_ms": -1}, "retention_ms"),
        ("a", {"backfill_limit": 0}, "backfill_limit"),
        ("a", {"backfill_limit": 1001}, "backfill_limit"),
        ("a", {"payload": float("nan")}, "payload"),
        ("a", {"payload": "x" * 1_048_576}, "payload"),
    ],
)
async def test_a_bad_value_is_refused_by_field_and_changes_nothing(
    moved: World, schedule_id: str, options: dict[str, Any], field: str
) -> None:
    await moved.put("a", payload="kept")
    before = await everything(moved)
    with pytest.raises(InvalidRequest) as caught:
        await moved.store.schedules.put(schedule_id, definition(**options))
    assert caught.value.field == field
    assert isinstance(caught.value, InvalidSpec) == (field == "spec")
    assert await everything(moved) == before


# updating


async def test_identical_content_changes_nothing_at_all(moved: World) -> None:
    """Not the revision, not the time of the update; a payload spelt otherwise is the same."""
    await moved.put("a", payload={"a": 1, "b": [2]})
    await moved.advance(5000)
    before = await everything(moved)
    result = await moved.store.schedules.put("a", definition(payload={"b": [2], "a": 1}))
    assert result.change == "unchanged"
    assert result.schedule == await moved.store.schedules.get("a")
    assert await everything(moved) == before


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "other"},
        {"payload": 1},
        {"queue": "mail"},
        {"priority": 1},
        {"max_attempts": 6},
        {"timeout_ms": 1},
        {"retention_ms": 0},
        {"on_missed": "run_once"},
        {"backfill_limit": 99},
    ],
    ids=lambda it: next(iter(it)),
)
async def test_other_content_moves_the_revision_and_keeps_the_phase(moved: World, options: dict[str, Any]) -> None:
    """A write touches neither where the schedule stands nor its history."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    await moved.advance(MINUTE)
    await scheduler.sweep()
    before, events = await moved.record("a"), await moved.events("a")
    now = await moved.advance(1)
    result = await moved.store.schedules.put("a", definition(**options))
    assert result.change == "updated"
    after = await moved.record("a")
    changed = {name for name in after if after[name] != before[name]}
    defined = set(options) | ({"fingerprint"} if {"kind", "payload"} & set(options) else set())
    defined |= {"payload_bytes"} if "payload" in options else set()
    assert changed == defined | {"revision", "updated_at_ms"}
    assert set(after) == set(before)
    assert int(after["revision"]) > int(before["revision"])
    assert (after["updated_at_ms"], after["created_at_ms"]) == (str(now), str(START_MS))
    assert await moved.events("a") == events


async def test_a_changed_spec_counts_from_store_time(moved: World) -> None:
    """Without a due tick in between there is nothing to record."""
    await moved.put("a", "@every:86400000")
    now = await moved.advance(1234)
    await moved.put("a", "@every:7000")
    record = await moved.record("a")
    assert (record["anchor_ms"], record["next_run_ms"]) == (str(now), str(now - now % 7000 + 7000))
    assert await moved.client.zscore(moved.keys("due"), "a") == int(record["next_run_ms"])
    assert await moved.events("a") == []
    assert await moved.gaps("a") == []


async def test_a_store_clock_gone_back_never_anchors_before_a_decided_tick(moved: World) -> None:
    """Else the ledger would swallow the ticks in between: it counts them as run."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    await moved.set_clock(tick - 3_600_000)
    await moved.put("a", "@every:7000")
    record = await moved.record("a")
    assert (record["last_tick_ms"], record["anchor_ms"]) == (str(tick), str(tick))
    following = int(record["next_run_ms"])
    assert following == tick - tick % 7000 + 7000
    await moved.set_clock(following)
    await scheduler.sweep()
    assert [(e["tick_ms"], e["reason"]) for e in await moved.events("a")] == [
        (following, "accepted"),
        (tick, "accepted"),
    ]


async def test_a_spec_that_is_refused_today_can_still_be_replaced(moved: World) -> None:
    """As when its zone left the zone database: what it owed cannot be known and is not recorded."""
    await moved.put("a")
    await moved.client.hset(moved.keys("schedule", "a"), "spec", "CRON_TZ=Mars/Olympus 0 9 * * *")
    await moved.advance(5 * MINUTE)
    await moved.put("a", "@every:7000")
    assert (await moved.record("a"))["spec"] == "@every:7000"
    assert await moved.events("a") == []


@pytest.mark.parametrize("options", [{"payload": "new"}, {"spec": "@every:7000"}], ids=["payload", "spec"])
async def test_a_write_of_the_definition_clears_the_failure(moved: World, options: dict[str, Any]) -> None:
    """Its fields, its place among the failing, and the wait: the schedule is looked at when its next run says."""
    await moved.put("a")
    await failing(moved, "a")
    result = await moved.store.schedules.put("a", definition(**options))
    assert result.schedule.failure is None
    record = await moved.record("a")
    assert not [name for name in record if name.startswith(("failing", "retry"))]
    assert await moved.client.zcard(moved.keys("failing")) == 0
    assert await moved.client.zscore(moved.keys("due"), "a") == int(record["next_run_ms"])


async def test_identical_content_does_not_clear_the_failure(moved: World) -> None:
    """Nothing was written, so nothing changed: a deploy that puts its schedules again does not reset the back-off."""
    await moved.put("a")
    await failing(moved, "a")
    before = await everything(moved)
    assert (await moved.store.schedules.put("a", definition())).change == "unchanged"
    assert await everything(moved) == before


async def test_a_changed_spec_is_refused_while_a_queued_tick_lacks_its_event(moved: World) -> None:
    """Re-anchoring would pass an unwritten event. Once it is written, the change goes through."""
    await moved.put("a")
    scheduler = await without_its_event(moved, "a")
    before = await everything(moved)
    with pytest.raises(StoreError, match="lacks its event"):
        await moved.put("a", "@every:7000")
    assert await everything(moved) == before
    await moved.advance(1000)
    await scheduler.sweep()
    await moved.put("a", "@every:7000")
    assert [event["reason"] for event in await moved.events("a")] == ["replayed"]


async def test_other_content_is_taken_while_a_queued_tick_lacks_its_event(moved: World) -> None:
    """It passes nothing: the event is still written, for the job that is queued."""
    await moved.put("a")
    scheduler = await without_its_event(moved, "a")
    await moved.put("a", payload="new")
    await scheduler.sweep()
    tick = START_MS + MINUTE
    assert [(e["tick_ms"], e["reason"]) for e in await moved.events("a")] == [(tick, "replayed")]
    assert await moved.queued() == [f"sched-a-{tick}"]
    assert (await moved.store.jobs.get(f"sched-a-{tick}", include_payload=True)).payload is None


# races


def interleave(world: World, monkeypatch: pytest.MonkeyPatch, *rivals: Callable[[], Awaitable[Any]]) -> list[str]:
    """Each rival acts once, between a read of the record and the write that follows it. Returns these two calls."""
    scripts = world.store.schedules._scripts
    call, waiting, calls = scripts.call, list(rivals), list[str]()

    async def interleaved(name: str, *args: str | int) -> Any:
        if name in ("get", "put"):
            calls.append(name)
        if name == "put" and waiting:
            await waiting.pop(0)()
        return await call(name, *args)

    monkeypatch.setattr(scripts, "call", interleaved)
    return calls


async def test_a_write_that_lost_a_race_is_tried_again_on_what_is_there_now(
    moved: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rival's write is read, and replaced: two writes, two revisions, the last one stays."""
    await moved.put("a")
    rival = moved.store_on(moved.client).schedules
    calls = interleave(moved, monkeypatch, lambda: rival.put("a", definition("@every:7000", payload="rival")))
    result = await moved.store.schedules.put("a", definition(payload="mine"))
    assert calls == ["get", "put", "get", "put"]
    assert (result.change, result.schedule.payload, result.schedule.spec) == ("updated", "mine", "@every:60000")
    assert result.schedule.revision == 3


async def test_of_two_creators_one_creates_and_the_other_updates(moved: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's record is overwritten unread; with the same content the second one changes nothing."""
    rival = moved.store_on(moved.client).schedules
    interleave(moved, monkeypatch, lambda: rival.put("a", definition()), lambda: rival.put("b", definition()))
    assert (await moved.store.schedules.put("a", definition())).change == "unchanged"
    assert (await moved.store.schedules.put("b", definition(payload=1))).change == "updated"


async def test_a_tick_that_fires_meanwhile_is_not_forgotten(moved: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write would put the schedule back to before the tick; it is made again from where the schedule stands."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    calls = interleave(moved, monkeypatch, scheduler.sweep)
    await moved.put("a", "@every:120000", payload="new")
    assert calls.count("put") == 2
    record = await moved.record("a")
    assert (record["last_tick_ms"], record["next_run_ms"]) == (str(tick), str(tick + MINUTE))


async def test_firing_meanwhile_is_no_conflict_for_a_write_that_keeps_the_spec(
    moved: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nobody could edit the payload of a schedule that fires faster than a write takes."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    calls = interleave(moved, monkeypatch, scheduler.sweep)
    await moved.put("a", payload="new")
    assert calls.count("put") == 1
    record = await moved.record("a")
    assert (record["last_tick_ms"], record["next_run_ms"], record["payload"]) == (
        *(str(tick), str(tick + MINUTE)),
        '"new"',
    )


async def test_a_delete_meanwhile_turns_an_update_into_a_creation(
    moved: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the deleted record comes back."""
    await moved.put("a")
    interleave(moved, monkeypatch, lambda: moved.store.schedules.delete("a"))
    now = await moved.advance(1)
    result = await moved.store.schedules.put("a", definition(payload="new"))
    assert (result.change, result.schedule.created_at_ms) == ("created", now)


async def test_a_delete_and_a_creation_meanwhile_are_noticed(moved: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision is never used twice, so the new record does not pass for the old one."""
    await moved.put("a")

    async def replace() -> None:
        rival = moved.store_on(moved.client).schedules
        await rival.delete("a")
        await rival.put("a", definition(payload="rival"))

    calls = interleave(moved, monkeypatch, replace)
    await moved.store.schedules.put("a", definition(payload="mine"))
    assert calls == ["get", "put", "get", "put"]


async def test_a_write_that_loses_every_race_gives_up_with_a_conflict(
    moved: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ten tries; the rivals' content stays."""
    await moved.put("a")
    rival = moved.store_on(moved.client).schedules

    def write(number: int) -> Callable[[], Awaitable[Any]]:
        return lambda: rival.put("a", definition(payload=number))

    calls = interleave(moved, monkeypatch, *(write(number) for number in range(20)))
    with pytest.raises(Conflict):
        await moved.store.schedules.put("a", definition(payload="mine"))
    assert calls.count("put") == 10
    assert (await moved.store.schedules.get("a")).payload == 9


# foreign keys


@pytest.mark.damages_store("a foreign type")
@pytest.mark.parametrize("family", ["schedule", "schedules", "due", "paused", "failing", "meta", "events", "gaps"])
@pytest.mark.parametrize("exists", [False, True], ids=["create", "update"])
async def test_a_foreign_type_refuses_the_write_before_anything_is_written(
    moved: World, family: str, exists: bool
) -> None:
    """Whichever key it stands in place of."""
    if exists:
        await moved.put("a", "@every:1000")
    await moved.advance(5000)  # a due tick is passed by the new spec, so that events and gaps would be written
    key = moved.keys(family, *["a"] * (family in ("schedule", "events", "gaps")))
    await moved.client.delete(key)
    await moved.client.sadd(key, "foreign")
    before = await everything(moved)
    with pytest.raises(StoreError):
        await moved.put("a", "@every:7000")
    assert await everything(moved) == before


@pytest.mark.damages_store("a foreign type")
@pytest.mark.parametrize("family", ["schedules", "due", "paused", "failing"])
async def test_a_foreign_index_refuses_the_delete_before_anything_is_written(moved: World, family: str) -> None:
    await moved.put("a")
    await moved.client.delete(moved.keys(family))
    await moved.client.sadd(moved.keys(family), "foreign")
    before = await everything(moved)
    with pytest.raises(StoreError):
        await moved.store.schedules.delete("a")
    assert await everything(moved) == before


# wake-ups


async def test_every_write_that_moves_a_schedule_wakes_whoever_listens(moved: World) -> None:
    """Creation, other content, another spec, creation again: each is announced once."""
    listening: Any = Wakeups(moved._pubsub, moved.namespace).listen()
    async with aclosing(listening) as heard:
        with anyio.fail_after(10):
            assert await anext(heard) == "subscribed"
            for spec, payload in (("@every:60000", 1), ("@every:60000", 2), ("@every:7000", 2)):
                await moved.put("a", spec, payload=payload)
                assert await anext(heard) == "schedule"
            await moved.store.schedules.delete("a")
            await moved.put("a")
            assert await anext(heard) == "schedule"


async def test_a_write_that_changes_no_next_run_wakes_nobody(moved: World) -> None:
    """Identical content, and a paused schedule: the scheduler has nothing to do about either."""
    await moved.put("a")
    listening: Any = Wakeups(moved._pubsub, moved.namespace).listen()
    async with aclosing(listening) as heard:
        with anyio.fail_after(10):
            assert await anext(heard) == "subscribed"
            await moved.put("a")
            await moved.store.schedules.put("b", definition(), paused=True)
            await moved.client.publish(moved.keys("wake"), "a mark")
            assert await anext(heard) == "a mark"


# deleting


async def test_a_deleted_schedule_leaves_its_history_for_a_year_and_nothing_else(moved: World) -> None:
    """Record, indexes and gaps go; jobs it made stay; events and manual runs get a lifetime."""
    await moved.put("a", "@every:1000")
    await moved.advance(5000)
    await moved.put("a", "@every:60000")
    await moved.store.producer.run_now("a", idempotency_key="k")
    await failing(moved, "a")
    for family in ("due", "failing", "schedules"):
        assert await moved.client.zscore(moved.keys(family), "a") is not None
    assert await moved.gaps("a")
    events, jobs = await moved.events("a"), await moved.queued()

    await moved.store.schedules.delete("a")
    assert await moved.client.exists(moved.keys("schedule", "a"), moved.keys("gaps", "a")) == 0
    for family in ("due", "failing", "schedules"):
        assert await moved.client.zscore(moved.keys(family), "a") is None
    assert await moved.events("a") == events
    assert await moved.queued() == jobs
    for family in ("events", "manual"):
        assert YEAR - MINUTE < await moved.client.pttl(moved.keys(family, "a")) <= YEAR
    assert [event.event_id for event in (await moved.store.events.list("a")).events] == [2, 1]


async def test_a_deleted_paused_schedule_leaves_the_index_of_paused_ones(moved: World) -> None:
    await moved.store.schedules.put("a", definition(), paused=True)
    await moved.store.schedules.delete("a")
    assert await moved.client.zcard(moved.keys("paused")) == 0


@pytest.mark.damages_store("a history that is kept for ever")
@pytest.mark.parametrize(("retention_ms", "expected"), [(0, -1), (86_400_000, 86_400_000)])
async def test_the_life_of_a_deleted_history_can_be_chosen(
    server: PrivateServer, moved: World, retention_ms: int, expected: int
) -> None:
    """A retention of 0 keeps it for ever."""
    settings = Settings(history_retention_ms=retention_ms)
    other = World(server.url, moved.namespace, settings=settings, moved=True)
    try:
        await moved.put("a", "@every:1000")
        await moved.advance(5000)
        await moved.put("a", "@every:60000")
        await other.store.schedules.delete("a")
        life = await moved.client.pttl(moved.keys("events", "a"))
        assert life == expected if expected < 0 else expected - MINUTE < life <= expected
        assert len(await moved.events("a")) == 1
    finally:
        await other.close()


async def test_a_full_store_refuses_a_put_and_takes_a_delete(own_server: PrivateServer) -> None:
    """A put before its first write; a delete frees memory, and there is no other way to get some back."""
    world = World(own_server.url, "full", moved=True)
    try:
        await world.set_clock(START_MS)
        await world.put("a")
        before = await everything(world)
        await world.client.config_set("maxmemory", "1")
        for schedule_id, spec in (("a", "@every:7000"), ("b", "@every:60000")):
            with pytest.raises(StoreFull):
                await world.put(schedule_id, spec)
        assert (await world.store.schedules.put("a", definition())).change == "unchanged"
        assert await everything(world) == before
        await world.store.schedules.delete("a")
        assert await world.record("a") == {}
        await world.client.config_set("maxmemory", "0")
        await check_store(world)
    finally:
        await world.close()


async def test_a_schedule_that_does_not_exist_cannot_be_deleted(moved: World) -> None:
    """Nor twice; the history of an earlier one stays as it is."""
    await moved.put("a")
    await moved.store.schedules.delete("a")
    for schedule_id in ("a", "never"):
        with pytest.raises(ScheduleNotFound):
            await moved.store.schedules.delete(schedule_id)


async def test_a_delete_writes_the_event_that_a_queued_tick_still_lacks(moved: World) -> None:
    """Nobody will come back for it."""
    await moved.put("a")
    await without_its_event(moved, "a")
    await moved.store.schedules.delete("a")
    tick = START_MS + MINUTE
    [event] = await moved.events("a")
    assert (event["tick_ms"], event["outcome"], event["reason"]) == (tick, "enqueued", "replayed")
    assert (event["event_id"], event["job_id"]) == (1, f"sched-a-{tick}")


async def test_a_schedule_created_again_goes_on_with_its_history(moved: World) -> None:
    """Event ids go on without a hole, and the events lose their lifetime; nothing else is inherited."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    for _ in range(3):
        await moved.advance(MINUTE)
        await scheduler.sweep()
    await moved.store.producer.run_now("a", idempotency_key="k")
    revision = int((await moved.record("a"))["revision"])
    await moved.store.schedules.delete("a")
    await moved.advance(MINUTE // 2)
    await moved.put("a")
    record = await moved.record("a")
    assert (record["last_tick_ms"], record["outcomes"], record["event_seq"]) == ("", "", "3")
    assert int(record["revision"]) > revision, "a revision was used twice"
    for family in ("events", "manual"):
        assert await moved.client.pttl(moved.keys(family, "a")) == -1
    await moved.advance(MINUTE // 2)
    await scheduler.sweep()
    assert [event["event_id"] for event in await moved.events("a")] == [4, 3, 2, 1]


async def test_a_schedule_created_again_does_not_fire_a_tick_a_second_time(moved: World) -> None:
    """The marker knows of it, though the ledger went with the record; even if the store's clock went back."""
    await moved.put("a")
    scheduler = await on_duty(moved)
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    await moved.store.schedules.delete("a")
    await moved.client.zrem(moved.keys("state", "default", "available"), f"sched-a-{tick}")
    await moved.client.delete(moved.keys("job", f"sched-a-{tick}"))
    await moved.set_clock(tick - 1)
    await moved.put("a")
    await moved.set_clock(tick)
    await scheduler.sweep()
    assert await moved.queued() == []
    assert [(e["tick_ms"], e["reason"]) for e in await moved.events("a")] == [(tick, "replayed"), (tick, "accepted")]
