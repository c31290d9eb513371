"""`enqueue` and `run_now`: a job for each idempotency key, however often and by whomever it is asked for."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from headgate.errors import (
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
    InvalidRequest,
    JobNotFound,
    Quarantined,
    ScheduleNotFound,
    StoreError,
    StoreFull,
)
from headgate.models import Enqueued, JobRequest, ScheduleDefinition
from headgate.names import fingerprint
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

MINUTE = 60_000
DAY = 86_400_000


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


async def enqueue(world: World, key: str | None = "k", **options: Any) -> Enqueued:
    return await world.store.producer.enqueue(JobRequest(**({"kind": "mail"} | options)), idempotency_key=key)


async def run_now(world: World, key: str | None = "k", schedule_id: str = "a") -> Enqueued:
    return await world.store.producer.run_now(schedule_id, idempotency_key=key)


Ask = Callable[..., Awaitable[Enqueued]]
both = pytest.mark.parametrize("ask", [enqueue, run_now])


# what a job is


async def test_an_asked_for_job_holds_what_was_asked_for(moved: World) -> None:
    """No origin, no schedule, and a place in its queue ahead of its time by a minute a step of priority."""
    answer = await enqueue(
        moved, payload={"to": "é"}, queue="post", priority=2, max_attempts=7, timeout_ms=1234, retention_ms=0
    )
    assert not answer.replayed
    job = await moved.store.jobs.get(answer.job_id, include_payload=True)
    assert (job.kind, job.payload, job.queue, job.priority) == ("mail", {"to": "é"}, "post", 2)
    assert (job.max_attempts, job.timeout_ms, job.retention_ms, job.attempt) == (7, 1234, 0, 0)
    assert (job.state, job.enqueued_at_ms, job.available_at_ms) == ("available", START_MS, START_MS)
    assert job.fingerprint == fingerprint("mail", '{"to":"é"}')
    assert (job.periodic_origin, job.manual_schedule_id) == (None, None)
    assert await moved.client.zrange(moved.keys("state", "post", "available"), 0, -1, withscores=True) == [
        (answer.job_id, START_MS - 2 * MINUTE)
    ]


async def test_a_manual_run_is_a_job_of_its_schedule_without_an_origin(moved: World) -> None:
    """Content and options are the schedule's; the origin, which makes a tick, is null."""
    await moved.put("a", payload=[1], queue="post", priority=-1, max_attempts=3)
    answer = await run_now(moved)
    job = await moved.store.jobs.get(answer.job_id, include_payload=True)
    assert (job.periodic_origin, job.manual_schedule_id) == (None, "a")
    assert (job.payload, job.queue, job.priority, job.max_attempts) == ([1], "post", -1, 3)
    raw = await moved.client.hmget(moved.keys("job", job.id), "periodic_schedule_id", "periodic_tick_ms")
    assert raw == ["", ""], "both or neither"
    assert await moved.queued("post") == [answer.job_id]


async def test_a_manual_run_leaves_its_schedule_alone(moved: World) -> None:
    """Neither where it stands nor what it records moves, even while a tick is due; that tick still fires."""
    await moved.put("a")
    tick = await moved.advance(MINUTE)
    before = await everything(moved)
    answer = await run_now(moved)
    after = await everything(moved)
    mine = {moved.keys("job", answer.job_id), moved.keys("state", "default", "available"), moved.keys("queues")}
    mine |= {moved.keys("idem_run", "a", "k"), moved.keys("manual", "a")}
    assert {key: value for key, value in after.items() if key not in mine} == before
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await scheduler.sweep()
    assert [event["tick_ms"] for event in await moved.events("a")] == [tick]
    assert len(await moved.queued()) == 2


async def test_a_paused_schedule_can_be_run_by_hand(moved: World) -> None:
    """A pause is about ticks. It stays paused."""
    await moved.store.schedules.put("a", ScheduleDefinition(kind="test", spec="@every:60000"), paused=True)
    before = await moved.record("a")
    answer = await run_now(moved)
    assert await moved.queued() == [answer.job_id]
    assert await moved.record("a") == before
    assert await moved.client.zcard(moved.keys("due")) == 0


