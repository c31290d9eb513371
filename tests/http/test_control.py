"""Control over HTTP: pause, resume, backfill and extra runs, who asked for them, and what is kept of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headgate.errors import SkipTick
from headgate.hooks import Enqueueing, Hooks
from headgate.scheduler import Scheduler
from tests.http.client import SCHEDULE, SECRET, Client, body_of, key, pages, periodic, problem_of, serving
from tests.support.worlds import START_MS, World

MINUTE = 60_000
URL = periodic("s")
PAUSE, RESUME, BACKFILL, RUN = (periodic("s", f"/{word}") for word in ("pause", "resume", "backfill", "run"))


def ticks(first: int, last: int) -> list[int]:
    return [START_MS + number * MINUTE for number in range(first, last + 1)]


@pytest.fixture
async def scheduler(moved: World, moved_api: Client) -> Scheduler:
    """With a schedule of every minute that counts from `START_MS`."""
    found = moved.scheduler()
    await moved.own_the_duty(found)
    await body_of(await moved_api.put(URL, json=SCHEDULE, headers={"X-Headgate-By": "Zoë"}), 201)
    return found


async def pause_for(world: World, api: Client, minutes: int) -> None:
    await body_of(await api.post(PAUSE))
    await world.advance(minutes * MINUTE)


async def list_of(api: Client, what: str, name: str) -> list[Any]:
    return [each async for page in pages(api, periodic("s", f"/{what}"), name, limit="2") for each in page]


async def test_a_pause_says_why_who_and_until_when(moved: World, moved_api: Client, scheduler: Scheduler) -> None:
    until_ms = START_MS + 3 * MINUTE + 1
    body = {"reason": "the disk is full", "by": "ops", "until_ms": until_ms}
    paused = await body_of(await moved_api.post(PAUSE, json=body, headers={"X-Headgate-By": "not asked"}))
    assert (paused["paused"], paused["next_run_ms"]) == (True, None)
    assert paused["pause"] == body | {"since_ms": START_MS}
    assert await body_of(await moved_api.get(URL)) == paused
    again = await body_of(await moved_api.post(PAUSE, json={"reason": None, "until_ms": None}))
    assert again["pause"] == {"reason": None, "by": None, "since_ms": START_MS, "until_ms": None}
    await body_of(await moved_api.post(PAUSE, json=body))
    await moved.set_clock(until_ms)
    await scheduler.sweep()
    resumed = await body_of(await moved_api.get(URL))
    assert (resumed["paused"], resumed["pause"], resumed["last_tick_ms"]) == (False, None, START_MS + 3 * MINUTE)


@pytest.mark.parametrize(("missed", "fired"), [(None, []), ("none", []), ("run_once", [5]), ("backfill", [4, 5])])
async def test_a_resume_fires_what_was_asked_for(
    moved: World, moved_api: Client, scheduler: Scheduler, missed: str | None, fired: list[int]
) -> None:
    await body_of(await moved_api.put(URL, json=SCHEDULE | {"backfill_limit": 2}))
    await pause_for(moved, moved_api, 5)
    resumed = await body_of(await moved_api.post(RESUME, json={"missed": missed} if missed else None))
    assert (resumed["paused"], resumed["pause"]) == (False, None)
    await scheduler.sweep()
    assert await moved.queued() == [f"sched-s-{START_MS + number * MINUTE}" for number in fired]
    unrun = {"from_ms": START_MS + MINUTE, "until_ms": START_MS + (5 - len(fired)) * MINUTE}
    [gap] = (await body_of(await moved_api.get(periodic("s", "/gaps"))))["gaps"]
    assert gap == unrun | {"reason": "paused", "spec": SCHEDULE["spec"], "count": 5 - len(fired)}
    events = (await body_of(await moved_api.get(periodic("s", "/enqueue-events"))))["events"]
    assert (events[-1]["reason"], events[-1]["discarded"]["from_ms"]) == ("paused", unrun["from_ms"])


async def test_a_schedule_that_is_not_paused_is_not_resumed(api: Client) -> None:
    before = await body_of(await api.put(URL, json=SCHEDULE), 201)
    await problem_of(await api.post(RESUME), 409, "not_paused")
    assert await body_of(await api.get(URL)) == before


async def test_a_backfill_makes_up_for_a_gap_once(moved: World, moved_api: Client, scheduler: Scheduler) -> None:
    await moved.advance(MINUTE)
    await scheduler.sweep()
    await pause_for(moved, moved_api, 5)
    before = await body_of(await moved_api.post(RESUME))
    wanted = {"after_ms": START_MS, "until_ms": START_MS + 5 * MINUTE}
    nothing = {"unknown": 0, "stopped_by": None, "more_after_ms": None, "replayed": False}

    dry = await body_of(await moved_api.post(BACKFILL, json=wanted | {"dry_run": True}))
    assert dry == {"dry_run": True, "ticks": ticks(2, 5), "already_ran": 1} | nothing
    assert len(await moved.queued()) == 1

    done = await body_of(await moved_api.post(BACKFILL, json=wanted | {"by": "ops"}, headers=key()))
    assert done == {"dry_run": False, "ticks": ticks(2, 5), "already_ran": 1} | nothing
    assert set(await moved.queued()) == {f"sched-s-{tick}" for tick in ticks(1, 5)}
    again = await moved_api.post(BACKFILL, json=wanted | {"by": "ops"}, headers=key())
    assert again.headers["Idempotency-Replayed"] == "true"
    assert await body_of(again) == done | {"replayed": True}
    other = await body_of(await moved_api.post(BACKFILL, json=wanted, headers=key("key-2")))
    assert other == {"dry_run": False, "ticks": [], "already_ran": 5} | nothing
    shorter = wanted | {"until_ms": START_MS + 4 * MINUTE}
    refused = await moved_api.post(BACKFILL, json=shorter, headers=key())
    await problem_of(refused, 422, "idempotency_key_reused", "Idempotency-Key")

    [gap] = (await body_of(await moved_api.get(periodic("s", "/gaps"))))["gaps"]
    assert (gap["from_ms"], gap["until_ms"]) == (START_MS + 6 * MINUTE, START_MS + 6 * MINUTE)
    assert await body_of(await moved_api.get(URL)) == before
    runs = await list_of(moved_api, "manual-runs", "runs")
    first, last = ticks(2, 5)[0], ticks(2, 5)[-1]
    made_up: dict[str, Any] = {"trigger": "backfill", "outcome": "enqueued", "by": "ops", "job_id": f"sched-s-{first}"}
    made_up |= {"tick_ms": first, "from_ms": first, "until_ms": last, "count": 4}
    assert runs == [made_up | {"schedule_id": "s", "recorded_at_ms": START_MS + 6 * MINUTE}]


@pytest.mark.usefixtures("scheduler")
async def test_hooks_have_their_say_in_a_backfill(moved: World) -> None:
    seen: list[tuple[str, int | None]] = []

    async def before(job: Enqueueing) -> None:
        seen.append((job.trigger, job.tick_ms))
        job.payload = "the hook's"
        if job.tick_ms == START_MS + 3 * MINUTE:
            raise SkipTick("not this one")

    hooks = Hooks()
    hooks.before.append(before)
    async with serving(moved.store, hooks) as api:
        await pause_for(moved, api, 4)
        await body_of(await api.post(RESUME))
        wanted = {"after_ms": START_MS, "until_ms": START_MS + 4 * MINUTE}
        done = await body_of(await api.post(BACKFILL, json=wanted, headers=key()))
        assert done["ticks"] == ticks(1, 2)
        assert (done["stopped_by"], done["more_after_ms"]) == ("hook_skipped", START_MS + 3 * MINUTE)
        assert seen == [("backfill", tick) for tick in ticks(1, 4)]
        job = await body_of(await api.get(f"/api/v1/jobs/sched-s-{START_MS + MINUTE}?include_payload=true"))
        assert job["payload"] == "the hook's"


async def test_a_run_says_who_asked(api: Client) -> None:
    await body_of(await api.put(URL, json=SCHEDULE), 201)
    asked: tuple[tuple[dict[str, str], Any, str | None], ...] = (
        ({}, None, None),
        ({"X-Headgate-By": "Zoë"}, None, "Zoë"),
        ({"X-Headgate-By": "Zoë"}, {"by": None}, "Zoë"),
        ({"X-Headgate-By": "Zoë"}, {"by": "ops"}, "ops"),
    )
    made = []
    for number, (headers, body, who) in enumerate(asked):
        response = await api.post(RUN, json=body, headers=headers | key(f"k{number}"))
        made.append(((await body_of(response, 202))["job_id"], who))
        await body_of(await api.post(RUN, json=body, headers=headers | key(f"k{number}")), 202)
    runs = await list_of(api, "manual-runs", "runs")
    assert [(run["job_id"], run["by"]) for run in runs[::-1]] == made
    assert {(run["trigger"], run["tick_ms"], run["outcome"]) for run in runs} == {("manual", None, "enqueued")}


@pytest.mark.usefixtures("scheduler")
async def test_changes_say_who_changed_what(moved: World, moved_api: Client) -> None:
    zoe = {"X-Headgate-By": "Zoë"}
    await body_of(await moved_api.put(URL, json=SCHEDULE | {"payload": SECRET * 2, "queue": "mail", "by": "ops"}))
    await moved.advance(1)
    await body_of(await moved_api.post(PAUSE, json={"reason": "why not"}, headers=zoe))
    await body_of(await moved_api.post(RESUME, json={"by": "ops"}))
    assert (await moved_api.delete(URL, headers=zoe)).status == 204
    changes = await list_of(moved_api, "changes", "changes")
    assert [(change["what"], change["by"]) for change in changes[::-1]] == [
        ("created", "Zoë"),
        ("updated", "ops"),
        ("paused", "Zoë"),
        ("resumed", "ops"),
        ("deleted", "Zoë"),
    ]
    assert [change["at_ms"] for change in changes] == [START_MS + 1] * 3 + [START_MS] * 2
    assert changes[3]["fields"] == {"payload": [], "queue": ["default", "mail"]}
    assert changes[2]["fields"]["reason"] == [None, "why not"]
    assert SECRET not in str(changes)


@pytest.mark.parametrize("what", ["manual-runs", "changes", "gaps"])
async def test_an_id_that_never_existed_has_nothing(api: Client, what: str) -> None:
    page = await body_of(await api.get(periodic("never", f"/{what}")))
    assert [value for value in page.values() if value] == []


async def test_an_explanation_has_a_code_and_a_sentence(moved: World, moved_api: Client, scheduler: Scheduler) -> None:
    await moved.advance(MINUTE)
    await scheduler.sweep()
    body = {"reason": "the disk is full", "by": "ops"}
    await body_of(await moved_api.post(PAUSE, json=body))
    await moved.advance(2 * MINUTE)
    await body_of(await moved_api.post(RESUME))
    codes = {}
    for minute in (0, 1, 2, 3, 4):
        params = {"tick_ms": str(START_MS + minute * MINUTE)}
        found = await body_of(await moved_api.get(periodic("s", "/explain"), params=params))
        assert found["sentence"]
        assert SECRET not in str(found)
        codes[minute] = found["code"]
    assert [codes[minute] for minute in (1, 2, 3, 4)] == ["enqueued", "paused", "paused", "not_due"]


@pytest.mark.usefixtures("scheduler")
async def test_double_clicks_enqueue_nothing_twice(moved: World, moved_api: Client) -> None:
    await pause_for(moved, moved_api, 250)
    await body_of(await moved_api.post(RESUME))
    wanted = {"after_ms": START_MS, "until_ms": START_MS + 250 * MINUTE}
    clicks = [moved_api.post(BACKFILL, json=wanted, headers=key()) for _ in range(5)]
    answers = await asyncio.gather(*clicks)
    for response in answers:
        assert (await body_of(response))["ticks"] == ticks(1, 250)
    again = await body_of(await moved_api.post(BACKFILL, json=wanted, headers=key()))
    assert (again["ticks"], again["replayed"]) == (ticks(1, 250), True)
    assert set(await moved.queued()) == {f"sched-s-{tick}" for tick in ticks(1, 250)}
    assert (await body_of(await moved_api.get(periodic("s", "/gaps"))))["gaps"] == []
