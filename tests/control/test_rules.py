"""Rules of a schedule's jobs: overlap, a unique key, lateness, a deadline, headers."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import InvalidRequest
from headgate.models import JobRequest, MissedPolicy, Overlap, ScheduleDefinition
from headgate.names import fingerprint
from headgate.store.attempts import Report
from tests.control.acts import DAY, HOUR, MINUTE, at, finish, gaps, pass_time, ran, sweep
from tests.support.worlds import START_MS, World


async def decided(world: World) -> list[tuple[int, str, str | None]]:
    """Minute, outcome/reason and job of each event, oldest first."""
    return [
        ((event["tick_ms"] - START_MS) // MINUTE, f"{event['outcome']}/{event['reason']}", event["job_id"])
        for event in reversed(await world.events("a"))
    ]


# overlap


@pytest.mark.parametrize("standing", ["waits", "runs", "retries"])
async def test_no_tick_makes_a_job_while_the_run_before_it_is_not_over(moved: World, standing: str) -> None:
    await moved.put("a", overlap="skip")
    await pass_time(moved, MINUTE)
    if standing != "waits":
        [claim] = (await moved.store.attempts.admit("w", ["default"], 1, DAY)).claims
        if standing == "retries":
            await moved.store.attempts.finish([Report(claim, "failed", wait_ms=HOUR)])
    await pass_time(moved, 2 * MINUTE)
    first = f"sched-a-{at(1)}"
    assert await decided(moved) == [
        (1, "enqueued/accepted", first),
        (2, "deduplicated/overlap", first),
        (3, "deduplicated/overlap", first),
    ]
    assert await moved.gaps("a") == [], "it was decided, not passed over"


@pytest.mark.parametrize("verdict", ["completed", "cancelled", "undecodable"])
async def test_the_next_tick_runs_once_that_is_over(moved: World, verdict: str) -> None:
    await moved.put("a", overlap="skip")
    await pass_time(moved, 2 * MINUTE)
    await finish(moved, verdict=verdict)
    await pass_time(moved, 2 * MINUTE)
    assert [word for _, word, _ in await decided(moved)] == [
        "enqueued/accepted",
        "deduplicated/overlap",
        "enqueued/accepted",
        "deduplicated/overlap",
    ]
    assert (await decided(moved))[3][2] == f"sched-a-{at(3)}"


async def test_a_run_that_was_removed_stands_in_nobodys_way(moved: World) -> None:
    await moved.put("a", overlap="skip")
    await pass_time(moved, MINUTE)
    job_id = f"sched-a-{at(1)}"
    await moved.client.delete(moved.keys("job", job_id))
    await moved.client.zrem(moved.keys("state", "default", "available"), job_id)
    await pass_time(moved, MINUTE)
    assert await ran(moved) == [2]


async def test_a_run_by_hand_does_not_count(moved: World) -> None:
    """Neither does it stand in a tick's way, nor does a tick stand in its."""
    await moved.put("a", overlap="skip")
    await moved.store.producer.run_now("a", idempotency_key="1")
    await pass_time(moved, MINUTE)
    assert await ran(moved) == [1]
    assert not (await moved.store.producer.run_now("a", idempotency_key="2")).duplicate


async def test_overlap_is_seen_by_whoever_schedules_next_and_after_edits(moved: World) -> None:
    await moved.put("a", overlap="skip")
    await pass_time(moved, MINUTE)
    await moved.put("a", overlap="skip", payload="new")
    await pass_time(moved, MINUTE)
    assert (await decided(moved))[1][1] == "deduplicated/overlap"
    await moved.put("a", overlap="allow", payload="new")
    await pass_time(moved, MINUTE)
    assert (await decided(moved))[2][1] == "enqueued/accepted"


async def test_a_tick_whose_event_was_lost_is_replayed_and_counts_as_the_run_before(moved: World) -> None:
    """Its own job must not stand in its way, and stands in the next one's."""
    await moved.put("a", overlap="skip")
    await moved.client.set(moved.keys("events", "a"), "foreign")
    await moved.advance(MINUTE)
    await sweep(moved)
    await moved.client.delete(moved.keys("events", "a"))
    await pass_time(moved, 2 * MINUTE)
    first = f"sched-a-{at(1)}"
    assert await decided(moved) == [
        (1, "enqueued/replayed", first),
        (2, "deduplicated/overlap", first),
        (3, "deduplicated/overlap", first),
    ]


