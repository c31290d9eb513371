"""What the scripts say of what they changed: one message a call, with ids and revisions and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.exceptions import ResponseError

from headgate.connect import connect
from headgate.missed import Plan
from headgate.models import JobRequest, Reason
from headgate.names import fingerprint
from headgate.store.loader import find_lua
from headgate.store.ticks import PlannedFire
from tests.jobs.acts import LEASE, admit, admit_one, enqueue, enqueue_many, finish, lose_workers, reclaim
from tests.support.worlds import START_MS, World

MINUTE = 60_000
SECRET = "words-of-a-payload"
SCRIPTS = {path.stem: path.read_text("utf-8") for path in sorted(find_lua().glob("*.lua"))}

Heard = Callable[[], Awaitable[list[list[str]]]]


@asynccontextmanager
async def hearing(world: World) -> AsyncIterator[Heard]:
    """Gives the messages since it was asked last, each as the list of its texts, sorted."""
    channel = world.keys("hints")
    async with world._pubsub.pubsub(ignore_subscribe_messages=True) as subscription:
        await subscription.subscribe(channel)
        await subscription.get_message(timeout=5)

        async def heard() -> list[list[str]]:
            await world.client.publish(channel, "a mark")
            found: list[list[str]] = []
            while True:
                message = await subscription.get_message(timeout=5)
                assert message is not None
                if message["data"] == "a mark":
                    return found
                found.append(sorted(json.loads(message["data"])))

        yield heard


async def revision(world: World, schedule_id: str = "a") -> str:
    return (await world.record(schedule_id))["revision"]


async def on_duty(world: World) -> str:
    scheduler = world.scheduler()
    await world.own_the_duty(scheduler)
    token: str = scheduler.duty.token
    return token


async def fire_all(world: World, token: str) -> list[str]:
    """The first due tick of each due schedule."""
    page = await world.store.ticks.due(token, 200)
    plans = [PlannedFire(row, Plan((int(row.next_run_ms),), None, int(row.next_run_ms) + MINUTE)) for row in page.rows]
    return await world.store.ticks.fire(token, plans)


# schedules


async def test_each_write_of_a_schedule_is_said_once_with_its_new_revision(moved: World) -> None:
    """Of a deletion there is no revision; who wrote nothing says nothing."""
    control = moved.store.control
    async with hearing(moved) as heard:
        await moved.put("a")
        assert await heard() == [[f"schedule {await revision(moved)} a"]]
        await moved.put("a")
        assert await heard() == []
        await moved.put("a", payload=1)
        assert await heard() == [[f"schedule {await revision(moved)} a"]]
        await control.pause("a", reason="why")
        assert await heard() == [[f"schedule {await revision(moved)} a"]]
        await control.pause("a", reason="why")
        assert await heard() == []
        await control.resume("a")
        assert await heard() == [[f"schedule {await revision(moved)} a"]]
        await moved.store.schedules.delete("a")
        assert await heard() == [["schedule - a"]]


async def test_what_the_scheduler_does_keeps_the_revision(moved: World) -> None:
    """Its trail and next run have changed: a failure, a new anchor."""
    token = await on_duty(moved)
    await moved.put("a")
    await moved.advance(MINUTE)
    async with hearing(moved) as heard:
        [row] = (await moved.store.ticks.due(token, 10)).rows
        assert await moved.store.ticks.fail(token, row, row.next_run_ms, Reason.INVALID_SPEC)
        assert await heard() == [[f"schedule {await revision(moved)} a"]]
        assert await moved.store.ticks.reanchor(token, row, START_MS + MINUTE, START_MS + 2 * MINUTE)
        assert await heard() == [[f"schedule {await revision(moved)} a"]]
        assert not await moved.store.ticks.fail(token, row, row.next_run_ms, Reason.INVALID_SPEC)
        assert await heard() == []


async def test_a_call_of_200_ticks_is_one_message(moved: World) -> None:
    """Each schedule and each job once; what was not fired is not said."""
    token = await on_duty(moved)
    for number in range(200):
        await moved.put(f"s-{number}")
    await moved.advance(MINUTE)
    async with hearing(moved) as heard:
        assert await fire_all(moved, token) == ["enqueued/accepted"] * 200
        [message] = await heard()
        revisions = [await revision(moved, f"s-{number}") for number in range(200)]
        schedules = [f"schedule {revisions[number]} s-{number}" for number in range(200)]
        jobs = [f"job - sched-s-{number}-{START_MS + MINUTE}" for number in range(200)]
        assert message == sorted(schedules + jobs)
        assert await fire_all(moved, token) == []
        assert await heard() == []


async def test_a_run_by_hand_and_a_backfill_change_schedule_and_jobs(moved: World) -> None:
    """The list of manual runs belongs to the schedule."""
    await moved.put("a")
    said = f"schedule {await revision(moved)} a"
    async with hearing(moved) as heard:
        job_id = (await moved.store.producer.run_now("a", idempotency_key="k")).job_id
        assert await heard() == [sorted([said, f"job - {job_id}"])]
        await moved.store.producer.run_now("a", idempotency_key="k")
        assert await heard() == []
        await moved.store.control.pause("a")
        await moved.advance(3 * MINUTE)
        await moved.store.control.resume("a")
        await heard()
        said = f"schedule {await revision(moved)} a"
        await moved.store.backfills.run("a", START_MS, START_MS + 2 * MINUTE, idempotency_key="k")
        [message] = await heard()
        assert message == sorted([said, *(f"job - sched-a-{START_MS + at * MINUTE}" for at in (1, 2))])


# jobs


async def test_each_step_of_a_job_is_said_once(moved: World) -> None:
    """In, through the gate, out, back, and gone."""
    async with hearing(moved) as heard:
        job_id = await enqueue(moved)
        said = [[f"job - {job_id}"]]
        assert await heard() == said
        claim = await admit_one(moved)
        assert await heard() == said
        assert await finish(moved, claim, "failed", wait_ms=1000) == "retryable"
        assert await heard() == said
        await moved.advance(1000)
        claim = await admit_one(moved)  # brought back and leased in one call
        assert await heard() == said
        assert await finish(moved, claim, "failed", wait_ms=1000) == "retryable"
        await heard()
        await moved.advance(1000)
        await reclaim(moved)
        assert await heard() == said
        assert await moved.store.attempts.disown("w", ["default"], []) == 0
        assert await heard() == []
        await admit_one(moved)
        await heard()
        assert await moved.store.attempts.disown("w", ["default"], []) == 1
        assert await heard() == said
        await admit_one(moved)
        await heard()
        await lose_workers(moved)
        assert await heard() == said


async def test_an_operators_word_on_a_job_is_said_once(moved: World) -> None:
    """Of a running job that is to stop, too: what is seen of it has changed."""
    jobs = moved.store.jobs
    async with hearing(moved) as heard:
        job_id = await enqueue(moved)
        said = [[f"job - {job_id}"]]
        claim = await admit_one(moved)
        await heard()
        await jobs.cancel(job_id)
        assert await heard() == said
        assert await finish(moved, claim, "cancelled") == "cancelled"
        await heard()
        await jobs.cancel(job_id)
        assert await heard() == []
        await jobs.retry(job_id)
        assert await heard() == said
        await jobs.delete(job_id)
        assert await heard() == said


async def test_a_batch_is_one_message_at_each_step(moved: World) -> None:
    async with hearing(moved) as heard:
        ids = await enqueue_many(moved, 200)
        said = [sorted(f"job - {job_id}" for job_id in ids)]
        assert await heard() == said
        claims = await admit(moved, 200)
        assert len(claims) == 200
        assert await heard() == said
        await moved.advance(LEASE)
        await reclaim(moved)
        messages = await heard()
        assert [text for message in messages for text in message] == said[0]


async def test_jobs_that_are_set_aside_released_and_forgotten(moved: World) -> None:
    content = fingerprint("test", "null")
    async with hearing(moved) as heard:
        job_id = await enqueue(moved, retention_ms=0)
        said = [[f"job - {job_id}"]]
        await heard()
        await moved.store.quarantine.add(content)
        assert await heard() == []
        assert await admit(moved) == []
        assert await heard() == said
        assert await moved.store.quarantine.release(content) == 1
        assert await heard() == said
        await finish(moved, await admit_one(moved))
        await heard()
        await moved.advance(86_400_000)
        await reclaim(moved)
        assert await heard() == said
        assert not await moved.client.exists(moved.keys("job", job_id))


# what must not happen


async def test_nothing_but_ids_and_revisions_is_said(moved: World) -> None:
    """No payload, no header, no name of anybody, no reason."""
    async with hearing(moved) as heard:
        options: dict[str, Any] = {"payload": {"note": SECRET}, "headers": {SECRET: SECRET}, "unique_key": SECRET}
        await moved.put("a", description=SECRET, labels={SECRET: SECRET}, owner=SECRET, **options)
        await moved.store.control.pause("a", reason=SECRET, by=SECRET)
        await moved.store.producer.run_now("a", idempotency_key=SECRET, by=SECRET)
        await moved.store.producer.enqueue(JobRequest(kind="test", **(options | {"unique_key": SECRET + "2"})))
        for claim in await admit(moved):
            await finish(moved, claim, "failed", SECRET, 1000)
        messages = await heard()
        assert len(messages) == 7
        for text in (text for message in messages for text in message):
            assert re.fullmatch(r"schedule [0-9]+ a|job - [A-Za-z0-9-]+", text)
            assert SECRET not in text


@pytest.mark.damages_store("a foreign job")
async def test_a_foreign_id_does_not_spoil_the_message(moved: World) -> None:
    """Ids that others wrote may hold anything."""
    strange = 'a "b"\n\\c'
    await moved.client.hset(moved.keys("job", strange), mapping={"queue": "default", "state": "available"})
    await moved.client.zadd(moved.keys("state", "default", "available"), {strange: 0})
    job_id = await enqueue(moved)
    async with hearing(moved) as heard:
        assert len(await admit(moved)) == 1
        admitted, ended = await heard()  # it cannot be read, and so is ended at once
        assert admitted == sorted([f"job - {job_id}", f"job - {strange}"])
        assert ended == [f"job - {strange}"]


async def test_access_rules_that_forbid_the_channel_fail_no_call(moved: World) -> None:
    """It says nothing, and does all else."""
    name = f"user-{moved.namespace}"
    rules = ("on", ">pw", "~*", "+@all", "resetchannels", f"&{moved.keys('wake')}", f"&{moved.keys('ready')}")
    await moved.client.execute_command("ACL", "SETUSER", name, *rules)
    client = connect(moved.url.replace("://", f"://{name}:pw@"), moved.settings)
    try:
        with pytest.raises(ResponseError):
            await client.publish(moved.keys("hints"), "not allowed")
        store = moved.store_on(client)
        async with hearing(moved) as heard:
            job_id = (await store.producer.enqueue(JobRequest(kind="test"))).job_id
            [claim] = (await store.attempts.admit("w", ["default"], 1, LEASE)).claims
            assert claim.id == job_id
            assert await finish(moved, claim) == "completed"
            assert await heard() == [[f"job - {job_id}"]]  # of the last step alone
    finally:
        await client.aclose()
        await moved.client.execute_command("ACL", "DELUSER", name)


@pytest.mark.parametrize(
    "name",
    [name for name, text in SCRIPTS.items() if re.search(r"hint_|write_moves\(|write_entries\(|enqueue_all\(", text)],
)
def test_a_script_that_changes_what_is_hinted_at_says_so_at_its_end(name: str) -> None:
    """Once, after all it does: whoever reads on a hint finds the change."""
    said, *rest = re.findall(r"^ *publish_hints\(\)$((?:.|\n)*)", SCRIPTS[name], re.MULTILINE)
    assert not rest
    assert set(re.findall(r"redis\.p?call\('(\w+)'", said)) <= {"HGETALL"}
