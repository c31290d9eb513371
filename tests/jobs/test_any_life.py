"""Any life: random requests, workers that report or are lost, passes, operators and moved time, against a small model.

After every step the raw keys of the store are what the model says, and no key is without an owner.
"""

from __future__ import annotations

import random
import uuid
from itertools import count
from typing import Any

import pytest

from headgate.errors import HeadgateError, QueueNotFound
from headgate.models import JobRequest, JobState, QueueLimits
from headgate.names import fingerprint
from headgate.settings import Settings
from headgate.store.attempts import Claim
from tests.jobs.acts import LEASE, admit, beat, finish, reclaim
from tests.jobs.arrows import ARROWS
from tests.jobs.model import UNFINISHED, Job, Model
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

QUEUES = ("a", "b")
CONTENTS = (0, 1, 2)
FINGERPRINTS = [fingerprint("k", str(content)) for content in CONTENTS]
VERDICTS = ("completed", "failed", "failed", "failed", "returned", "cancelled", "undecodable")
LIMITS = {"max_finished": 6}
DAY = 86_400_000

Step = tuple[Any, ...]


def any_step(chance: random.Random) -> Step:
    pick = chance.choice
    queue, place = pick(QUEUES), chance.randrange(30)
    limit = [None, None, None, 0, 2, 4, 8, 8]
    steps: list[tuple[int, Step]] = [
        (8, ("enqueue", [any_request(chance) for _ in range(pick([1, 1, 1, 2, 4]))])),
        (9, ("admit", queue, chance.randrange(5))),
        (9, ("finish", place, pick(VERDICTS), pick([0, 70_000, 70_000]))),
        (1, ("crash",)),
        (1, ("wear_out", queue)),
        (1, ("beat",)),
        (2, ("reclaim",)),
        (9, ("control", place, pick(["retry", "retry", "cancel", "delete"]))),
        (1, ("bar", pick(CONTENTS))),
        (8, ("release", pick(CONTENTS))),
        (1, ("pause", queue, pick([True, False, False]))),
        (1, ("limit", queue, pick(limit), pick(limit))),
        (4, ("advance", pick([1, 1_000, LEASE, LEASE, 30_000, 30_000, 600_000]))),
        (chance.random() < 0.2, ("advance", pick([DAY, 8 * DAY]))),
    ]
    return chance.choices([step for _, step in steps], [weight for weight, _ in steps])[0]


def any_request(chance: random.Random) -> dict[str, Any]:
    pick = chance.choice
    return {
        "queue": pick(QUEUES),
        "content": pick(CONTENTS),
        "again": pick([None, None, None, None, chance.randrange(30)]),
        "wait": pick([0, 0, 30_000]),
        "deadline": pick([None, None, 3_000, 60_000]),
        "unique": pick([None, None, "u", "v"]),
        "unique_ms": pick([None, None, 600_000]),
        "priority": pick([0, 0, 1, -1]),
        "max_attempts": pick([1, 2, 5, 5]),
        "retention": pick([0, 40_000, DAY, 30 * DAY]),
    }