@pytest.mark.damages_store("a record from a backup")
async def test_a_restored_record_learns_of_its_run_from_the_marker(moved: World) -> None:
    await moved.put("a", overlap="skip")
    record = await moved.record("a")
    await pass_time(moved, MINUTE)
    await moved.client.delete(moved.keys("schedule", "a"))
    await moved.client.hset(moved.keys("schedule", "a"), mapping=record)
    await moved.client.zadd(moved.keys("due"), {"a": record["next_run_ms"]})
    await sweep(moved)
    await pass_time(moved, MINUTE)
    assert [word for _, word, _ in await decided(moved)][-2:] == ["enqueued/replayed", "deduplicated/overlap"]


@pytest.mark.parametrize("before", [{}, {"priority": 1}, {"unique_key": "u"}, {"max_lateness_ms": HOUR}])
async def test_overlap_counts_from_the_run_that_is_under_way(moved: World, before: dict[str, Any]) -> None:
    """Whether or not the schedule had other rules by then."""
    await moved.put("a", **before)
    await pass_time(moved, MINUTE)
    [claim] = (await moved.store.attempts.admit("w", ["default"], 1, DAY)).claims
    await moved.put("a", overlap="skip")
    await pass_time(moved, MINUTE)
    first = f"sched-a-{at(1)}"
    assert await decided(moved) == [(1, "enqueued/accepted", first), (2, "deduplicated/overlap", first)]
    await moved.store.attempts.finish([Report(claim, "completed")])
    await pass_time(moved, MINUTE)
    assert (await decided(moved))[-1] == (3, "enqueued/accepted", f"sched-a-{at(3)}")


async def test_overlap_counts_from_a_run_though_later_ticks_made_no_job(moved: World) -> None:
    await moved.put("a", max_lateness_ms=10_000)
    await pass_time(moved, MINUTE)
    await moved.advance(MINUTE + 10_001)
    await sweep(moved)
    await moved.put("a", max_lateness_ms=10_000, overlap="skip")
    await moved.advance(MINUTE - 10_001)
    await sweep(moved)
    assert [word for _, word, _ in await decided(moved)] == [
        "enqueued/accepted",
        "skipped/too_late",
        "deduplicated/overlap",
    ]


async def test_a_run_that_was_set_aside_stands_in_nobodys_way(moved: World) -> None:
    """It waits for a release that may never come."""
    await moved.put("a", overlap="skip", payload={"v": 1})
    await pass_time(moved, MINUTE)
    await moved.store.quarantine.add(fingerprint("test", '{"v":1}'))
    assert (await moved.store.attempts.admit("w", ["default"], 1, DAY)).claims == []
    assert (await moved.store.jobs.get(f"sched-a-{at(1)}")).state == "quarantined"
    await moved.put("a", overlap="skip", payload={"v": 2})
    await pass_time(moved, MINUTE)
    assert (await decided(moved))[-1] == (2, "enqueued/accepted", f"sched-a-{at(2)}")


async def test_overlap_excludes_a_policy_of_backfill(moved: World) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await moved.put("a", overlap=Overlap.SKIP, on_missed=MissedPolicy.BACKFILL)
    assert refused.value.field == "overlap"


async def test_overlap_excludes_a_policy_of_backfill_where_both_are_text_too(moved: World) -> None:
    with pytest.raises(InvalidRequest):
        await moved.put("a", overlap="skip", on_missed="backfill")


# a unique key


async def test_a_tick_makes_no_job_while_another_holds_its_unique_key(moved: World) -> None:
    holder = await moved.store.producer.enqueue(JobRequest(kind="other", queue="q", unique_key="u"))
    await moved.put("a", unique_key="u")
    await pass_time(moved, MINUTE)
    await finish(moved, queue="q")
    await pass_time(moved, 2 * MINUTE)
    assert await decided(moved) == [
        (1, "deduplicated/unique_key", holder.job_id),
        (2, "enqueued/accepted", f"sched-a-{at(2)}"),
        (3, "deduplicated/unique_key", f"sched-a-{at(2)}"),
    ]


async def test_a_run_by_hand_goes_through_the_same_gate(moved: World) -> None:
    """It has the key, the headers and the deadline of the schedule; and is told who holds the key."""
    await moved.put("a", unique_key="u", headers={"tenant": "x"}, deadline_ms=HOUR)
    first = await moved.store.producer.run_now("a", idempotency_key="1")
    second = await moved.store.producer.run_now("a", idempotency_key="2", by="ann")
    assert (second.job_id, second.duplicate) == (first.job_id, True)
    assert (await moved.store.jobs.get(first.job_id)).deadline_ms == START_MS + HOUR
    [claim] = (await moved.store.attempts.admit("w", ["default"], 1, DAY)).claims
    assert claim.headers == {"tenant": "x"}
    runs = (await moved.store.runs.list("a")).runs
    assert [(run.outcome, run.by, run.trigger, run.tick_ms) for run in runs] == [
        ("deduplicated", "ann", "manual", None),
        ("enqueued", None, "manual", None),
    ]


# lateness and deadlines


