"""Lists of jobs: of a queue in a state, or of a schedule; complete while jobs come and go, and without payloads."""

from __future__ import annotations

import pytest

from tests.http.client import SCHEDULE, Client, body_of, enqueue, job_url, pages, periodic, problem_of
from tests.support.worlds import START_MS, World

JOBS = "/api/v1/jobs"
MINUTE = 60_000
OF_QUEUE = {"queue": "default", "state": "available", "limit": "3"}


async def listed(api: Client, **params: str) -> list[str]:
    return [job["id"] async for page in pages(api, JOBS, "jobs", **params) for job in page]


async def test_a_list_has_the_jobs_of_one_queue_in_one_state_in_their_order(moved_api: Client, moved: World) -> None:
    for name in ("a", "b", "c", "d"):
        await enqueue(moved_api, name)
        await moved.advance(1)
    await enqueue(moved_api, "urgent", priority=1)
    await enqueue(moved_api, "elsewhere", queue="q")
    await enqueue(moved_api, "later", delay_ms=MINUTE)
    for name in ("b", "d"):
        await body_of(await moved_api.post(job_url(name, "/cancel")))
        await moved.advance(1)
    assert await listed(moved_api, **OF_QUEUE) == ["urgent", "a", "c"]
    assert await listed(moved_api, queue="default", state="cancelled", limit="1") == ["d", "b"]
    assert await listed(moved_api, queue="default", state="scheduled") == ["later"]
    assert await listed(moved_api, queue="q", state="available") == ["elsewhere"]
    assert await listed(moved_api, queue="never", state="running") == []


async def test_a_list_shows_each_job_as_it_shows_alone(api: Client) -> None:
    await enqueue(api, "j", unique_key="u")
    (page,) = [page async for page in pages(api, JOBS, "jobs", **OF_QUEUE)]
    assert page == [await body_of(await api.get(job_url("j")))]


async def test_pages_are_complete_while_jobs_come_and_go(api: Client) -> None:
    stay = [await enqueue(api, f"stay-{number:02}") for number in range(10)]
    for number in range(4):
        await enqueue(api, f"leaves-{number}", priority=-1)
    seen: list[str] = []
    turn = 0
    async for page in pages(api, JOBS, "jobs", **OF_QUEUE):
        seen += [job["id"] for job in page]
        await enqueue(api, f"before-{turn}", priority=50)
        await (await api.post(job_url(f"leaves-{turn % 4}", "/cancel"))).read()
        await (await api.delete(job_url(page[-1]["id"]))).read()  # where the cursor stands
        turn += 1
    assert [name for name in seen if name.startswith("stay")] == stay
    assert len(set(seen)) == len(seen)


async def test_a_list_of_a_schedule_has_its_jobs_the_latest_first(moved_api: Client, moved: World) -> None:
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await body_of(await moved_api.put(periodic("{s}@x"), json=SCHEDULE), 201)
    await enqueue(moved_api, "another")
    for _ in range(5):
        await moved.advance(MINUTE)
        await scheduler.sweep()
    ids = [f"sched-{{s}}@x-{START_MS + number * MINUTE}" for number in (5, 4, 3, 2, 1)]
    assert await listed(moved_api, periodic_schedule_id="{s}@x", limit="2") == ids
    assert (await moved_api.delete(job_url(ids[1]))).status == 204
    assert await listed(moved_api, periodic_schedule_id="{s}@x") == [ids[0], *ids[2:]]
    assert await listed(moved_api, periodic_schedule_id="never") == []


@pytest.mark.parametrize("cursor", ["x", "MTI", "%00", "A" * 4_000, "am9icy9kZWZhdWx0L2F2YWlsYWJsZQpuYW4gag"])
@pytest.mark.parametrize("which", [OF_QUEUE, {"periodic_schedule_id": "s"}])
async def test_a_forged_cursor_is_refused(api: Client, which: dict[str, str], cursor: str) -> None:
    await problem_of(await api.get(JOBS, params=which | {"cursor": cursor}), 400, "invalid_cursor", "cursor")


async def test_a_cursor_of_another_list_is_refused(api: Client) -> None:
    for number in range(4):
        await enqueue(api, f"j{number}")
        await enqueue(api, f"q{number}", queue=f"q{number}")
        await body_of(await api.put(f"/api/v1/quarantine/{number:032x}", json={}), 201)
    of_jobs = (await body_of(await api.get(JOBS, params=OF_QUEUE)))["next_cursor"]
    of_queues = (await body_of(await api.get("/api/v1/queues?limit=1")))["next_cursor"]
    of_quarantine = (await body_of(await api.get("/api/v1/quarantine?limit=1")))["next_cursor"]
    lists = {"/api/v1/queues": of_queues, "/api/v1/quarantine": of_quarantine, "/api/v1/workers": None}
    lists |= {
        f"{JOBS}?queue=default&state=available": of_jobs,
        f"{JOBS}?queue=default&state=running": None,
        f"{JOBS}?queue=q1&state=available": None,
        f"{JOBS}?periodic_schedule_id=default": None,
    }
    for url, own in lists.items():
        for cursor in (of_jobs, of_queues, of_quarantine):
            response = await api.get(f"{url}{'&' if '?' in url else '?'}cursor={cursor}")
            if cursor == own:
                await body_of(response)
            else:
                await problem_of(response, 400, "invalid_cursor", "cursor")
