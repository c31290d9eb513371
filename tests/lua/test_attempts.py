"""`admit`, `renew_jobs` and `finish`: who may run a job, until when, and what is left of it afterwards."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from headgate.errors import StoreError, StoreFull
from headgate.models import FINAL_STATES, JobRequest, JobState, QueueLimits, RateLimit
from headgate.names import fingerprint
from headgate.settings import REPEAT_MS
from headgate.store.attempts import Admitted, Claim, Renewed, Report
from headgate.store.records import JOB_FIELDS
from tests.jobs.acts import lose_workers, reclaim
from tests.support.leaks import check_store
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

LEASE = 5000
DAY = 86_400_000
KEPT = Renewed(set(), set())
WAITING = ("available", "scheduled", "retryable")


async def enqueue(world: World, **options: Any) -> str:
    request = JobRequest(**{"kind": "test"} | options)
    return (await world.store.producer.enqueue(request)).job_id


async def admit(
    world: World, capacity: int = 10, queues: tuple[str, ...] = ("default",), worker: str = "w"
) -> Admitted:
    return await world.store.attempts.admit(worker, queues, capacity, LEASE)


async def admit_one(world: World, queue: str = "default") -> Claim:
    (claim,) = (await admit(world, 1, (queue,))).claims
    return claim


async def finish(world: World, claim: Claim, verdict: str, error: str = "", wait_ms: int = 0) -> str:
    [state] = await world.store.attempts.finish([Report(claim, verdict, error, wait_ms)])
    return state


async def sets_of(world: World, job_id: str, queue: str = "default") -> dict[str, float]:
    """In which sets the job is, with its score."""
    found = {str(state): await world.client.zscore(world.keys("state", queue, state), job_id) for state in JobState}
    return {name: score for name, score in found.items() if score is not None}


async def dump(world: World, job_id: str, queue: str = "default") -> object:
    return await world.client.hgetall(world.keys("job", job_id)), await sets_of(world, job_id, queue)


async def test_a_claim_has_what_a_worker_needs_and_the_record_says_who_runs_it(moved: World) -> None:
    job_id = await enqueue(moved, payload={"n": 12345678901234567890}, timeout_ms=7000)
    answer = await admit(moved, worker="host-1-abc")
    (claim,) = answer.claims
    assert answer.look_again_ms is None
    assert claim == Claim(
        number="1",
        returns=0,
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
    """It is the reclaimer that finds out; `admit` leaves leases alone."""
    job_id = await enqueue(moved, max_attempts=1)
    first = await admit_one(moved)
    await reclaim(moved)
    await moved.advance(LEASE)
    assert await admit(moved) == Admitted([], None)
    [done] = await reclaim(moved)
    assert done.crashed == {job_id: "available"}
    second = await admit_one(moved)
    assert (second.id, second.attempt) == (job_id, 0)
    assert int(second.number) > int(first.number)
    job = await moved.store.jobs.get(job_id)
    assert (job.crash_attempt, job.attempt, job.state) == (1, 0, "running")


async def test_what_a_worker_says_too_late_is_refused_and_changes_nothing(moved: World) -> None:
    job_id = await enqueue(moved)
    stale = await admit_one(moved)
    await lose_workers(moved)
    fresh = await admit_one(moved)
    before = await dump(moved, job_id)
    for verdict in ("completed", "failed", "undecodable", "cancelled", "returned"):
        assert await finish(moved, stale, verdict) == "lost"
    assert await moved.store.attempts.renew([stale], LEASE) == Renewed({stale.id}, set())
    assert await dump(moved, job_id) == before
    assert await finish(moved, fresh, "completed") == "completed"
    before = await dump(moved, job_id)
    for verdict in ("completed", "failed", "returned"):
        assert await finish(moved, fresh, verdict) == "completed", "said again, what became of it is told"
    assert await moved.store.attempts.renew([fresh], LEASE) == Renewed({fresh.id}, set())
    assert await dump(moved, job_id) == before


@pytest.mark.parametrize("crashes", [1, 3])
async def test_work_that_was_done_counts_however_late_it_is_told(moved: World, crashes: int) -> None:
    """Its lease ended and nobody began it since: neither from its queue nor from quarantine is it run again."""
    job_id = await enqueue(moved, deadline_ms=START_MS + DAY)
    claim = await admit_one(moved)
    await lose_workers(moved)
    for _ in range(crashes - 1):
        claim = await admit_one(moved)
        await lose_workers(moved)
    assert list(await sets_of(moved, job_id)) == ["available" if crashes == 1 else "quarantined"]
    before = await dump(moved, job_id)
    for verdict in ("failed", "undecodable", "cancelled", "returned"):
        assert await finish(moved, claim, verdict) == "lost", "anything else leaves it to be run"
    assert await dump(moved, job_id) == before
    assert await finish(moved, claim, "completed") == "completed"
    assert list(await sets_of(moved, job_id)) == ["completed"]
    assert (await admit(moved)).claims == []
    assert len((await moved.store.quarantine.list()).quarantines) == crashes // 3, "what its content did is not undone"


async def test_a_report_said_again_does_not_end_what_an_operator_made_run_anew(moved: World) -> None:
    job_id = await enqueue(moved)
    claim = await admit_one(moved)
    assert await finish(moved, claim, "completed") == "completed"  # its answer is lost, and meanwhile:
    await moved.store.jobs.retry(job_id)
    assert await finish(moved, claim, "completed") == "lost"
    assert (await admit_one(moved)).id == job_id


# cancelled while they run


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        ("completed", "completed"),
        ("failed", "cancelled"),
        ("returned", "cancelled"),
        ("undecodable", "cancelled"),
        ("cancelled", "cancelled"),
    ],
)
async def test_a_cancelled_job_runs_until_its_worker_says_so_and_then_is_over(
    moved: World, verdict: str, state: str
) -> None:
    """Renewal tells its worker, and its lease goes on; only work that was done counts as more than a cancellation."""
    job_id, other = await enqueue(moved, unique_key="u"), await enqueue(moved)
    claims = {claim.id: claim for claim in (await admit(moved)).claims}
    async with moved.client.pubsub() as channel:
        await channel.subscribe(moved.keys("ready"))
        assert (await moved.store.jobs.cancel(job_id)).state == "running"
        heard = [await channel.get_message(timeout=5) for _ in range(2)]
    assert heard[1]["data"] == f"cancel {job_id}"
    now = await moved.advance(1000)
    assert await moved.store.attempts.renew(list(claims.values()), LEASE) == Renewed(set(), {job_id})
    assert await sets_of(moved, job_id) == {"running": now + LEASE}
    assert await enqueue(moved, unique_key="u") == job_id, "its key is held"
    assert await finish(moved, claims[job_id], verdict, wait_ms=5) == state
    assert list(await sets_of(moved, job_id)) == [state]
    assert list(await sets_of(moved, other)) == ["running"]
    assert await enqueue(moved, unique_key="u") != job_id


async def test_a_cancelled_job_whose_worker_is_lost_is_cancelled_when_its_lease_ends(moved: World) -> None:
    """However many workers it has cost, its content is not barred for it."""
    job_id = await enqueue(moved)
    for _ in range(2):
        await admit_one(moved)
        await lose_workers(moved)
    await admit_one(moved)
    await moved.store.jobs.cancel(job_id)
    await moved.advance(LEASE)
    [done] = await reclaim(moved)
    assert done.crashed == {job_id: "cancelled"}
    assert (await moved.store.quarantine.list()).quarantines == []
    await moved.store.jobs.retry(job_id)
    claim = await admit_one(moved)
    assert await moved.store.attempts.renew([claim], LEASE) == KEPT, "asked for again, it is not cancelled any more"
    assert await finish(moved, claim, "failed", wait_ms=1) == "retryable"


# admissions whose answer was lost


async def test_disowned_jobs_go_back_as_if_nobody_had_had_them(moved: World) -> None:
    """To their places, uncounted; what the worker runs, and what others run, stays."""
    ids = [await enqueue(moved, priority=number) for number in range(3)]
    places = [await sets_of(moved, job_id) for job_id in ids]
    elsewhere = await enqueue(moved, queue="other")
    (mine,) = (await admit(moved, 1, worker="me")).claims
    (theirs,) = (await admit(moved, 1, worker="them")).claims
    assert (mine.id, theirs.id) == (ids[2], ids[1])
    await admit(moved, 5, ("default", "other"), worker="me")  # the answer is lost
    assert await moved.store.attempts.disown("me", ["default", "other"], [mine.id]) == 2
    assert await moved.store.attempts.disown("me", ["default", "other"], [mine.id]) == 0, "the repeat"
    assert await sets_of(moved, ids[0]) == places[0]
    assert list(await sets_of(moved, elsewhere, "other")) == ["available"]
    for job_id in ids[1:]:
        assert list(await sets_of(moved, job_id)) == ["running"]
    for job_id in (ids[0], elsewhere):
        job = await moved.store.jobs.get(job_id)
        assert (job.attempt, job.crash_attempt) == (0, 0)
    (again,) = (await admit(moved)).claims
    assert (again.id, again.returns) == (ids[0], 0)


@pytest.mark.damages_store("a foreign type in place of a set")
async def test_disowning_passes_a_foreign_set_over(moved: World) -> None:
    await moved.client.set(moved.keys("state", "bad", "running"), "foreign")
    job_id = await enqueue(moved)
    await admit(moved, worker="me")
    assert await moved.store.attempts.disown("me", ["bad", "default"], []) == 1
    assert list(await sets_of(moved, job_id)) == ["available"]


async def test_a_call_disowns_at_most_200(moved: World) -> None:
    for _ in range(2):
        await moved.store.producer.enqueue_many([JobRequest(kind="test") for _ in range(125)])
    for _ in range(2):
        await admit(moved, 125, worker="me")
    assert [await moved.store.attempts.disown("me", ["default"], []) for _ in range(3)] == [200, 50, 0]


# tokens


async def test_whoever_did_not_run_a_job_gives_its_token_back(moved: World) -> None:
    """Jobs of kinds that nobody knows must not use a queue's rate up; nor must answers that were lost."""
    rate = RateLimit(limit=1, window_ms=3_600_000, burst=1)
    await moved.store.queues.set_limits("default", QueueLimits(rate_limit=rate))
    unknown, known = await enqueue(moved, kind="unknown", priority=1), await enqueue(moved)
    assert await finish(moved, await admit_one(moved), "returned", "NoActor", 30_000) == "retryable"
    claim = await admit_one(moved)
    assert claim.id == known
    assert await moved.store.attempts.disown("w", ["default"], []) == 1
    assert (await admit_one(moved)).id == known
    await moved.advance(30_000)
    assert (await admit(moved)).claims == [], "of the one token there are not two"
    for _ in range(3):  # nor more than the bucket holds
        await moved.advance(2 * 3_600_000)
        claim = await admit_one(moved)
        assert await finish(moved, claim, "returned") == "available"
    assert len((await admit(moved)).claims) == 1
    assert (await moved.store.jobs.get(unknown)).attempt == 0


