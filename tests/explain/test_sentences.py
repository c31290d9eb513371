"""Every sentence that `explain` can say, each from a scenario on the moved clock with the real scripts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headgate import SkipTick
from headgate.models import QueueLimits, ScheduleDefinition, TickCode
from headgate.sentences import DELETED_SINCE, EARLIER, JOBS, REASONS, SENTENCES, span
from tests.explain.stage import ID, MINUTE, Stage
from tests.support.worlds import START_MS, World

FIRST = START_MS + MINUTE
SECOND = FIRST + MINUTE
BERLIN_MORNING = 1_806_188_400_000
"""2027-03-28 00:00 in Berlin, three hours before its clocks go from 02:00 to 03:00."""
BERLIN_AUTUMN = 1_824_933_600_000
"""2027-10-31 00:00 in Berlin, three hours before its clocks go from 03:00 back to 02:00."""
HOUR = 60 * MINUTE

Play = Callable[[Stage], Awaitable[int]]


class Scenario(NamedTuple):
    code: TickCode
    sentence: str
    play: Play


SCENARIOS: dict[str, Scenario] = {}


def says(code: TickCode, sentence: str) -> Callable[[Play], Play]:
    """The scenario returns the instant to ask about; then this is what `explain` says."""

    def declare(play: Play) -> Play:
        SCENARIOS[play.__name__] = Scenario(code, sentence, play)
        return play

    return declare


# it became a job


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which waits for a worker.",
)
async def waits_for_a_worker(stage: Stage) -> int:
    await stage.put()
    await stage.go(MINUTE)
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which waits for its time, "
    "08:01:14.789 UTC on 15 January 2027.",
)
async def waits_for_its_jitter(stage: Stage) -> int:
    await stage.put(jitter_ms=50_000)
    await stage.go(MINUTE)
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which has been running since "
    "08:01 UTC on 15 January 2027.",
)
async def runs(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    await stage.claim()
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which waits for its next "
    "attempt, at 08:01:05 UTC on 15 January 2027.",
)
async def waits_for_a_retry(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    await stage.finish("failed", wait_ms=5_000)
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which was set aside, because "
    "its content is quarantined.",
)
async def was_set_aside(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    await bar(stage)
    await stage.store.attempts.admit("w", ["default"], 1, 1000)
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which completed at "
    "08:01:01.234 UTC on 15 January 2027.",
)
async def completed(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    await stage.world.advance(1_234)
    await stage.finish("completed")
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which did not complete and "
    "was archived at 08:01 UTC on 15 January 2027.",
)
async def archived(stage: Stage) -> int:
    await stage.put(max_attempts=1)
    await stage.go(MINUTE)
    await stage.finish("failed")
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which was cancelled at 08:01 "
    "UTC on 15 January 2027.",
)
async def cancelled(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    await stage.finish("cancelled")
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which could not be decoded by "
    "its actor, and ended at 08:01 UTC on 15 January 2027.",
)
async def undecodable(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    await stage.finish("undecodable")
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which has been removed since.",
)
async def removed(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    job_id = f"sched-{ID}-{FIRST}"
    await stage.store.jobs.cancel(job_id)
    await stage.store.jobs.delete(job_id)
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which waits for a worker. It "
    "was a tick of an earlier spec, @every:60000.",
)
async def of_an_earlier_spec(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    await stage.put("@every:420000")
    return FIRST


@says(
    TickCode.ENQUEUED,
    "The tick of 08:01 UTC on 15 January 2027 became job sched-a-1800000060000, which waits for a worker. The "
    "schedule has been deleted since.",
)
async def of_a_deleted_schedule(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    await stage.store.schedules.delete(ID)
    return FIRST


@says(
    TickCode.MADE_UP,
    "The tick of 08:01 UTC on 15 January 2027 did not run in its time and was made up for later by ann: it "
    "became job sched-a-1800000060000, which waits for a worker.",
)
async def made_up_for(stage: Stage) -> int:
    await discarded(stage)
    await stage.store.backfills.run(ID, START_MS, FIRST, by="ann")
    return FIRST


@says(
    TickCode.IN_NO_GAP,
    "The tick of 08:02 UTC on 15 January 2027 is in no gap any more: it was made up for by ann, or deduplicated.",
)
async def in_no_gap(stage: Stage) -> int:
    """It was deduplicated: its id was used before for other content. Its neighbours were made up for."""
    await stage.put(on_missed="skip")
    await stage.go(4 * MINUTE)
    await stage.world.client.set(stage.world.keys("tick", ID, SECOND), "of other content", px=1000)
    await stage.store.backfills.run(ID, START_MS, SECOND + MINUTE, by="ann")
    return SECOND


@says(
    TickCode.IN_NO_GAP,
    "The tick of 08:01 UTC on 15 January 2027 is in no gap any more: it was made up for, or deduplicated.",
)
async def in_no_gap_by_nobody_known(stage: Stage) -> int:
    """Neither the run by hand nor the job is kept any more."""
    await made_up_for(stage)
    job_id = f"sched-{ID}-{FIRST}"
    await stage.store.jobs.cancel(job_id)
    await stage.store.jobs.delete(job_id)
    await stage.world.client.delete(stage.world.keys("manual", ID))
    return FIRST


# it made no job


@says(
    TickCode.UNIQUE_KEY,
    "The tick of 08:02 UTC on 15 January 2027 made no job, because job sched-a-1800000060000 held its unique key.",
)
async def unique_key(stage: Stage) -> int:
    await stage.put(unique_key="k")
    await stage.go(MINUTE)
    await stage.go(MINUTE)
    return SECOND


@says(
    TickCode.OVERLAP,
    "The tick of 08:02 UTC on 15 January 2027 made no job, because the run before it, job "
    "sched-a-1800000060000, was not over.",
)
async def overlap(stage: Stage) -> int:
    await stage.put(overlap="skip")
    await stage.go(MINUTE)
    await stage.go(MINUTE)
    return SECOND


@says(
    TickCode.ID_CONFLICT,
    "The tick of 08:01 UTC on 15 January 2027 made no job, because its id, sched-a-1800000060000, was used "
    "before for other content.",
)
async def id_conflict(stage: Stage) -> int:
    await stage.put()
    await stage.world.client.set(stage.world.keys("tick", ID, FIRST), "of other content", px=1000)
    await stage.go(MINUTE)
    return FIRST


@says(
    TickCode.DISCARDED,
    "The tick of 08:01 UTC on 15 January 2027 was missed, and discarded by the policy run_once in favour of "
    "the tick of 08:02 UTC on 15 January 2027.",
)
async def discarded(stage: Stage) -> int:
    await stage.put(on_missed="run_once")
    await stage.go(2 * MINUTE)
    return FIRST


@says(
    TickCode.QUARANTINED,
    "The tick of 08:01 UTC on 15 January 2027 was skipped, because its content was quarantined.",
)
async def quarantined(stage: Stage) -> int:
    await stage.put()
    await bar(stage)
    await stage.go(MINUTE)
    return FIRST


@says(
    TickCode.TOO_LATE,
    "The tick of 08:01 UTC on 15 January 2027 was skipped, because it came too late.",
)
async def too_late(stage: Stage) -> int:
    await stage.put(max_lateness_ms=1000)
    await stage.go(MINUTE + 2000)
    return FIRST


@says(
    TickCode.HOOK_SKIPPED,
    "The tick of 08:01 UTC on 15 January 2027 was skipped by a hook of the application.",
)
async def hook_skipped(stage: Stage) -> int:
    async def skip(_job: Any) -> None:
        raise SkipTick("not today")

    stage.hooks.before.append(skip)
    await stage.put()
    await stage.go(MINUTE)
    return FIRST


@says(
    TickCode.SPEC_CHANGED,
    "The tick of 08:01 UTC on 15 January 2027 was not decided yet when the spec was changed by bob; it did "
    "not run. It was a tick of an earlier spec, @every:60000.",
)
async def spec_changed(stage: Stage) -> int:
    await stage.put()
    await stage.world.advance(2 * MINUTE)
    definition = ScheduleDefinition(spec="@every:420000", kind="test")
    await stage.store.schedules.put(ID, definition, by="bob")
    return FIRST


@says(
    TickCode.PAUSED,
    "The tick of 08:01 UTC on 15 January 2027 did not run: the schedule was paused by ann (“the mail server moves”).",
)
async def paused(stage: Stage) -> int:
    await stage.put()
    await stage.store.control.pause(ID, reason="the mail server moves", by="ann")
    await stage.world.advance(2 * MINUTE)
    await stage.store.control.resume(ID)
    return FIRST


# it is not decided yet


@says(
    TickCode.PAUSED_NOW,
    "The tick of 08:01 UTC on 15 January 2027 is due, but the schedule is paused since 08:00 UTC on 15 "
    "January 2027 by ann (“the mail server moves”) until 09:00 UTC on 15 January 2027; what becomes of it is "
    "decided when it is resumed.",
)
async def paused_now(stage: Stage) -> int:
    await stage.put()
    await stage.store.control.pause(ID, reason="the mail server moves", by="ann", until_ms=START_MS + HOUR)
    await stage.world.advance(MINUTE)
    return FIRST


async def fail(stage: Stage) -> int:
    await stage.go(MINUTE)
    await stage.go(1_000)
    return FIRST


@says(
    TickCode.FAILING,
    "The tick of 08:01 UTC on 15 January 2027 has been failing since 08:01 UTC on 15 January 2027 because its "
    "queue is full: tried 2 times, next try at 08:01:03 UTC on 15 January 2027.",
)
async def failing_by_backpressure(stage: Stage) -> int:
    await stage.put()
    await stage.store.queues.set_limits("default", QueueLimits(max_unfinished=0))
    return await fail(stage)


@says(
    TickCode.FAILING,
    "The tick of 08:01 UTC on 15 January 2027 has been failing since 08:01 UTC on 15 January 2027 because a "
    "hook of the application fails: tried 2 times, next try at 08:01:03 UTC on 15 January 2027.",
)
async def failing_by_a_hook(stage: Stage) -> int:
    async def fail_in(_job: Any) -> None:
        raise RuntimeError

    stage.hooks.before.append(fail_in)
    await stage.put()
    return await fail(stage)


@says(
    TickCode.FAILING,
    "The tick of 08:01 UTC on 15 January 2027 has been failing since 08:01 UTC on 15 January 2027 because its "
    "spec is refused now: tried 2 times, next try at 08:01:03 UTC on 15 January 2027.",
)
async def failing_by_its_spec(stage: Stage) -> int:
    await stage.put()
    await stage.world.client.hset(stage.world.keys("schedule", ID), "spec", "CRON_TZ=Mars/Olympus 0 9 * * *")
    return await fail(stage)


@says(
    TickCode.FAILING,
    "The tick of 08:01 UTC on 15 January 2027 has been failing since 08:01 UTC on 15 January 2027 because its "
    "record lacks what a job needs: tried once, next try at 08:01:01 UTC on 15 January 2027.",
)
async def failing_by_its_record(stage: Stage) -> int:
    await stage.put()
    await stage.world.client.hset(stage.world.keys("schedule", ID), "priority", 999)
    await stage.go(MINUTE)
    return FIRST


@says(
    TickCode.FAILING,
    "The tick of 08:01 UTC on 15 January 2027 has been failing since 08:01 UTC on 15 January 2027 because the "
    "store holds what Headgate did not write there: tried 2 times, next try at 08:01:03 UTC on 15 January "
    "2027.",
)
async def failing_by_the_store(stage: Stage) -> int:
    await stage.put()
    await stage.hold_foreign("job", f"sched-{ID}-{FIRST}")
    return await fail(stage)


@says(
    TickCode.BEHIND_FAILING,
    "The tick of 08:02 UTC on 15 January 2027 is due and not decided yet: the schedule has been failing at "
    "the tick of 08:01 UTC on 15 January 2027 since 08:01 UTC on 15 January 2027 because its queue is full; "
    "tried 2 times, next try at 08:01:03 UTC on 15 January 2027.",
)
async def behind_a_failing_tick(stage: Stage) -> int:
    await failing_by_backpressure(stage)
    await stage.world.advance(MINUTE)
    return SECOND


@says(
    TickCode.OVERDUE,
    "The tick of 08:01 UTC on 15 January 2027 is due now and not decided yet, overdue by 12 seconds 345 milliseconds.",
)
async def overdue(stage: Stage) -> int:
    await stage.put()
    await stage.world.advance(MINUTE + 12_345)
    return FIRST


@says(
    TickCode.OVERDUE,
    "The tick of 08:06 UTC on 15 January 2027 is due now and not decided yet, overdue by 3 minutes 7 seconds; it "
    "was missed: the pause ended at 08:05 UTC on 15 January 2027, and the policy run_once decides once somebody "
    "schedules.",
)
async def after_a_pause_that_nobody_ended(stage: Stage) -> int:
    await stage.put(on_missed="run_once")
    await stage.store.control.pause(ID, by="ann", until_ms=START_MS + 5 * MINUTE)
    await stage.world.advance(9 * MINUTE + 7_000)
    return START_MS + 6 * MINUTE


@says(
    TickCode.NOT_DUE,
    "The tick of 10:00 UTC on 16 January 2027 is not due yet: it will be in 1 day 2 hours.",
)
async def not_due(stage: Stage) -> int:
    await stage.put()
    return START_MS + 26 * HOUR


@says(
    TickCode.NOT_DUE,
    "The tick of 08:01 UTC on 15 January 2027 is not due yet: it will be in 1 minute, but the schedule is "
    "paused by ann and has to be resumed first.",
)
async def not_due_and_paused(stage: Stage) -> int:
    await stage.put()
    await stage.store.control.pause(ID, by="ann")
    return FIRST


# it is no tick


@says(
    TickCode.NOT_A_TICK,
    "13:45:00.500 on 15 January 2027 (Asia/Kathmandu; 08:00:00.500 UTC) is not a tick of the spec "
    "CRON_TZ=Asia/Kathmandu 0 9 * * *; the nearest ticks are 09:00 on 15 January 2027 (Asia/Kathmandu; 03:15 "
    "UTC) and 09:00 on 16 January 2027 (Asia/Kathmandu; 03:15 UTC).",
)
async def not_a_tick(stage: Stage) -> int:
    await stage.put("CRON_TZ=Asia/Kathmandu 0 9 * * *")
    return START_MS + 500


@says(
    TickCode.CLOCK_GAP,
    "03:30 on 28 March 2027 (Europe/Berlin; 01:30 UTC) stands for 02:30, which the clock change skipped: "
    "the spec CRON_TZ=Europe/Berlin 30 2 * * * has no tick there; the nearest ticks are "
    "02:30 on 27 March 2027 (Europe/Berlin; 01:30 UTC) and 02:30 on 29 March 2027 (Europe/Berlin; 00:30 UTC).",
)
async def clock_gap(stage: Stage) -> int:
    await stage.world.set_clock(BERLIN_MORNING)
    await stage.put("CRON_TZ=Europe/Berlin 30 2 * * *")
    return BERLIN_MORNING + 2 * HOUR + 30 * MINUTE


@says(
    TickCode.REPEATED,
    "02:30 on 31 October 2027 (Europe/Berlin; 01:30 UTC) is the second time round of a time that the clock "
    "repeats: the spec CRON_TZ=Europe/Berlin 30 2 * * * fires the first time only, at 00:30 UTC on 31 October "
    "2027; the nearest ticks are 02:30 on 31 October 2027 (Europe/Berlin; 00:30 UTC) and 02:30 on 1 November "
    "2027 (Europe/Berlin; 01:30 UTC).",
)
async def repeated(stage: Stage) -> int:
    await stage.world.set_clock(BERLIN_AUTUMN)
    await stage.put("CRON_TZ=Europe/Berlin 30 2 * * *")
    return BERLIN_AUTUMN + 3 * HOUR + 30 * MINUTE


@says(
    TickCode.BEFORE_SPEC,
    "08:01 UTC on 15 January 2027 is a tick of the present spec, which counts only from 08:02 UTC on 15 "
    "January 2027; it is none of the one in force then, @every:3600000; the nearest ticks are 08:00 UTC on 15 "
    "January 2027 and 09:00 UTC on 15 January 2027.",
)
async def before_spec(stage: Stage) -> int:
    await stage.put("@every:3600000")
    await stage.world.advance(2 * MINUTE)
    await stage.put()
    return FIRST


@says(
    TickCode.BEFORE_CREATED,
    "07:59 UTC on 15 January 2027 is before the schedule existed: it was created at 08:00 UTC on 15 January "
    "2027; the nearest tick is 08:01 UTC on 15 January 2027.",
)
async def before_created(stage: Stage) -> int:
    await stage.put()
    return START_MS - MINUTE


@says(
    TickCode.BEFORE_START,
    "08:01 UTC on 15 January 2027 is before the schedule starts, at 09:00 UTC on 15 January 2027; the nearest "
    "tick is 09:00 UTC on 15 January 2027.",
)
async def before_start(stage: Stage) -> int:
    await stage.put(starts_at_ms=START_MS + HOUR)
    return FIRST


@says(
    TickCode.AFTER_END,
    "10:00 UTC on 15 January 2027 is after the schedule's end, at 09:00 UTC on 15 January 2027; the nearest "
    "tick is 09:00 UTC on 15 January 2027.",
)
async def after_end(stage: Stage) -> int:
    await stage.put(ends_at_ms=START_MS + HOUR)
    return START_MS + 2 * HOUR


# nobody knows any more


@says(
    TickCode.FORGOTTEN,
    "The tick of 08:01 UTC on 15 January 2027 is older than the history that is kept, and in no gap: it counts as run.",
)
async def forgotten(stage: Stage) -> int:
    await stage.put(on_missed="backfill", backfill_limit=150, retention_ms=0)
    await stage.go(150 * MINUTE)
    job_id = f"sched-{ID}-{FIRST}"
    await stage.store.jobs.cancel(job_id)
    await stage.store.jobs.delete(job_id)
    return FIRST


@says(
    TickCode.UNKNOWN,
    "Nothing that is kept says what became of 08:01 UTC on 15 January 2027.",
)
async def unknown(stage: Stage) -> int:
    """More gaps than are kept came after it, and more events."""
    await stage.put(on_missed="skip")
    for _ in range(102):
        await stage.go(2 * MINUTE)
    return FIRST


@says(
    TickCode.DELETED,
    "The schedule was deleted at 08:01 UTC on 15 January 2027 by ann; its history does not tell of 08:02 UTC "
    "on 15 January 2027.",
)
async def deleted(stage: Stage) -> int:
    await waits_for_a_worker(stage)
    await stage.store.schedules.delete(ID, by="ann")
    return SECOND


async def bar(stage: Stage) -> None:
    await stage.store.quarantine.add((await stage.store.schedules.get(ID)).fingerprint)


@pytest.mark.parametrize("name", SCENARIOS)
async def test_explain_says(moved: World, name: str) -> None:
    scenario, stage = SCENARIOS[name], Stage(moved)
    tick_ms = await scenario.play(stage)
    it = await stage.explain(tick_ms)
    await stage.tidy()
    assert (it.code, it.sentence) == (scenario.code, scenario.sentence)
    assert (it.schedule_id, it.tick_ms) == (ID, tick_ms)


def test_every_sentence_is_said() -> None:
    assert {scenario.code for scenario in SCENARIOS.values()} == set(TickCode) == set(SENTENCES)
    said = "\n".join(scenario.sentence for scenario in SCENARIOS.values())
    ends = [text.partition("{")[0] for text in (*JOBS.values(), *REASONS.values(), EARLIER, DELETED_SINCE)]
    assert [end for end in ends if end not in said] == []


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 milliseconds"),
        (1, "1 millisecond"),
        (61_000, "1 minute 1 second"),
        (HOUR + 5, "1 hour"),
        (100 * 24 * HOUR + HOUR + 1, "100 days 1 hour"),
    ],
)
def test_a_duration_is_told_by_its_two_largest_units(ms: int, words: str) -> None:
    assert span(ms) == words


def test_the_docs_show_a_sentence_of_each_code() -> None:
    text = (Path(__file__).parents[2] / "docs/explain.md").read_text("utf-8")
    shown = {code for code, sentence, _ in SCENARIOS.values() if f"| `{code}` | {sentence} |" in text}
    assert shown == set(TickCode)