async def test_manual_runs_are_listed_apart_newest_first_and_capped(moved: World) -> None:
    """The newest hundred; they push no event out."""
    await moved.put("a")
    ids = []
    for number in range(103):
        ids.append((await run_now(moved, f"k{number}")).job_id)
        await moved.advance(1)
    runs = [json.loads(text) for text in await moved.client.lrange(moved.keys("manual", "a"), 0, -1)]
    assert [run["job_id"] for run in runs] == ids[:2:-1]
    assert runs[0] == {
        "schedule_id": "a",
        "trigger": "manual",
        "job_id": ids[-1],
        "outcome": "enqueued",
        "tick_ms": None,
        "by": None,
        "recorded_at_ms": START_MS + 102,
    }
    assert await moved.events("a") == []


async def test_a_job_is_read_with_its_payload_only_if_asked(moved: World) -> None:
    answer = await enqueue(moved, payload="secret")
    job = await moved.store.jobs.get(answer.job_id)
    assert "secret" not in repr(job)
    for missing in ("none", "sched-a-1"):
        with pytest.raises(JobNotFound):
            await moved.store.jobs.get(missing)
    with pytest.raises(InvalidRequest):
        await moved.store.jobs.get("a b")


# once for each key


@both
async def test_a_repeat_gets_the_same_answer_and_makes_no_second_job(moved: World, ask: Ask) -> None:
    """Marked as replayed; also after the job has finished and is gone."""
    await moved.put("a")
    first = await ask(moved)
    assert not first.replayed
    before = await everything(moved)
    assert await ask(moved) == Enqueued(job_id=first.job_id, replayed=True)
    assert await everything(moved) == before
    await moved.client.delete(moved.keys("job", first.job_id), moved.keys("state", "default", "available"))
    assert await ask(moved) == Enqueued(job_id=first.job_id, replayed=True)
    assert await moved.queued() == []


@both
async def test_many_at_once_with_one_key_make_one_job(moved: World, ask: Ask) -> None:
    """One is accepted, all get its job."""
    await moved.put("a")
    answers: list[Enqueued] = []

    async def one() -> None:
        answers.append(await ask(moved))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(one)
    assert len({answer.job_id for answer in answers}) == 1
    assert sum(not answer.replayed for answer in answers) == 1
    assert await moved.queued() == [answers[0].job_id]


@both
async def test_another_key_makes_another_job(moved: World, ask: Ask) -> None:
    await moved.put("a")
    assert (await ask(moved, "k")).job_id != (await ask(moved, "K")).job_id
    assert len(await moved.queued()) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "post"},
        {"payload": [1, 3]},
        {"queue": "other"},
        {"priority": 1},
        {"max_attempts": 4},
        {"timeout_ms": 1},
        {"retention_ms": 1},
    ],
    ids=lambda it: next(iter(it)),
)
async def test_a_key_with_another_body_is_refused_and_its_answer_kept(moved: World, other: dict[str, Any]) -> None:
    """Any part of the request that differs makes it another one; the first still gets its answer."""
    first = await enqueue(moved, payload=[1, 2])
    before = await everything(moved)
    with pytest.raises(IdempotencyKeyReused) as caught:
        await enqueue(moved, **({"payload": [1, 2]} | other))
    assert caught.value.field == "Idempotency-Key"
    assert await everything(moved) == before
    assert await enqueue(moved, payload=[1, 2]) == Enqueued(job_id=first.job_id, replayed=True)


async def test_the_same_body_spelt_otherwise_is_a_repeat(moved: World) -> None:
    """The order of a payload's keys, and defaults written out, make no other request."""
    first = await enqueue(moved, payload={"a": 1, "b": 2})
    again = await enqueue(moved, payload={"b": 2, "a": 1}, queue="default", priority=0)
    assert again == Enqueued(job_id=first.job_id, replayed=True)


async def test_keys_belong_to_an_operation_and_to_a_schedule(moved: World) -> None:
    """One key asked of the jobs and of two schedules is three keys; also where the parts could run together."""
    for schedule_id in ("a", "b", "a:b"):
        await moved.put(schedule_id)
    answers = [await enqueue(moved), await run_now(moved, "k", "a"), await run_now(moved, "k", "b")]
    answers += [await run_now(moved, "b/k", "a"), await run_now(moved, "b:k", "a"), await run_now(moved, "k", "a:b")]
    assert not any(answer.replayed for answer in answers)
    assert len({answer.job_id for answer in answers}) == len(answers)