async def test_reports_are_taken_each_on_its_own(moved: World) -> None:
    """One that is lost, and one of a job that is gone, do not stand in the way of the others."""
    for _ in range(4):
        await enqueue(moved)
    claims = (await admit(moved)).claims
    ids = [claim.id for claim in claims]
    await moved.client.hset(moved.keys("job", ids[1]), "claim", "7")
    assert await finish(moved, claims[2], "completed") == "completed"
    await moved.store.jobs.delete(ids[2])
    reports = [Report(claim, "failed", "ValueError", 5) for claim in claims]
    assert await moved.store.attempts.finish(reports) == ["retryable", "lost", "lost", "retryable"]
    assert await moved.store.attempts.finish(reports) == ["retryable", "lost", "lost", "retryable"], "the repeat"
    assert await moved.store.attempts.finish([]) == []
    assert [(await moved.store.jobs.get(job_id)).attempt for job_id in (ids[0], ids[3])] == [1, 1]


async def test_a_lease_that_ended_unseen_is_still_its_holders(moved: World) -> None:
    """Nobody brought the job back: the fence is the claim, and the holder may renew it or finish."""
    job_id = await enqueue(moved)
    claim = await admit_one(moved)
    await moved.advance(10 * LEASE)
    assert await moved.store.attempts.renew([claim], LEASE) == KEPT
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
    assert await moved.store.attempts.renew(claims, LEASE) == Renewed({gone.id}, set())
    for claim in (claims[0], claims[2]):
        assert await sets_of(moved, claim.id) == {"running": now + LEASE}
    assert await sets_of(moved, gone.id) == {"completed": START_MS + DAY}
    assert await moved.store.attempts.renew([], LEASE) == KEPT


