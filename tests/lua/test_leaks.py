"""The check that runs after every test finds each kind of leak; and it finds none in a store that has everything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headgate.models import JobRequest, JobState, QueueLimits, ScheduleDefinition
from headgate.names import fingerprint
from headgate.store.attempts import Report
from headgate.store.keys import PATTERNS
from headgate.store.leases import Bid
from tests.support.leaks import _FAMILIES, CHANNELS, TYPES, check_store, family_of, find_leaks, find_miscounts
from tests.support.worlds import START_MS, World

MINUTE = 60_000
BARRED = fingerprint("test", '"barred"')
RELEASED = fingerprint("test", '"released"')
ASIDE = fingerprint("test", '"aside"')
_HARD = {"tick": ("a:1:b", "17"), "idem_run": ("a", "k/k"), "idem_backfill": ("a", "k/k")}
"""Parts that are easily taken for others."""


async def everything(world: World) -> None:
    """A key of each family, a job in each state: among them w, which waits and holds a unique key and a deadline."""
    store = world.store
    for schedule_id in ("a", "gone"):
        await world.put(schedule_id)
        await store.producer.run_now(schedule_id, idempotency_key="k")
        await store.backfills.run(schedule_id, START_MS - 1, START_MS, idempotency_key="k")
    await store.schedules.put("p", ScheduleDefinition(kind="test", spec="@every:60000"), paused=True)
    await store.control.pause("p", until_ms=START_MS + 9 * MINUTE)
    await world.put("failing", payload="no room", queue="full")
    await store.queues.set_limits("full", QueueLimits(max_unfinished=0))
    await world.put("passes", "@every:1000", payload="barred")
    await store.quarantine.add(BARRED)
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    await world.advance(MINUTE)
    await scheduler.sweep()
    await store.leases.heartbeat("p", [Bid("reclaimer", "p/real")], {"host": "h", "queues": "[]"}, ttl_ms=5000)
    await store.schedules.delete("gone")
    verdicts = {"completed": "completed", "archived": "failed", "cancelled": "cancelled", "undecodable": "undecodable"}
    for state in (*verdicts, "retryable", "running"):
        options: dict[str, Any] = {"queue": state, "max_attempts": 1 if state == "archived" else 2}
        await store.producer.enqueue(JobRequest(kind="test", id=state, **options), idempotency_key=state)
        [claim] = (await store.attempts.admit("w", [state], 1, 5000)).claims
        verdict = verdicts.get(state, "failed")
        if state != "running":
            assert await store.attempts.finish([Report(claim, verdict, wait_ms=5)]) == [state]
    await store.producer.enqueue(JobRequest(kind="test", id="s", delay_ms=5, queue="w"))
    held = JobRequest(kind="test", id="w", queue="w", unique_key="u", deadline_ms=START_MS + 2 * MINUTE)
    await store.producer.enqueue(held)
    await store.producer.enqueue(JobRequest(kind="test", id="x", queue="w", unique_key="window", unique_ms=MINUTE))
    for payload, count in (("aside", 1), ("released", 201)):
        jobs = [JobRequest(kind="test", id=f"{payload}{number}", payload=payload, queue="q") for number in range(count)]
        for begin in range(0, count, 200):
            await store.producer.enqueue_many(jobs[begin : begin + 200])
        await store.quarantine.add(fingerprint("test", f'"{payload}"'))
        while (await store.attempts.admit("w", ["q"], 200, 5000)).look_again_ms is not None:
            pass
    # A caller that dies after its first step.
    await store.quarantine._scripts.call("quarantine_release", RELEASED)


@pytest.fixture
async def full(moved: World) -> World:
    await everything(moved)
    return moved


async def test_a_store_with_a_key_of_each_family_has_no_leak(full: World) -> None:
    await check_store(full)
    names = [key async for key in full.client.scan_iter(match=full.keys.root + "*", count=1000)]
    families = {family_of(name.removeprefix(full.keys.root))[0] for name in names}
    assert families - {""} == set(PATTERNS) - set(CHANNELS)
    queues = (await full.store.queues.list()).queues
    assert all(any(queue.counts[state] for queue in queues) for state in JobState)


def test_each_family_has_a_type_and_is_known_by_its_spelling() -> None:
    assert sorted(family for families in TYPES.values() for family in families) == sorted(_FAMILIES)
    assert set(_FAMILIES) == set(PATTERNS) - set(CHANNELS)
    for family, pattern in PATTERNS.items():
        if family not in CHANNELS:
            parts = _HARD.get(family, ("x", "y")[: pattern.count("%s")])
            assert family_of(pattern % parts) == (family, parts)
    assert family_of("nonsense") == ("", ())


Damage = Callable[[World], Awaitable[Any]]


def key(family: str, *parts: str, do: str, **more: Any) -> Damage:
    """A command on one key."""
    args = more.pop("args", ())
    return lambda world: getattr(world.client, do)(world.keys(family, *parts), *args, **more)


def gap(from_ms: int, *, until_ms: int | None = None) -> str:
    return f'{{"from_ms":{from_ms},"until_ms":{until_ms or from_ms},"reason":"paused","spec":"@every:1"}}'


DAMAGES: dict[str, tuple[Damage, str]] = {
    "a key that nobody knows": (
        lambda world: world.client.set(world.keys.root + "leftover", 1),
        "leftover is of no family",
    ),
    "a foreign type": (key("manual", "zz", do="sadd", args=("x",)), "manual:zz is of the foreign type set"),
    "a duty for ever": (key("duty", "reclaimer", do="persist"), "duty:reclaimer has no lifetime"),
    "an answer for ever": (key("idem_jobs", "running", do="persist"), "idem:jobs:running has no lifetime"),
    "a manual answer for ever": (key("idem_run", "a", "k", do="persist"), "idem:run:a/k has no lifetime"),
    "a marker for ever": (key("tick", "a", "1", do="set", args=("x",)), "tick:a:1 has no lifetime"),
    "a process for ever": (key("process", "p", do="persist"), "process:p has no lifetime"),
    "a job with a lifetime": (key("job", "w", do="pexpire", args=(99_999,)), "job:w is a record and has a lifetime"),
    "a set with a lifetime": (
        key("state", "w", "available", do="pexpire", args=(99_999,)),
        "queue:w:available is a record and has a lifetime",
    ),
    "a living history with a lifetime": (
        key("events", "a", do="pexpire", args=(99_999,)),
        "events:a belongs to a schedule and has a lifetime",
    ),
    "a dead history for ever": (
        key("events", "gone", do="persist"),
        "events:gone has neither a schedule nor a lifetime",
    ),
    "dead manual runs for ever": (
        key("manual", "gone", do="persist"),
        "manual:gone has neither a schedule nor a lifetime",
    ),
    "dead gaps": (key("gaps", "gone", do="zadd", args=({"{}": 1},)), "gaps:gone has neither a schedule nor a lifetime"),
    "a schedule that is not listed": (key("schedules", do="zrem", args=("a",)), "schedule a is not listed"),
    "a schedule that nobody looks at": (key("due", do="zrem", args=("a",)), "schedule a stands in [] and is paused=0"),
    "a schedule in both indexes": (
        key("due", do="zadd", args=({"p": 1},)),
        "schedule p stands in ['due', 'paused'] and is paused=1",
    ),
    **{
        f"a dangling entry of {index}": (
            key(index, do="zadd", args=({"none": 1},)),
            f"{index} names none, which is no schedule",
        )
        for index in ("schedules", "due", "paused", "resumes", "failing")
    },
    "a schedule that resumes elsewhere": (
        key("resumes", do="zadd", args=({"p": 1},)),
        f"schedule p is to resume at {START_MS + 9 * MINUTE}, and stands at 1.0 in resumes",
    ),
    "a schedule that would never resume": (
        key("resumes", do="zrem", args=("p",)),
        f"schedule p is to resume at {START_MS + 9 * MINUTE}, and stands at None in resumes",
    ),
    "a pause that is over": (
        key("schedule", "a", do="hset", args=("pause_reason", "x")),
        "schedule a is not paused, and has ['pause_reason']",
    ),
    "a gap that is none": (key("gaps", "a", do="zadd", args=({"{}": 1},)), "gaps of a hold {}, which is none"),
    "a gap that its schedule has not passed": (
        key("gaps", "a", do="zadd", args=({gap(START_MS + 9 * MINUTE): START_MS + 9 * MINUTE},)),
        f"gaps of a hold {gap(START_MS + 9 * MINUTE)}, and its anchor is {START_MS + MINUTE}",
    ),
    "a gap at another instant": (
        key("gaps", "a", do="zadd", args=({gap(5): 6},)),
        f"gaps of a hold {gap(5)} at 6, after one that ends at -1",
    ),
    "gaps that share a tick": (
        key("gaps", "a", do="zadd", args=({gap(5): 5, gap(5, until_ms=7): 7},)),
        f"gaps of a hold {gap(5, until_ms=7)} at 7, after one that ends at 5",
    ),
    "a log that grows without an end": (
        key("changes", "a", do="lpush", args=("{}",) * 50),
        "changes of a has 51 entries, and 50 are kept",
    ),
    "dead changes for ever": (
        key("changes", "gone", do="persist"),
        "changes:gone has neither a schedule nor a lifetime",
    ),
    "a job in no set": (
        key("state", "w", "available", do="zrem", args=("w",)),
        "job w is 'available' in queue 'w' and stands in []",
    ),
    "a job in two sets": (
        key("state", "w", "running", do="zadd", args=({"w": 1},)),
        "job w is 'available' in queue 'w' and stands in [('w', 'available'), ('w', 'running')]",
    ),
    "a job in the set of another state": (
        key("job", "w", do="hset", args=("state", "running")),
        "job w is 'running' in queue 'w' and stands in [('w', 'available')]",
    ),
    "a job in another queue's set": (
        key("job", "w", do="hset", args=("queue", "q")),
        "job w is 'available' in queue 'q' and stands in [('w', 'available')]",
    ),
    "a job of another name": (key("job", "w", do="hset", args=("id", "v")), "job w calls itself v"),
    "an entry without a job": (key("job", "x", do="delete"), "[('w', 'available')] name x, which is no job"),
    "a state that there is not": (
        key("state", "w", "lost", do="zadd", args=({"w": 1},)),
        "lost of queue w is no state",
    ),
    "a queue that is not listed": (key("queues", do="zrem", args=("w",)), "queue w is not listed"),
    "the limits of a queue that is not listed": (key("queues", do="zrem", args=("full",)), "queue full is not listed"),
    "a deadline that nobody watches": (
        key("deadlines", "w", do="zrem", args=("w",)),
        "job w has a deadline that nobody watches",
    ),
    "a deadline elsewhere": (
        key("deadlines", "w", do="zadd", args=({"w": 5},)),
        f"job w stands at 5.0 in deadlines, and has {START_MS + 2 * MINUTE}",
    ),
    "a deadline of a finished job": (
        key("deadlines", "completed", do="zadd", args=({"completed": 5},)),
        "deadlines of queue completed name completed, which is no unfinished job of it",
    ),
    "a deadline of no job": (
        key("deadlines", "w", do="zadd", args=({"none": 5},)),
        "deadlines of queue w name none, which is no unfinished job of it",
    ),
    "a unique key of a finished job": (
        key("unique", "v", do="set", args=("completed",)),
        "unique key v is held by completed, which is no unfinished job that has it",
    ),
    "a unique key of a job that has another": (
        key("unique", "v", do="set", args=("w",)),
        "unique key v is held by w, which is no unfinished job that has it",
    ),
    "a unique key for a window without an end": (
        key("unique", "window", do="persist"),
        f"unique key window is held by x {START_MS + 2 * MINUTE}, which is no unfinished job that has it",
    ),
    "a quarantine that is not listed": (
        key("barred", do="zrem", args=(BARRED,)),
        f"of {[BARRED]}, quarantine and its index know different things",
    ),
    "a list of what is not barred": (
        key("barred", do="zadd", args=({"f" * 32: 0},)),
        f"of {['f' * 32]}, quarantine and its index know different things",
    ),
    "barred while being released": (
        key("releasing", do="zadd", args=({BARRED: 1},)),
        f"{BARRED} is barred and being released",
    ),
    "set aside for nothing": (
        key("releasing", do="delete"),
        f"jobs are set aside for {RELEASED}, which is neither barred nor being released",
    ),
    "set aside and no such job": (
        key("quarantined", ASIDE, do="zadd", args=({"w": 1},)),
        f"w is set aside for {ASIDE}, and is no such job",
    ),
    "set aside and not to be found": (
        key("quarantined", ASIDE, do="delete"),
        "job aside0 is quarantined, and no release would find it",
    ),
}


@pytest.mark.damages_store("each leak is made on purpose")
@pytest.mark.parametrize("what", DAMAGES)
async def test_each_kind_of_leak_is_found(full: World, what: str) -> None:
    """By its own line, whatever else it brings with it."""
    damage, line = DAMAGES[what]
    await damage(full)
    assert line in await find_leaks(full.client, full.keys)
    with pytest.raises(AssertionError):
        await check_store(full)


@pytest.mark.damages_store("each count is made wrong on purpose")
@pytest.mark.parametrize("state", JobState)
async def test_a_count_that_differs_from_a_scan_is_found(full: World, state: JobState) -> None:
    assert await find_miscounts(full.store, full.client) == []
    await full.client.zadd(full.keys("state", "full", state), {"none": 1})
    assert await find_miscounts(full.store, full.client) == [f"queue full tells 1 {state} jobs, and there are 0"]


async def test_a_history_may_be_kept_for_ever_where_that_is_wanted(full: World) -> None:
    before = await full.client.pttl(full.keys("events", "gone"))
    await full.client.persist(full.keys("events", "gone"))
    assert await find_leaks(full.client, full.keys, history_for_ever=True) == []
    await full.client.pexpire(full.keys("events", "gone"), before)
