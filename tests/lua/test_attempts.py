"""`admit`, `renew_jobs` and `finish`: who may run a job, until when, and what is left of it afterwards."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import msgspec
import pytest

from headgate.errors import StoreError, StoreFull
from headgate.models import JobRequest
from headgate.store.attempts import Admitted, Claim
from headgate.store.records import JOB_FIELDS
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

LEASE = 5000
SETS = ("available", "running", "retryable")
KEYS = count()


async def enqueue(world: World, **options: Any) -> str:
    request = JobRequest(**{"kind": "test"} | options)
    return (await world.store.jobs.enqueue(request, idempotency_key=f"k{next(KEYS)}")).job_id


async def admit(
    world: World, capacity: int = 10, queues: tuple[str, ...] = ("default",), worker: str = "w"
) -> Admitted:
    return await world.store.attempts.admit(worker, queues, capacity, LEASE)


async def admit_one(world: World, queue: str = "default") -> Claim:
    (claim,) = (await admit(world, 1, (queue,))).claims
    return claim


async def finish(world: World, claim: Claim, verdict: str, **options: Any) -> str:
    return await world.store.attempts.finish(claim, verdict, **options)


async def sets_of(world: World, job_id: str, queue: str = "default") -> dict[str, float]:
    """In which sets the job is, with its score."""
    found = {name: await world.client.zscore(world.keys(name, queue), job_id) for name in SETS}
    return {name: score for name, score in found.items() if score is not None}


async def dump(world: World, job_id: str, queue: str = "default") -> object:
    return await world.client.hgetall(world.keys("job", job_id)), await sets_of(world, job_id, queue)


async def test_a_claim_has_what_a_worker_needs_and_the_record_says_who_runs_it(moved: World) -> None:
    job_id = await enqueue(moved, payload={"n": 12345678901234567890}, timeout_ms=7000)
    answer = await admit(moved, worker="host-1-abc")
    (claim,) = answer.claims
    assert answer.look_again_ms is None
    assert claim == Claim(
        number=1,
        id=job_id,
        kind="test",
        queue="default",
        attempt=0,
        timeout_ms=7000,
        origin=None,
        zone="",
        headers={},
        payload='{"n":12345678901234567890}',
    )
    job = await moved.store.jobs.get(job_id)
    assert (job.state, job.worker, job.started_at_ms) == ("running", "host-1-abc", START_MS)
    assert await sets_of(moved, job_id) == {"running": START_MS + LEASE}


async def test_the_job_of_a_tick_carries_its_origin_and_zone(moved: World) -> None:
    await moved.put("a", "CRON_TZ=Europe/Berlin * * * * *")
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    tick = await moved.advance(60_000)
    await scheduler.sweep()
    claim = await admit_one(moved)
    assert claim.origin is not None
    assert (claim.origin.schedule_id, claim.origin.tick_ms, claim.zone) == ("a", tick, "Europe/Berlin")


async def test_jobs_are_claimed_by_time_less_a_minute_a_step_of_priority(moved: World) -> None:
    first = await enqueue(moved)
    await moved.advance(30_000)
    urgent = await enqueue(moved, priority=1)
    await moved.advance(30_001)
    late_urgent = await enqueue(moved, priority=1)
    unhurried = await enqueue(moved, priority=-1)
    assert [claim.id for claim in (await admit(moved)).claims] == [urgent, first, late_urgent, unhurried]


async def test_no_more_are_claimed_than_fit_and_earlier_queues_come_first(moved: World) -> None:
    slow = [await enqueue(moved, queue="slow") for _ in range(2)]
    await moved.advance(1)
    mail = [await enqueue(moved, queue="mail") for _ in range(2)]
    await enqueue(moved, queue="other")
    queues = ("mail", "slow")
    assert (await admit(moved, 1, queues)).claims[0].id in mail
    rest = [claim.id for claim in (await admit(moved, 2, queues)).claims]
    assert rest[0] in mail
    assert rest[1] in slow
    assert len((await admit(moved, 10, queues)).claims) == 1
    assert (await admit(moved, 10, queues)).claims == []
    assert (await admit(moved, 10, ())).claims == []


async def test_a_job_whose_lease_ended_runs_again_and_counts_a_crash_and_no_attempt(moved: World) -> None:
    job_id = await enqueue(moved, max_attempts=1)
    first = await admit_one(moved)
    await moved.advance(LEASE - 1)
    answer = await admit(moved)
    assert answer == Admitted([], 1)
    await moved.advance(1)
    second = await admit_one(moved)
    assert (second.id, second.number, second.attempt) == (job_id, first.number + 1, 0)
    job = await moved.store.jobs.get(job_id)
    assert (job.crash_attempt, job.attempt, job.state) == (1, 0, "running")


async def test_what_a_worker_says_too_late_is_refused_and_changes_nothing(moved: World) -> None:
    job_id = await enqueue(moved)
    stale = await admit_one(moved)
    await moved.advance(LEASE)
    fresh = await admit_one(moved)
    before = await dump(moved, job_id)
    for verdict in ("completed", "failed", "undecodable", "cancelled", "returned"):
        assert await finish(moved, stale, verdict) == "lost"
    assert await moved.store.attempts.renew([stale], LEASE) == [stale]
    assert await dump(moved, job_id) == before
    assert await finish(moved, fresh, "completed") == "completed"
    before = await dump(moved, job_id)
    assert await finish(moved, fresh, "completed") == "lost"
    assert await finish(moved, fresh, "failed") == "lost"
    assert await moved.store.attempts.renew([fresh], LEASE) == [fresh]
    assert await dump(moved, job_id) == before


async def test_a_lease_that_ended_unseen_is_still_its_holders(moved: World) -> None:
    """Nobody brought the job back: the fence is the claim, and the holder may renew it or finish."""
    job_id = await enqueue(moved)
    claim = await admit_one(moved)
    await moved.advance(10 * LEASE)
    assert await moved.store.attempts.renew([claim], LEASE) == []
    assert await sets_of(moved, job_id) == {"running": START_MS + 11 * LEASE}
    assert (await admit(moved)).claims == []
    await moved.advance(10 * LEASE)
    assert await finish(moved, claim, "completed") == "completed"


async def test_renewal_goes_on_from_now_for_its_own_and_names_the_others(moved: World) -> None:
    for _ in range(3):
        await enqueue(moved)
    claims = (await admit(moved)).claims
    gone = claims[1]
    await finish(moved, gone, "completed")
    now = await moved.advance(LEASE - 1)
    assert await moved.store.attempts.renew(claims, LEASE) == [gone]
    for claim in (claims[0], claims[2]):
        assert await sets_of(moved, claim.id) == {"running": now + LEASE}
    assert await sets_of(moved, gone.id) == {}
    assert await moved.store.attempts.renew([], LEASE) == []


async def test_a_failed_job_waits_for_its_retry_and_comes_back_when_it_is_due(moved: World) -> None:
    job_id = await enqueue(moved)
    claim = await admit_one(moved)
    assert await finish(moved, claim, "failed", error="ValueError", retry_ms=1500) == "retryable"
    job = await moved.store.jobs.get(job_id)
    assert (job.state, job.attempt, job.last_error) == ("retryable", 1, "ValueError")
    assert job.available_at_ms == START_MS + 1500, "from when it may run"
    assert await sets_of(moved, job_id) == {"retryable": START_MS + 1500}
    await moved.advance(1499)
    assert await admit(moved) == Admitted([], 1)
    await moved.advance(1)
    again = await admit_one(moved)
    assert (again.id, again.attempt) == (job_id, 1)
    assert (await moved.store.jobs.get(job_id)).crash_attempt == 0


async def test_a_job_whose_attempts_are_used_up_is_archived_and_kept_for_a_week(moved: World) -> None:
    job_id = await enqueue(moved, max_attempts=2)
    assert await finish(moved, await admit_one(moved), "failed", retry_ms=1) == "retryable"
    now = await moved.advance(1)
    assert await finish(moved, await admit_one(moved), "failed", error="KeyError", retry_ms=1) == "archived"
    job = await moved.store.jobs.get(job_id)
    assert (job.state, job.attempt, job.last_error, job.finished_at_ms) == ("archived", 2, "KeyError", now)
    assert await sets_of(moved, job_id) == {}
    assert 6 * 86_400_000 < await moved.client.pttl(moved.keys("job", job_id)) <= 7 * 86_400_000


async def test_a_returned_job_takes_its_old_place_counts_no_attempt_and_wakes_others(moved: World) -> None:
    job_id = await enqueue(moved, priority=2)
    place = await sets_of(moved, job_id)
    claim = await admit_one(moved)
    await moved.advance(1000)
    async with moved.client.pubsub() as channel:
        await channel.subscribe(moved.keys("ready"))
        assert await finish(moved, claim, "returned") == "available"
        heard = [await channel.get_message(timeout=5) for _ in range(2)]
    assert heard[1]["data"] == "default"
    job = await moved.store.jobs.get(job_id)
    assert (job.state, job.attempt, job.crash_attempt) == ("available", 0, 0)
    assert await sets_of(moved, job_id) == place
    assert (await admit_one(moved)).number == claim.number + 1


async def test_a_returned_job_may_be_made_to_wait(moved: World) -> None:
    """As one that no actor is known for: it is not offered again at once, and says why."""
    job_id = await enqueue(moved, max_attempts=1)
    assert await finish(moved, await admit_one(moved), "returned", error="NoActor", retry_ms=2000) == "retryable"
    job = await moved.store.jobs.get(job_id)
    assert (job.state, job.attempt, job.last_error) == ("retryable", 0, "NoActor")
    assert await admit(moved) == Admitted([], 2000)
    await moved.advance(2000)
    assert (await admit_one(moved)).id == job_id


@pytest.mark.parametrize("verdict", ["undecodable", "cancelled"])
async def test_a_verdict_that_another_attempt_would_not_change_is_final(moved: World, verdict: str) -> None:
    job_id = await enqueue(moved)
    assert await finish(moved, await admit_one(moved), verdict, error="Discard") == verdict
    job = await moved.store.jobs.get(job_id)
    assert (job.state, job.attempt, job.finished_at_ms, job.last_error) == (verdict, 0, START_MS, "Discard")
    assert await sets_of(moved, job_id) == {}
    assert await moved.client.pttl(moved.keys("job", job_id)) > 0


@pytest.mark.parametrize("retention_ms", [0, 86_400_000, 366 * 86_400_000])
async def test_a_completed_record_stays_for_as_long_as_it_says(moved: World, retention_ms: int) -> None:
    job_id = await enqueue(moved, retention_ms=retention_ms)
    assert await finish(moved, await admit_one(moved), "completed") == "completed"
    assert await sets_of(moved, job_id) == {}
    if retention_ms:
        assert retention_ms - 10_000 < await moved.client.pttl(moved.keys("job", job_id)) <= retention_ms
        assert (await moved.store.jobs.get(job_id)).finished_at_ms == START_MS
    else:
        assert await moved.client.exists(moved.keys("job", job_id)) == 0


@pytest.mark.parametrize("name", SETS)
async def test_a_queue_with_a_foreign_type_is_passed_over_and_harms_no_other(moved: World, name: str) -> None:
    await enqueue(moved, queue="good")
    await enqueue(moved, queue="bad")
    bad = await admit_one(moved, "bad")
    key = moved.keys(name, "bad")
    await moved.client.delete(key)
    await moved.client.set(key, "foreign")
    before = await moved.client.hgetall(moved.keys("job", bad.id))
    answer = await admit(moved, 10, ("bad", "good"))
    assert [claim.queue for claim in answer.claims] == ["good"]
    assert await moved.store.attempts.renew([bad, *answer.claims], LEASE + 1) == []
    assert await sets_of(moved, answer.claims[0].id, "good") == {"running": START_MS + LEASE + 1}
    with pytest.raises(StoreError):
        await finish(moved, bad, "failed", retry_ms=1)
    assert await moved.client.hgetall(moved.keys("job", bad.id)) == before
    assert await finish(moved, answer.claims[0], "completed") == "completed"
    await moved.client.delete(key)
    assert await finish(moved, bad, "completed") == "completed"


@pytest.mark.parametrize("name", SETS)
async def test_what_is_no_job_is_dropped_from_its_set_and_holds_up_nobody(moved: World, name: str) -> None:
    """A missing record, one of a foreign type, and one whose claim counter is no number."""
    await moved.client.set(moved.keys("job", "foreign"), "text")
    await moved.client.hset(moved.keys("job", "half"), mapping={"claim": "text"})
    odd = {"missing": 0, "foreign": 0, "half": 0}
    await moved.client.zadd(moved.keys(name, "default"), odd)
    good = await enqueue(moved)
    seen: list[str] = []
    for _ in range(5):
        answer = await admit(moved, 1)
        seen += [claim.id for claim in answer.claims]
        if seen:
            break
        assert answer.look_again_ms == 0, "the worker would sleep in front of a job that is ready"
    assert seen == [good]
    await moved.advance(1)
    await admit(moved, 10)
    for job_id in odd:
        assert await sets_of(moved, job_id) == {}
    assert await moved.client.get(moved.keys("job", "foreign")) == "text"


DAMAGE: list[dict[str, str | None]] = [
    {"attempt": ""},
    dict.fromkeys(JOB_FIELDS),
    {"timeout_ms": "soon"},
    {"periodic_schedule_id": "a", "periodic_tick_ms": "x"},
    {"headers": "[]"},
    {"kind": None},
    {"payload": None},
    {"zone": None, "timeout_ms": None},
]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: "-".join(list(damage)[:2]))
async def test_a_record_that_cannot_be_read_is_ended_and_harms_no_other(
    moved: World, damage: dict[str, str | None], caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = await enqueue(moved, priority=1), await enqueue(moved)
    for field, value in damage.items():
        if value is None:
            await moved.client.hdel(moved.keys("job", bad), field)
        else:
            await moved.client.hset(moved.keys("job", bad), field, value)
    answer = await admit(moved)
    assert [claim.id for claim in answer.claims] == [good]
    assert await moved.client.hget(moved.keys("job", bad), "state") == "undecodable"
    assert await sets_of(moved, bad) == {}
    assert f"job.unreadable job={bad}" in caplog.text


@pytest.mark.parametrize("value", ["foreign", None])
@pytest.mark.parametrize("field", ["priority", "available_at_ms", "crash_attempt", "max_attempts", "retention_ms"])
async def test_a_number_that_a_record_has_lost_stops_nobody(moved: World, field: str, value: str | None) -> None:
    bad, good = await enqueue(moved), await enqueue(moved)
    await admit(moved)
    if value is None:
        await moved.client.hdel(moved.keys("job", bad), field)
    else:
        await moved.client.hset(moved.keys("job", bad), field, value)
    await moved.advance(LEASE)
    by_id = {claim.id: claim for claim in (await admit(moved)).claims}
    assert set(by_id) == {bad, good}
    assert await finish(moved, by_id[bad], "returned") == "available"
    assert await finish(moved, await admit_one(moved), "failed", retry_ms=1) in ("retryable", "archived")
    await moved.advance(1)
    for claim in (await admit(moved)).claims:
        assert await finish(moved, claim, "completed") == "completed"
    assert await finish(moved, by_id[good], "completed") == "completed"
    assert await sets_of(moved, bad) == {}


async def test_a_record_that_turned_foreign_is_nobodys(moved: World) -> None:
    await enqueue(moved)
    await enqueue(moved)
    claims = (await admit(moved)).claims
    await moved.client.delete(moved.keys("job", claims[0].id))
    await moved.client.set(moved.keys("job", claims[0].id), "foreign")
    assert await moved.store.attempts.renew(claims, LEASE + 1) == [claims[0]]
    assert await sets_of(moved, claims[1].id) == {"running": START_MS + LEASE + 1}
    assert await finish(moved, claims[0], "completed") == "lost"


async def test_a_full_store_runs_jobs_to_their_end(own_server: PrivateServer) -> None:
    """That is what empties it again."""
    world = World(own_server.url, "full", moved=True)
    try:
        await world.set_clock(START_MS)
        for _ in range(4):
            await enqueue(world)
        await world.client.config_set("maxmemory", "1")
        with pytest.raises(StoreFull):
            await enqueue(world)
        claims = (await admit(world)).claims
        assert len(claims) == 4
        assert await world.store.attempts.renew(claims, LEASE) == []
        verdicts = ("completed", "failed", "returned", "cancelled")
        states = [
            await finish(world, claim, verdict, retry_ms=0) for claim, verdict in zip(claims, verdicts, strict=True)
        ]
        assert states == ["completed", "retryable", "available", "cancelled"]
    finally:
        await world.client.config_set("maxmemory", "0")
        await world.close()


FINAL = ("completed", "archived", "cancelled", "undecodable")
VERDICTS = ("completed", "failed", "failed", "returned", "cancelled", "undecodable")


class Model(msgspec.Struct):
    """What a job is to be, kept beside the store."""

    max_attempts: int
    state: str = "available"
    until: int = 0
    attempt: int = 0
    crash: int = 0
    claim: Claim | None = None


class History:
    """Random steps, each also taken by the models; `claims` holds those of any age: stale ones speak up too."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.dice = random.Random(seed)
        self.models: dict[str, Model] = {}
        self.claims: list[Claim] = []
        self.now = START_MS

    async def enqueue(self) -> None:
        attempts = self.dice.randint(1, 3)
        job_id = await enqueue(self.world, max_attempts=attempts, priority=self.dice.randint(-2, 2))
        self.models[job_id] = Model(attempts)

    async def admit(self) -> None:
        """All that is ready, some at a time: a small capacity also bounds how many are brought back in one call."""
        for model in self.models.values():
            if model.state in ("running", "retryable") and model.until <= self.now:
                model.crash += model.state == "running"
                model.state = "available"
        capacity = self.dice.choice((1, 3, 200))
        while more := (await admit(self.world, capacity)).claims:
            assert len(more) <= capacity
            for claim in more:
                model = self.models[claim.id]
                assert (model.state, model.attempt) == ("available", claim.attempt)
                model.state, model.until, model.claim = "running", self.now + LEASE, claim
            self.claims += more
        assert not [model for model in self.models.values() if model.state == "available"]

    async def finish(self) -> None:
        if self.claims:
            claim, verdict = self.dice.choice(self.claims), self.dice.choice(VERDICTS)
            wait_ms = self.dice.choice((1, 3000) if verdict == "failed" else (0, 1, 3000))
            expected = self._told(self.models[claim.id], verdict, wait_ms) if self._owned(claim) else "lost"
            assert await finish(self.world, claim, verdict, retry_ms=wait_ms) == expected

    async def renew(self) -> None:
        some = self.dice.sample(self.claims, self.dice.randint(0, len(self.claims)))
        lost = await self.world.store.attempts.renew(some, LEASE)
        assert lost == [claim for claim in some if not self._owned(claim)]
        for claim in some:
            if self._owned(claim):
                self.models[claim.id].until = self.now + LEASE

    async def wait(self) -> None:
        self.now = await self.world.advance(self.dice.choice((1, 500, 2999, LEASE)))

    async def check(self) -> None:
        """Every job is in exactly the set of its state, finished ones in none, and its record agrees with the model."""
        members = {name: set(await self.world.client.zrange(self.world.keys(name, "default"), 0, -1)) for name in SETS}
        for job_id, model in self.models.items():
            in_sets = [name for name in SETS if job_id in members[name]]
            assert in_sets == ([] if model.state in FINAL else [model.state])
            fields = await self.world.client.hmget(self.world.keys("job", job_id), "state", "attempt", "crash_attempt")
            assert fields == [model.state, str(model.attempt), str(model.crash)]
        assert set().union(*members.values()) <= set(self.models)

    def _owned(self, claim: Claim) -> bool:
        model = self.models[claim.id]
        return model.state == "running" and model.claim is claim

    def _told(self, model: Model, verdict: str, wait_ms: int) -> str:
        """What the store is to answer."""
        if verdict == "failed":
            model.attempt += 1
            verdict = "archived" if model.attempt >= model.max_attempts else "retryable"
        elif verdict == "returned":
            verdict = "retryable" if wait_ms else "available"
        model.state, model.until = verdict, self.now + wait_ms
        return verdict


@pytest.mark.parametrize("seed", range(6))
async def test_any_history_keeps_every_job_in_exactly_one_set(moved: World, seed: int) -> None:
    history = History(moved, seed)
    steps = (history.enqueue, history.admit, history.finish, history.finish, history.renew, history.wait)
    for _ in range(150):
        await history.dice.choice(steps)()
        await history.check()
    assert {model.state for model in history.models.values()} & set(FINAL), "nothing much happened"