async def test_a_failed_job_waits_for_its_retry_and_comes_back_when_it_is_due(moved: World) -> None:
    job_id = await enqueue(moved)
    claim = await admit_one(moved)
    assert await finish(moved, claim, "failed", error="ValueError", wait_ms=1500) == "retryable"
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
    assert await finish(moved, await admit_one(moved), "failed", wait_ms=1) == "retryable"
    now = await moved.advance(1)
    assert await finish(moved, await admit_one(moved), "failed", error="KeyError", wait_ms=1) == "archived"
    job = await moved.store.jobs.get(job_id)
    assert (job.state, job.attempt, job.last_error, job.finished_at_ms) == ("archived", 2, "KeyError", now)
    assert await sets_of(moved, job_id) == {"archived": now + 7 * DAY}
    assert await moved.client.pttl(moved.keys("job", job_id)) == -1, "the reclaimer removes it"


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
    again = await admit_one(moved)
    assert int(again.number) > int(claim.number)
    assert (claim.returns, again.returns) == (0, 1)


async def test_a_returned_job_may_be_made_to_wait(moved: World) -> None:
    """As one that no actor is known for: it is not offered again at once, and says why."""
    job_id = await enqueue(moved, max_attempts=1)
    assert await finish(moved, await admit_one(moved), "returned", error="NoActor", wait_ms=2000) == "retryable"
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
    assert await sets_of(moved, job_id) == {verdict: START_MS + 7 * DAY}


