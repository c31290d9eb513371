"""Enqueue hooks: what they see, what they may change, and that one that fails fails its schedule alone."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from headgate.errors import HookFailed, SkipTick
from headgate.hooks import Enqueueing, Hooks, Trigger, run_now
from headgate.models import Decision
from headgate.names import fingerprint
from headgate.scheduler import Scheduler
from headgate.store.wakeups import Wakeups
from tests.support.check import commands
from tests.support.worlds import START_MS, World

MINUTE = 60_000


async def on_duty(world: World, hooks: Hooks) -> Scheduler:
    scheduler = Scheduler(world.store, Wakeups(world.client, world.namespace), world.heart(), hooks)
    await world.own_the_duty(scheduler)
    return scheduler


def before(hook: Any, *, seconds: float = 1.0) -> Hooks:
    hooks = Hooks(seconds=seconds)
    hooks.before.append(hook)
    return hooks


async def test_a_before_hook_sees_the_tick_and_may_change_payload_and_headers(moved: World) -> None:
    seen: list[Enqueueing] = []

    async def stamp(job: Enqueueing) -> None:
        seen.append(job)
        job.headers["trace"] = "abc"
        job.payload = {"n": job.payload["n"] + 1}

    await moved.put("a", payload={"n": 1})
    scheduler = await on_duty(moved, before(stamp))
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    [job] = seen
    assert (job.schedule.id, job.tick_ms, job.trigger, job.job_id, job.attempt) == (
        *("a", tick, "tick"),
        *(f"sched-a-{tick}", 1),
    )
    made = await moved.store.jobs.get(f"sched-a-{tick}", include_payload=True)
    assert (made.payload, made.fingerprint) == ({"n": 2}, fingerprint("test", '{"n":2}'))
    [claim] = (await moved.store.attempts.admit("w", ["default"], 1, 1000)).claims
    assert claim.headers == {"trace": "abc"}


async def test_a_payload_that_differs_at_each_call_does_not_turn_a_replay_into_a_conflict(moved: World) -> None:
    """The marker holds the fingerprint before hooks."""
    calls = 0

    async def count(job: Enqueueing) -> None:
        nonlocal calls
        calls += 1
        job.payload = calls

    await moved.put("a")
    scheduler = await on_duty(moved, before(count))
    record = await moved.record("a")
    await moved.advance(MINUTE)
    await scheduler.sweep()
    await moved.client.delete(moved.keys("schedule", "a"))
    await moved.client.hset(moved.keys("schedule", "a"), mapping=record | {"event_seq": "1"})
    await moved.client.zadd(moved.keys("due"), {"a": record["next_run_ms"]})
    await scheduler.sweep()
    assert calls == 2
    assert (await moved.events("a"))[0]["reason"] == "replayed"
    assert len(await moved.queued()) == 1


async def test_a_skipped_tick_advances_and_is_on_record(moved: World) -> None:
    async def skip(_job: Enqueueing) -> None:
        raise SkipTick("a holiday")

    await moved.put("a")
    scheduler = await on_duty(moved, before(skip))
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    event = (await moved.events("a"))[0]
    assert (event["outcome"], event["reason"], event["job_id"]) == ("skipped", "hook_skipped", None)
    assert await moved.gaps("a") == [
        {"from_ms": tick, "until_ms": tick, "reason": "hook_skipped", "spec": "@every:60000"}
    ]
    assert (await moved.record("a"))["next_run_ms"] == str(tick + MINUTE)


class Odd(BaseException):
    """No exception that anybody expects."""


@pytest.mark.parametrize("fault", ["raises", "never returns", "odd exception", "odd headers", "odd payload"])
async def test_a_hook_that_fails_fails_its_schedule_alone_which_stays_due(
    moved: World, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    mended = False

    async def hook(job: Enqueueing) -> None:
        if job.schedule.id != "bad" or mended:
            return
        if fault == "raises":
            raise RuntimeError("words of a payload")
        if fault == "never returns":
            await anyio.sleep_forever()
        if fault == "odd exception":
            raise Odd
        if fault == "odd headers":
            job.headers = {"a": 1}  # type: ignore[dict-item]  # the fault under test
        job.payload = object() if fault == "odd payload" else job.payload

    for schedule_id in ("a", "bad", "c"):
        await moved.put(schedule_id, "@every:86400000")
    scheduler = await on_duty(moved, before(hook, seconds=0.05))
    tick = await moved.advance(86_400_000 - START_MS % 86_400_000)
    with caplog.at_level(logging.INFO, "headgate"):
        await scheduler.sweep()
    assert await moved.queued() == [f"sched-a-{tick}", f"sched-c-{tick}"]
    event = (await moved.events("bad"))[0]
    assert (event["outcome"], event["reason"]) == ("failed", "hook_error")
    assert (await moved.record("bad"))["next_run_ms"] == str(tick)
    assert "words of a payload" not in caplog.text
    mended = True
    await moved.advance(1000)
    await scheduler.sweep()
    newest = (await moved.events("bad"))[0]
    assert (newest["outcome"], newest["attempts"]) == ("enqueued", 2)


async def test_quarantine_checks_what_the_hooks_made(moved: World) -> None:
    async def poison(job: Enqueueing) -> None:
        job.payload = "poison"

    await moved.put("a")
    await moved.store.quarantine.add(fingerprint("test", '"poison"'), note="bad")
    scheduler = await on_duty(moved, before(poison))
    await moved.advance(MINUTE)
    await scheduler.sweep()
    assert (await moved.events("a"))[0]["reason"] == "quarantined"


async def test_an_after_hook_sees_what_became_of_each_tick_and_can_spoil_nothing(moved: World) -> None:
    told: list[tuple[int | None, str, str]] = []

    async def tell(job: Enqueueing, outcome: str, reason: str) -> None:
        told.append((job.tick_ms, outcome, reason))
        raise RuntimeError

    hooks = Hooks()
    hooks.after.append(tell)
    await moved.put("a", on_missed="backfill", backfill_limit=3)
    scheduler = await on_duty(moved, hooks)
    tick = await moved.advance(3 * MINUTE)
    await scheduler.sweep()
    assert sorted(told) == [(tick - back * MINUTE, "enqueued", "accepted") for back in (2, 1, 0)]
    assert len(await moved.queued()) == 3


async def test_without_hooks_payloads_never_leave_the_store(moved: World) -> None:
    await moved.put("a")
    scheduler = await on_duty(moved, Hooks())
    await moved.advance(MINUTE)
    asked = await commands(moved, ["hgetall"])
    await scheduler.sweep()
    assert await commands(moved, ["hgetall"]) == asked


async def test_a_schedule_written_between_hook_and_fire_is_left_for_the_next_sweep(moved: World) -> None:
    """A hook must not decide on content that is not the schedule's any more."""

    async def rewrite(job: Enqueueing) -> None:
        if job.payload == "old":
            await moved.put("a", payload="new")

    await moved.put("a", payload="old")
    scheduler = await on_duty(moved, before(rewrite))
    tick = await moved.advance(MINUTE)
    await scheduler.sweep()
    assert await moved.queued() == []
    await scheduler.sweep()
    assert (await moved.store.jobs.get(f"sched-a-{tick}", include_payload=True)).payload == "new"