@both
async def test_a_key_is_free_again_after_24_hours_of_store_time(moved: World, ask: Ask) -> None:
    """`until_ms` decides by the store's clock, whatever real time has passed; then even another body is taken."""
    await moved.put("a")
    first = await ask(moved)
    await moved.set_clock(START_MS + DAY - 1)
    assert await ask(moved) == Enqueued(job_id=first.job_id, replayed=True)
    await moved.set_clock(START_MS + DAY)
    second = await ask(moved)
    assert (second.replayed, second.job_id == first.job_id) == (False, False)
    await moved.set_clock(START_MS + 2 * DAY - 1)
    assert await ask(moved) == Enqueued(job_id=second.job_id, replayed=True)


async def test_a_lapsed_key_takes_another_body(moved: World) -> None:
    await enqueue(moved, payload=1)
    await moved.set_clock(START_MS + DAY)
    assert not (await enqueue(moved, payload=2)).replayed


@both
async def test_a_kept_answer_is_readable_and_cleans_up_behind_itself(moved: World, ask: Ask) -> None:
    """JSON with the end of its life in store time; its PX is real time and only cleans up."""
    await moved.put("a")
    answer = await ask(moved)
    key = moved.keys("idem_jobs", "k") if ask is enqueue else moved.keys("idem_run", "a", "k")
    kept = json.loads(await moved.client.get(key))
    assert (kept["answer"], kept["until_ms"]) == (f"accepted {answer.job_id}", START_MS + DAY)
    assert set(kept) == {"request", "answer", "until_ms"}
    assert DAY - MINUTE < await moved.client.pttl(key) <= DAY


async def test_a_repeat_is_answered_after_its_schedule_was_deleted(moved: World) -> None:
    """The answer was given; a new key finds no schedule, and that refusal is not kept."""
    await moved.put("a")
    first = await run_now(moved)
    await moved.store.schedules.delete("a")
    assert await run_now(moved) == Enqueued(job_id=first.job_id, replayed=True)
    with pytest.raises(ScheduleNotFound):
        await run_now(moved, "new")
    await moved.put("a")
    assert not (await run_now(moved, "new")).replayed


async def test_a_repeat_is_answered_after_its_schedule_was_changed(moved: World) -> None:
    """What was asked is the schedule, not the content it had."""
    await moved.put("a")
    first = await run_now(moved)
    await moved.put("a", payload="new")
    assert await run_now(moved) == Enqueued(job_id=first.job_id, replayed=True)


# refusals


@both
async def test_quarantined_content_is_refused_and_the_refusal_not_kept(moved: World, ask: Ask) -> None:
    """Nothing is written; once it is let go, the same key is taken."""
    await moved.put("a", kind="mail")
    barred = fingerprint("mail", "null")
    await moved.store.quarantine.add(barred, note="crashes its worker")
    before = await everything(moved)
    with pytest.raises(Quarantined):
        await ask(moved)
    assert await everything(moved) == before
    assert await moved.store.quarantine.release(barred) == 0
    assert not (await ask(moved)).replayed


@both
async def test_a_repeat_is_answered_though_its_content_is_quarantined_since(moved: World, ask: Ask) -> None:
    """The job exists; whether it may run is decided when it is to run."""
    await moved.put("a", kind="mail")
    first = await ask(moved)
    await moved.store.quarantine.add(fingerprint("mail", "null"), note="")
    assert await ask(moved) == Enqueued(job_id=first.job_id, replayed=True)


@both
@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "é"])
async def test_a_bad_key_is_refused(moved: World, ask: Ask, key: str) -> None:
    """And changes nothing."""
    await moved.put("a")
    before = await everything(moved)
    with pytest.raises(IdempotencyKeyMissing if key == "" else InvalidRequest) as caught:
        await ask(moved, key)
    assert caught.value.field == "Idempotency-Key"
    assert await everything(moved) == before


async def test_a_manual_run_needs_a_key(moved: World) -> None:
    """Somebody clicks: twice by accident is once."""
    await moved.put("a")
    before = await everything(moved)
    with pytest.raises(IdempotencyKeyMissing) as caught:
        await run_now(moved, None)
    assert caught.value.field == "Idempotency-Key"
    assert await everything(moved) == before


async def test_a_job_needs_no_key_and_then_no_answer_is_kept(moved: World) -> None:
    """Each call is a job of its own."""
    first, second = await enqueue(moved, None), await enqueue(moved, None)
    assert (first.replayed, second.replayed, first.job_id != second.job_id) == (False, False, True)
    assert not [key for key in await everything(moved) if ":idem:" in key]