@pytest.mark.parametrize("retention_ms", [0, DAY, 366 * DAY])
async def test_a_completed_record_stays_for_as_long_as_it_says(moved: World, retention_ms: int) -> None:
    """Then the reclaimer removes it; and a repeat of a lost answer finds it in any case."""
    job_id = await enqueue(moved, retention_ms=retention_ms)
    assert await finish(moved, await admit_one(moved), "completed") == "completed"
    gone_at = START_MS + max(retention_ms, REPEAT_MS)
    assert await sets_of(moved, job_id) == {"completed": gone_at}
    await moved.set_clock(gone_at - 1)
    [done] = await reclaim(moved)
    assert (done.removed, done.due_next_ms) == (0, gone_at)
    assert (await moved.store.jobs.get(job_id)).finished_at_ms == START_MS
    await moved.set_clock(gone_at)
    assert [done.removed for done in await reclaim(moved)] == [1]
    assert await moved.client.exists(moved.keys("job", job_id)) == 0
    assert await sets_of(moved, job_id) == {}


@pytest.mark.damages_store("a foreign type in place of a set")
@pytest.mark.parametrize("state", ["available", "running", "retryable"])
async def test_a_queue_with_a_foreign_type_is_passed_over_and_harms_no_other(moved: World, state: str) -> None:
    await enqueue(moved, queue="good")
    await enqueue(moved, queue="bad")
    bad = await admit_one(moved, "bad")
    key = moved.keys("state", "bad", state)
    await moved.client.delete(key)
    await moved.client.set(key, "foreign")
    before = await moved.client.hgetall(moved.keys("job", bad.id))
    answer = await admit(moved, 10, ("bad", "good"))
    assert [claim.queue for claim in answer.claims] == ["good"]
    assert answer.unusable == ([] if state == "retryable" else ["bad"]), "what cannot be admitted from is named"
    assert await moved.store.attempts.renew([bad, *answer.claims], LEASE + 1) == KEPT
    assert await sets_of(moved, answer.claims[0].id, "good") == {"running": START_MS + LEASE + 1}
    reports = [Report(bad, "returned" if state == "available" else "failed", wait_ms=int(state != "available"))]
    reports.append(Report(answer.claims[0], "completed"))
    if state == "running":  # what leaves that set needs nothing of it
        assert await moved.store.attempts.finish(reports) == ["retryable", "completed"]
        return
    assert await moved.store.attempts.finish(reports) == ["broken", "completed"]
    after = await moved.client.hgetall(moved.keys("job", bad.id))
    assert after | {"returns": ""} == before | {"returns": ""}, "only that it was handed back may be counted"
    await moved.client.delete(key)
    assert await finish(moved, bad, "completed") == "completed"