async def test_a_run_by_hand_passes_the_hooks_as_such(moved: World) -> None:
    seen: list[tuple[str, int | None]] = []

    async def mark(job: Enqueueing) -> None:
        seen.append((job.trigger, job.tick_ms))
        job.payload = "marked"

    await moved.put("a")
    enqueued = await run_now(moved.store, before(mark), "a", idempotency_key="k")
    assert seen == [("manual", None)]
    job = await moved.store.jobs.get(enqueued.job_id, include_payload=True)
    assert (job.payload, job.periodic_origin, job.manual_schedule_id) == ("marked", None, "a")
    assert (await run_now(moved.store, before(mark), "a", idempotency_key="k")).replayed


@pytest.mark.parametrize(("raised", "expected"), [(SkipTick("no"), SkipTick), (RuntimeError(), HookFailed)])
async def test_a_hook_can_refuse_a_run_by_hand(moved: World, raised: Exception, expected: type[Exception]) -> None:
    async def refuse(_job: Enqueueing) -> None:
        raise raised

    await moved.put("a")
    with pytest.raises(expected):
        await run_now(moved.store, before(refuse), "a", idempotency_key="k")
    assert await moved.queued() == []


async def test_decisions_come_in_the_order_of_the_jobs_however_long_each_takes(moved: World) -> None:
    await moved.put("a", payload=0)
    schedule = await moved.store.schedules.get("a")

    async def hook(job: Enqueueing) -> None:
        for _ in range(5 - job.attempt):
            await anyio.lowlevel.checkpoint()
        job.payload = job.attempt

    jobs = [
        Enqueueing(schedule=schedule, tick_ms=1, trigger=Trigger.TICK, job_id="j", attempt=n, payload=0, headers={})
        for n in range(5)
    ]
    decisions: list[Decision] = await before(hook).decide(jobs)
    assert [decision.payload for decision in decisions] == ["0", "1", "2", "3", "4"]