async def test_a_tick_that_is_older_than_it_may_be_is_skipped_with_its_gap(moved: World) -> None:
    await moved.put("a", max_lateness_ms=10_000)
    await moved.advance(MINUTE + 10_000)
    await sweep(moved)
    await moved.advance(MINUTE + 1)
    await sweep(moved)
    assert [word for _, word, _ in await decided(moved)] == ["enqueued/accepted", "skipped/too_late"]
    assert await gaps(moved) == [(2, 2, "too_late")]


async def test_the_catch_up_after_an_outage_runs_only_what_is_not_too_late(moved: World) -> None:
    await moved.put("a", on_missed="backfill", backfill_limit=10, max_lateness_ms=3 * MINUTE)
    await moved.advance(20 * MINUTE)
    await sweep(moved)
    assert await ran(moved) == [17, 18, 19, 20]
    assert await gaps(moved) == [(1, 10, "discarded"), (11, 16, "too_late")]


async def test_a_job_has_its_deadline_from_its_tick_and_is_archived_after_it(moved: World) -> None:
    await moved.put("a", "@every:3600000", deadline_ms=MINUTE)
    await moved.advance(HOUR + 20_000)
    await sweep(moved)
    job_id = f"sched-a-{START_MS + HOUR}"
    assert (await moved.store.jobs.get(job_id)).deadline_ms == START_MS + HOUR + MINUTE
    await moved.advance(40_000)
    assert (await moved.store.attempts.admit("w", ["default"], 1, DAY)).claims == []
    job = await moved.store.jobs.get(job_id)
    assert (job.state, job.last_error) == ("archived", "DeadlineExceeded")


async def test_a_tick_whose_deadline_has_passed_is_too_late(moved: World) -> None:
    await moved.put("a", "@every:3600000", deadline_ms=MINUTE)
    await moved.advance(HOUR + MINUTE)
    await sweep(moved)
    assert [(event["outcome"], event["reason"]) for event in await moved.events("a")] == [("skipped", "too_late")]
    assert len(await moved.gaps("a")) == 1


async def test_headers_reach_the_job_of_a_tick(moved: World) -> None:
    await moved.put("a", headers={"tenant": "blue", "empty": ""})
    await pass_time(moved, MINUTE)
    [claim] = (await moved.store.attempts.admit("w", ["default"], 1, DAY)).claims
    assert claim.headers == {"tenant": "blue", "empty": ""}


async def test_a_job_may_always_run_before_its_deadline(moved: World) -> None:
    """However late its jitter makes it."""
    await moved.put("a", deadline_ms=30_001, jitter_ms=30_000)
    await pass_time(moved, 20 * MINUTE)
    for tick in range(1, 21):
        job = await moved.store.jobs.get(f"sched-a-{at(tick)}")
        assert job.available_at_ms < (job.deadline_ms or 0) == at(tick) + 30_001


# what a definition may say


def definition(**options: Any) -> ScheduleDefinition:
    return ScheduleDefinition(kind="test", spec="@every:60000", **options)


async def test_sixteen_labels_are_kept_and_seventeen_refused(moved: World) -> None:
    labels = {f"name{number}": "x" * 63 for number in range(16)}
    assert (await moved.store.schedules.put("a", definition(labels=labels))).schedule.labels == labels
    with pytest.raises(InvalidRequest) as refused:
        await moved.store.schedules.put("a", definition(labels=labels | {"one": "more"}))
    assert refused.value.field == "labels"
    assert (await moved.store.schedules.get("a")).labels == labels


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"starts_at_ms": 5, "ends_at_ms": 4}, "ends_at_ms"),
        ({"jitter_ms": MINUTE}, "jitter_ms"),
        ({"jitter_ms": -1}, "jitter_ms"),
        ({"max_lateness_ms": 0}, "max_lateness_ms"),
        ({"deadline_ms": 0}, "deadline_ms"),
        ({"deadline_ms": 30_000, "jitter_ms": 30_000}, "deadline_ms"),
        ({"deadline_ms": 1, "jitter_ms": 30_000}, "deadline_ms"),
        ({"overlap": "queue"}, "overlap"),
        ({"labels": {"": "x"}}, "labels"),
        ({"labels": {"x": "y" * 64}}, "labels"),
        ({"labels": {"x": "a\nb"}}, "labels"),
        ({"labels": {"x": 1}}, "labels"),
        ({"description": "x" * 1001}, "description"),
        ({"headers": {"x": 1}}, "headers"),
        ({"unique_key": ""}, "unique_key"),
    ],
)
async def test_a_bad_rule_is_named_and_nothing_is_stored(moved: World, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await moved.store.schedules.put("a", definition(**options))
    assert refused.value.field == field
    assert (await moved.store.schedules.list()).schedules == []