async def test_without_numbers_for_claims_nothing_is_said_of_a_job(moved: World) -> None:
    """Not even of one that gets none: moves that were begun would be left half done."""
    barred, late, good = [
        await enqueue(moved, payload="bad", priority=1),
        await enqueue(moved, deadline_ms=START_MS + 1, priority=1),
        await enqueue(moved),
    ]
    await moved.store.quarantine.add(fingerprint("test", '"bad"'))
    await moved.advance(1)
    before = [await dump(moved, job_id) for job_id in (barred, late, good)]
    await moved.client.hset(moved.keys("meta"), "claims", "foreign")
    with pytest.raises(StoreError):
        await admit(moved)
    assert [await dump(moved, job_id) for job_id in (barred, late, good)] == before
    await moved.client.hset(moved.keys("meta"), "claims", "41")
    claim = await admit_one(moved)
    assert (claim.id, claim.number) == (good, "42")
    assert [list(await sets_of(moved, job_id)) for job_id in (barred, late)] == [["quarantined"], ["archived"]]


@pytest.mark.parametrize("value", ["foreign", "nan", "inf"])
async def test_a_count_of_returns_that_a_record_has_lost_stops_no_report(moved: World, value: str) -> None:
    bad, good = await enqueue(moved), await enqueue(moved)
    claims = (await admit(moved)).claims
    await moved.client.hset(moved.keys("job", bad), "returns", value)
    assert await moved.store.attempts.finish([Report(it, "returned") for it in claims]) == ["available"] * 2
    assert [claim.id for claim in (await admit(moved)).claims] == [good]
    assert (await moved.store.jobs.get(bad)).state == "undecodable"


@pytest.mark.damages_store("a job of a foreign type")
@pytest.mark.parametrize("state", [*WAITING, "running"])
async def test_what_is_no_job_is_dropped_from_its_set_and_holds_up_nobody(moved: World, state: str) -> None:
    """A missing record, one of a foreign type, half a one, and one that stands elsewhere."""
    elsewhere = await enqueue(moved, queue="other")
    await moved.client.set(moved.keys("job", "foreign"), "text")
    await moved.client.hset(moved.keys("job", "half"), mapping={"claim": "text"})
    odd = {"missing": 0, "foreign": 0, "half": 0, elsewhere: 0}
    await moved.client.zadd(moved.keys("state", "default", state), odd)
    good = await enqueue(moved)
    seen: list[str] = []
    for _ in range(5):
        answer = await admit(moved, 1)
        seen += [claim.id for claim in answer.claims]
        if seen:
            break
        assert answer.look_again_ms == 0, "the worker would sleep in front of a job that is ready"
    assert seen == [good]
    if state == "running":
        await lose_workers(moved)
    for job_id in odd:
        assert await sets_of(moved, job_id) == {}
    assert await moved.client.get(moved.keys("job", "foreign")) == "text"
    assert (await admit_one(moved, "other")).id == elsewhere


DAMAGE: list[dict[str, str | None]] = [
    {"attempt": ""},
    dict.fromkeys(field for field in JOB_FIELDS if field not in ("queue", "state")),
    {"timeout_ms": "soon"},
    {"periodic_schedule_id": "a", "periodic_tick_ms": "x"},
    {"headers": "[]"},
    {"kind": None},
    {"payload": None},
    {"zone": None, "timeout_ms": None},
]


@pytest.mark.damages_store("records without a field")
@pytest.mark.parametrize("field", ["state", "queue"])
async def test_a_record_that_does_not_say_where_it_stands_is_no_job(moved: World, field: str) -> None:
    """It is dropped from its set; nobody gets it, and the others go on."""
    bad, good = await enqueue(moved, priority=1), await enqueue(moved)
    await moved.client.hdel(moved.keys("job", bad), field)
    assert [claim.id for claim in (await admit(moved)).claims] == [good]
    assert await sets_of(moved, bad) == {}