class Life:
    """The system under test beside its model."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.model = Model(now=START_MS, max_finished=world.settings.max_finished)
        self.claims: list[Claim] = []
        self.ids: list[str] = []  # of the newest jobs, the newest first
        self._numbers = count()
        self._last_claim = 0

    async def enqueue(self, wanted: list[dict[str, Any]]) -> None:
        batch = list({job.id: job for job in map(self._job, wanted)}.values())
        expected = self.model.enqueue([Job(**vars(job)) for job in batch])
        call = self.world.store.producer.enqueue_many([_request(job) for job in batch])
        if isinstance(expected, type):
            await _expect(expected, call)
            return
        answers = await call
        words = ["replayed" if each.replayed else "duplicate" if each.duplicate else "accepted" for each in answers]
        assert list(zip(words, [each.job_id for each in answers], strict=True)) == expected
        for queue in {job.queue for job, word in zip(batch, words, strict=True) if word == "accepted"}:
            most = self.model.max_unfinished.get(queue)
            assert most is None or len(self.model.within(queue, *UNFINISHED)) <= most

    def _job(self, wanted: dict[str, Any]) -> Job:
        wanted = dict(wanted)
        again, wait, deadline = wanted.pop("again"), wanted.pop("wait"), wanted.pop("deadline")
        known = again is not None and again < len(self.ids)
        job_id = self.ids[again] if known else f"j{next(self._numbers)}"
        if not known:
            self.ids.insert(0, job_id)
        now = self.model.now
        return Job(id=job_id, run_at=now + wait, deadline=None if deadline is None else now + deadline, **wanted)

    async def admit(self, queue: str, capacity: int) -> None:
        running = len(self.model.within(queue, "running"))
        expected = self.model.admit(queue, capacity, LEASE)
        claims = await admit(self.world, capacity, queue)
        assert [claim.id for claim in claims] == expected
        for claim in claims:
            assert int(claim.number) > self._last_claim, "a claim's number that may have been given before"
            self._last_claim = self.model.jobs[claim.id].claim = int(claim.number)
        most = self.model.max_concurrent.get(queue)
        assert most is None or running + len(claims) <= max(most, running)
        self.claims = (self.claims + claims)[-8:]

    async def finish(self, place: int, verdict: str, wait: int) -> None:
        if self.claims:
            claim = self.claims.pop(place % len(self.claims))
            wait = wait if verdict in ("failed", "returned") else 0
            expected = self.model.finish(claim.id, int(claim.number), verdict, wait)
            assert await finish(self.world, claim, verdict, "Oops", wait) == expected

    async def crash(self) -> None:
        await self.advance(LEASE)
        await self.reclaim()

    async def wear_out(self, queue: str) -> None:
        for _ in range(self.model.crash_limit):
            await self.admit(queue, 1)
            await self.crash()

    async def beat(self) -> None:
        self.model.beat(LEASE)
        await beat(self.world)

    async def reclaim(self) -> None:
        self.model.reclaim()
        await reclaim(self.world)

    async def control(self, place: int, word: str) -> None:
        job_id = self.ids[place % len(self.ids)] if self.ids else "none"
        await _expect(self.model.control(job_id, word), getattr(self.world.store.jobs, word)(job_id))

    async def bar(self, content: int) -> None:
        assert await self.world.store.quarantine.add(FINGERPRINTS[content]) == (content not in self.model.barred)
        self.model.barred.add(content)

    async def release(self, content: int) -> None:
        await _expect(self.model.release(content), self.world.store.quarantine.release(FINGERPRINTS[content]))

    async def pause(self, queue: str, on: bool) -> None:
        word = self.world.store.queues.pause if on else self.world.store.queues.resume
        assert (await word(queue)).paused == on
        (self.model.paused.add if on else self.model.paused.discard)(queue)

    async def limit(self, queue: str, concurrent: int | None, unfinished: int | None) -> None:
        await self.world.store.queues.set_limits(
            queue, QueueLimits(max_concurrent=concurrent, max_unfinished=unfinished)
        )
        self.model.max_concurrent[queue], self.model.max_unfinished[queue] = concurrent, unfinished

    async def advance(self, ms: int) -> None:
        self.model.now = await self.world.advance(ms)

    # what must hold

    async def check(self) -> None:
        jobs, keys, found = self.model.jobs, self.world.keys, await self._everything()
        told = {job_id: _told(found.get(keys("job", job_id), {})) for job_id in jobs}
        assert told == {
            job.id: (job.state, job.queue, job.to_stop, job.run_at, job.attempt, job.crashes, job.claim)
            for job in jobs.values()
        }
        for key, (job_id, until) in self.model.held.items():
            assert found[keys("unique", key)] == (job_id if until is None else f"{job_id} {until}")
        owned = {keys("job", job_id) for job_id in jobs} | {keys("unique", key) for key in self.model.held}
        for queue in QUEUES:
            owned |= await self._check_queue(queue, found)
        owned |= self._check_quarantine(found)
        owned |= {keys("duty", "reclaimer"), keys("process", "p"), keys.root + "test-clock"}
        owned |= set(map(keys, ("meta", "queues", "barred", "processes")))
        assert found.keys() - owned == set(), "a key without an owner"

    async def _everything(self) -> dict[str, Any]:
        """Every key of the namespace with what it holds."""
        client, keys = self.world.client, self.world.keys
        names = [key async for key in client.scan_iter(match=keys.root + "*", count=1000)]
        async with client.pipeline(transaction=False) as pipe:
            for name in names:
                family = name.removeprefix(keys.root).split(":")[0]
                if family in ("job", "quarantine", "meta", "process") or name in {
                    keys("queue", queue) for queue in QUEUES
                }:
                    pipe.hgetall(name)
                elif family in ("unique", "duty", "test-clock"):
                    pipe.get(name)
                else:
                    pipe.zrange(name, 0, -1, withscores=True)
            return dict(zip(names, await pipe.execute(), strict=True))

    async def _check_queue(self, queue: str, found: dict[str, Any]) -> set[str]:
        keys, counts = self.world.keys, {}
        for state in JobState:
            entries = dict(found.get(keys("state", queue, state), []))
            assert entries == {job.id: job.score for job in self.model.within(queue, state)}, state
            counts[str(state)] = len(entries)
        try:
            assert (await self.world.store.queues.get(queue)).counts == counts
        except QueueNotFound:
            assert not any(counts.values())
        limited = dict(found.get(keys("deadlines", queue), []))
        living = {
            job.id: job for job in self.model.jobs.values() if job.queue == queue and job.alive() and job.deadline
        }
        assert all(living[job_id].deadline == instant for job_id, instant in limited.items())
        assert {job.id for job in living.values() if job.state != "running"} <= limited.keys(), "a deadline forgotten"
        families = [keys("state", queue, state) for state in JobState]
        return {keys("queue", queue), keys("deadlines", queue), *families}

    def _check_quarantine(self, found: dict[str, Any]) -> set[str]:
        keys, jobs = self.world.keys, self.model.jobs.values()
        assert found.get(keys("quarantine"), {}).keys() == {FINGERPRINTS[each] for each in self.model.barred}
        for content in CONTENTS:
            aside = {job_id for job_id, _ in found.get(keys("quarantined", FINGERPRINTS[content]), [])}
            assert aside == {job.id for job in jobs if job.state == "quarantined" and job.content == content}
        return {keys("quarantine"), *(keys("quarantined", each) for each in FINGERPRINTS)}


def _request(job: Job) -> JobRequest:
    return JobRequest(
        id=job.id,
        kind="k",
        payload=job.content,
        queue=job.queue,
        priority=job.priority,
        run_at_ms=job.run_at,
        deadline_ms=job.deadline,
        unique_key=job.unique,
        unique_ms=job.unique_ms if job.unique else None,
        max_attempts=job.max_attempts,
        retention_ms=job.retention,
    )


def _told(record: dict[str, str]) -> tuple[object, ...]:
    numbers = ("available_at_ms", "attempt", "crash_attempt", "claim")
    to_stop = record.get("cancel_requested") == "1"
    return (record.get("state"), record.get("queue"), to_stop, *(int(record.get(name, 0)) for name in numbers))


async def _expect(error: type[HeadgateError] | None, call: Any) -> None:
    if error is None:
        await call
        return
    with pytest.raises(error) as raised:
        await call
    assert type(raised.value) is error


async def live(server: PrivateServer, seed: int, steps: int) -> Model:
    world = World(server.url, f"l-{uuid.uuid4().hex[:12]}", settings=Settings(**LIMITS), moved=True)
    try:
        await world.set_clock(START_MS)
        life, chance = Life(world), random.Random(seed)
        for number in range(steps):
            name, *args = any_step(chance)
            try:
                await getattr(life, name)(*args)
                await life.check()
            except BaseException as error:
                error.add_note(f"seed {seed}, step {number}: {name} {args}")
                raise
        await check_store(world)
        return life.model
    finally:
        await world.close()
        server.empty()  # each look at the next one reads every key there is


@pytest.mark.timeout(240)  # long on a busy machine
async def test_the_store_says_what_the_model_says_after_every_step(server: PrivateServer) -> None:
    taken: set[tuple[str, str]] = set()
    for seed in range(20):
        taken |= (await live(server, seed, 300)).taken
    moves = {(one, to) for one, _, to, _, _ in ARROWS}
    moves -= {("quarantined", "scheduled")}  # for this, clocks go back
    moves -= {("scheduled", "archived"), ("retryable", "archived")}  # the model sees "available" in between
    assert moves - taken == set(), "the histories are too tame to say much"