@both
@pytest.mark.parametrize("key", ['"', '","job_id":"x', "%d%s", "{}[]*?", "a/b", "x" * 200])
async def test_a_key_of_odd_characters_is_a_key_like_any_other(moved: World, ask: Ask, key: str) -> None:
    """It is a name and never text to be parsed."""
    await moved.put("a")
    first = await ask(moved, key)
    assert await ask(moved, key) == Enqueued(job_id=first.job_id, replayed=True)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"kind": "a b"}, "kind"),
        ({"queue": ""}, "queue"),
        ({"priority": 101}, "priority"),
        ({"max_attempts": 101}, "max_attempts"),
        ({"timeout_ms": 0}, "timeout_ms"),
        ({"retention_ms": -1}, "retention_ms"),
        ({"payload": "x" * 1_048_576}, "payload"),
    ],
)
async def test_a_bad_value_is_refused_by_field_and_the_refusal_not_kept(
    moved: World, options: dict[str, Any], field: str
) -> None:
    before = await everything(moved)
    with pytest.raises(InvalidRequest) as caught:
        await enqueue(moved, **options)
    assert caught.value.field == field
    assert await everything(moved) == before


async def foreign(world: World, key: str) -> dict[str, Any]:
    """A type that no key of Headgate's has, in place of the key."""
    await world.client.delete(key)
    await world.client.sadd(key, "foreign")
    return await everything(world)


@pytest.mark.parametrize(
    ("family", "parts"),
    [
        ("idem_jobs", ["k"]),
        ("state", ["default", "available"]),
        ("state", ["default", "scheduled"]),
        ("deadlines", ["default"]),
        ("quarantine", []),
        ("queue", ["default"]),
        ("unique", ["u"]),
        ("job", ["mine"]),
    ],
)
async def test_a_foreign_type_refuses_a_job_before_anything_is_written(
    moved: World, family: str, parts: list[str]
) -> None:
    """Whichever key it stands in place of; once mended, the same key is taken."""
    key = moved.keys(family, *parts)
    before = await foreign(moved, key)
    options: dict[str, Any] = {"id": "mine", "unique_key": "u", "deadline_ms": START_MS + 2}
    with pytest.raises(StoreError):
        await enqueue(moved, **options)
    assert await everything(moved) == before
    await moved.client.delete(key)
    assert not (await enqueue(moved, **options)).replayed


@pytest.mark.damages_store("a foreign type")
@pytest.mark.parametrize(
    ("family", "parts"),
    [
        ("idem_run", ["a", "k"]),
        ("state", ["default", "available"]),
        ("state", ["default", "scheduled"]),
        ("deadlines", ["default"]),
        ("queue", ["default"]),
        ("quarantine", []),
        ("manual", ["a"]),
        ("schedule", ["a"]),
    ],
)
async def test_a_foreign_type_refuses_a_manual_run_before_anything_is_written(
    moved: World, family: str, parts: list[str]
) -> None:
    """As for a job asked for directly; the list of manual runs included."""
    await moved.put("a")
    before = await foreign(moved, moved.keys(family, *parts))
    with pytest.raises(StoreError):
        await run_now(moved)
    assert await everything(moved) == before


async def test_a_record_without_a_field_that_a_job_needs_is_refused(moved: World) -> None:
    """Half a job is never queued."""
    await moved.put("a")
    await moved.client.hdel(moved.keys("schedule", "a"), "queue")
    before = await everything(moved)
    with pytest.raises(StoreError):
        await run_now(moved)
    assert await everything(moved) == before


async def test_a_full_store_refuses_a_job_and_keeps_no_answer(own_server: PrivateServer) -> None:
    """Before the first write: once there is room, the same key is taken."""
    world = World(own_server.url, "full", moved=True)
    try:
        await world.set_clock(START_MS)
        await world.put("a")
        before = await everything(world)
        await world.client.config_set("maxmemory", "1")
        for ask in (enqueue, run_now):
            with pytest.raises(StoreFull):
                await ask(world)
        await world.client.config_set("maxmemory", "0")
        assert await everything(world) == before
        for ask in (enqueue, run_now):
            assert not (await ask(world)).replayed
        await check_store(world)
    finally:
        await world.close()