@pytest.mark.damages_store("records without a field")
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
    assert await sets_of(moved, bad) == {"undecodable": START_MS + 7 * DAY}
    assert f"job.unreadable job={bad}" in caplog.text


NUMBERS = (
    *("priority", "available_at_ms", "attempt", "crash_attempt", "max_attempts", "retention_ms", "deadline_ms"),
    "claim",
)


@pytest.mark.damages_store("fields that are no numbers")
@pytest.mark.parametrize("value", ["foreign", "nan", "-nan", "inf", "-inf", "1e300", None])
@pytest.mark.parametrize("field", NUMBERS)
async def test_a_number_that_a_record_has_lost_stops_nobody(moved: World, field: str, value: str | None) -> None:
    """Whatever becomes of that job itself: no other one of its queue is lost or held up, and no call fails."""
    bad = await enqueue(moved)
    ids = [await enqueue(moved) for _ in range(3)]
    if value is None:
        await moved.client.hdel(moved.keys("job", bad), field)
    else:
        await moved.client.hset(moved.keys("job", bad), field, value)
    claims = {claim.id: claim for claim in (await admit(moved)).claims}
    assert set(ids) <= set(claims)
    await lose_workers(moved)
    claims = {claim.id: claim for claim in (await admit(moved)).claims}
    assert set(ids) <= set(claims)
    assert set(await moved.store.attempts.finish([Report(it, "returned") for it in claims.values()])) <= {
        *("available", "archived")
    }
    claims = {claim.id: claim for claim in (await admit(moved)).claims}
    assert set(ids) <= set(claims)
    await moved.store.attempts.finish([Report(it, "failed", wait_ms=1) for it in claims.values()])
    await moved.advance(1)
    claims = {claim.id: claim for claim in (await admit(moved)).claims}
    assert set(ids) <= set(claims)
    await moved.store.attempts.finish([Report(it, "completed") for it in claims.values()])
    for job_id in ids:
        assert list(await sets_of(moved, job_id)) == ["completed"]
    assert len(await sets_of(moved, bad)) == 1


@pytest.mark.damages_store("a job of a foreign type")
async def test_a_record_that_turned_foreign_is_nobodys(moved: World) -> None:
    await enqueue(moved)
    await enqueue(moved)
    claims = (await admit(moved)).claims
    await moved.client.delete(moved.keys("job", claims[0].id))
    await moved.client.set(moved.keys("job", claims[0].id), "foreign")
    assert await moved.store.attempts.renew(claims, LEASE + 1) == Renewed({claims[0].id}, set())
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
        assert await world.store.attempts.renew(claims, LEASE) == KEPT
        verdicts = ("completed", "failed", "returned", "cancelled")
        states = await world.store.attempts.finish(
            [Report(claim, verdict) for claim, verdict in zip(claims, verdicts, strict=True)]
        )
        assert states == ["completed", "retryable", "available", "cancelled"]
        await world.client.config_set("maxmemory", "0")
        await world.advance(7 * DAY)
        await world.client.set(world.keys("duty", "reclaimer"), "tok")
        await world.client.config_set("maxmemory", "1")
        assert (await world.store.reclaims.some("tok", "", lease_ms=LEASE)).removed == 2
        await world.client.config_set("maxmemory", "0")
        await check_store(world)
    finally:
        await world.client.config_set("maxmemory", "0")
        await world.close()


VERDICTS = ("completed", "failed", "failed", "returned", "cancelled", "undecodable")
TOLD = (*FINAL_STATES, "retryable")


class Model(msgspec.Struct):
    """What a job is to be, kept beside the store; `until` is its score, as far as it matters."""

    max_attempts: int
    fingerprint: str
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
        """Each with content of its own: a quarantine concerns that job alone."""
        attempts, number = self.dice.randint(1, 3), len(self.models)
        options = {"max_attempts": attempts, "priority": self.dice.randint(-2, 2), "retention_ms": 0}
        job_id = await enqueue(self.world, payload=number, **options)
        self.models[job_id] = Model(attempts, fingerprint("test", str(number)))

    async def admit(self) -> None:
        """All that is ready, some at a time: a small capacity also bounds how many are brought back in one call."""
        for model in self.models.values():
            if model.state == "retryable" and model.until <= self.now:
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
        """Some at once, of any age, the same one twice perhaps."""
        reports, expected = [], []
        for _ in range(self.dice.randint(1, 3) if self.claims else 0):
            claim, verdict = self.dice.choice(self.claims), self.dice.choice(VERDICTS)
            wait_ms = self.dice.choice((1, 3000) if verdict == "failed" else (0, 1, 3000))
            reports.append(Report(claim, verdict, wait_ms=wait_ms))
            expected.append(self._told(claim, verdict, wait_ms))
        assert await self.world.store.attempts.finish(reports) == expected

    async def renew(self) -> None:
        some = self.dice.sample(self.claims, self.dice.randint(0, len(self.claims)))
        lost = {claim.id for claim in some if not self._owned(claim)}
        assert await self.world.store.attempts.renew(some, LEASE) == Renewed(lost, set())
        for claim in some:
            if self._owned(claim):
                self.models[claim.id].until = self.now + LEASE

    async def reclaim(self) -> None:
        """Leases are judged at once, however long nobody looked."""
        crashed = {}
        for job_id, model in self.models.items():
            if model.until > self.now:
                continue
            if model.state == "running":
                model.crash += 1
                model.state = crashed[job_id] = "available" if model.crash < 3 else "quarantined"
            elif model.state == "retryable":
                model.state = "available"
            elif model.state in FINAL_STATES:
                model.state = "gone"
        answers = await reclaim(self.world)
        assert {job_id: state for answer in answers for job_id, state in answer.crashed.items()} == crashed

    async def release(self) -> None:
        for model in self.models.values():
            if model.state == "quarantined":
                assert await self.world.store.quarantine.release(model.fingerprint) == 1
                model.state, model.crash = "available", 0

    async def wait(self) -> None:
        self.now = await self.world.advance(self.dice.choice((1, 500, 2999, LEASE, REPEAT_MS)))

    async def check(self) -> None:
        """Every job is in exactly the set of its state, and its record agrees with the model."""
        members = {
            str(state): set(await self.world.client.zrange(self.world.keys("state", "default", state), 0, -1))
            for state in JobState
        }
        for job_id, model in self.models.items():
            in_sets = [state for state, ids in members.items() if job_id in ids]
            assert in_sets == ([] if model.state == "gone" else [model.state])
            fields = await self.world.client.hmget(self.world.keys("job", job_id), "state", "attempt", "crash_attempt")
            expected = [model.state, str(model.attempt), str(model.crash)]
            assert fields == ([None] * 3 if model.state == "gone" else expected)
        assert set().union(*members.values()) <= set(self.models)

    def _owned(self, claim: Claim) -> bool:
        model = self.models[claim.id]
        return model.state == "running" and model.claim is claim

    def _told(self, claim: Claim, verdict: str, wait_ms: int) -> str:
        """What the store is to answer."""
        model = self.models[claim.id]
        late = model.claim is claim and model.state in ("available", "quarantined") and verdict == "completed"
        if not (self._owned(claim) or late):
            return model.state if model.claim is claim and model.state in TOLD else "lost"
        if verdict == "failed":
            model.attempt += 1
            verdict = "archived" if model.attempt >= model.max_attempts else "retryable"
        elif verdict == "returned":
            verdict = "retryable" if wait_ms else "available"
        life = {"completed": REPEAT_MS, "retryable": wait_ms}.get(verdict, 7 * DAY)
        model.state, model.until = verdict, self.now + life
        return verdict


@pytest.mark.parametrize("seed", range(6))
async def test_any_history_keeps_every_job_in_exactly_one_set(moved: World, seed: int) -> None:
    history = History(moved, seed)
    steps = (history.enqueue, history.admit, history.finish, history.renew, history.wait, history.reclaim)
    met: set[str] = set()
    for _ in range(300):
        await history.dice.choice((*steps, history.finish, history.reclaim, history.release))()
        await history.check()
        met |= {model.state for model in history.models.values()}
    assert met > {"retryable", "running", "gone"}, "nothing much happened"
