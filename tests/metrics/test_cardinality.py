"""Labels are bounded: no id is one, and what others may name at will is cut off."""

from __future__ import annotations

from collections import Counter as Tally

from headgate import metrics
from headgate.models import JobRequest
from headgate.settings import MAX_PAGE
from tests.jobs.acts import enqueue_many
from tests.metrics.conftest import all_counted, exposed
from tests.metrics.test_working import worker_on
from tests.support.worlds import World

MINUTE = 60_000


async def test_many_schedules_and_jobs_make_no_more_series_than_few(moved: World) -> None:
    """Nor does any of their ids stand in a label."""
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)

    async def series_after(schedules: range) -> int:
        for number in schedules:
            await moved.put(f"an-id-{number}", payload={})
        await moved.own_the_duty(scheduler)
        await moved.advance(MINUTE)
        while await scheduler.sweep() == 0:
            pass
        await worker_on(moved, concurrency=200).run_ready()
        seen = await exposed(moved.store)
        assert not [each for each in seen if "an-id" in str(each.labels)]
        return len(seen)

    few = await series_after(range(1))
    assert await series_after(range(1, 300)) == few


async def test_many_queues_are_cut_off(moved: World) -> None:
    """A process tells 100 apart, what stands in the store is told of 200; the rest is not lost to the sums."""
    queues = [f"q{number:03}" for number in range(250)]
    for begin in range(0, len(queues), 50):
        some = queues[begin : begin + 50]
        await moved.store.producer.enqueue_many([JobRequest(kind="test", queue=queue) for queue in some])
        await worker_on(moved, queues=some, concurrency=50).run_ready()
    await enqueue_many(moved, 1)
    told = all_counted("headgate_attempts_total")
    assert len(told) == metrics._MAX_QUEUES + 1
    assert told["other", "completed"] == 150
    assert sum(told.values()) == 250
    seen = Tally(each.name for each in await exposed(moved.store))
    assert seen["headgate_jobs"] == MAX_PAGE * 9
    assert seen["headgate_attempt_seconds_count"] == metrics._MAX_QUEUES + 1
    assert seen.total() < 6_000


def test_requests_are_told_by_template_method_and_status() -> None:
    metrics.observe_request("GET", "/api/v1/jobs/{job_id}", 200, 0.02)
    metrics.observe_request("GET", "/api/v1/jobs/{job_id}", 404, 0.02)
    metrics.observe_request("GET", "/api/v1/jobs/{job_id}", 404, 3)
    assert all_counted("headgate_http_requests_total") == {
        ("GET", "/api/v1/jobs/{job_id}", "200"): 1,
        ("GET", "/api/v1/jobs/{job_id}", "404"): 2,
    }
    buckets = all_counted("headgate_http_request_seconds_bucket")
    assert buckets["GET", "/api/v1/jobs/{job_id}", "0.025"] == 2
    assert buckets["GET", "/api/v1/jobs/{job_id}", "5.0"] == 3


def test_methods_and_routes_that_callers_make_up_are_other() -> None:
    for number in range(500):
        metrics.observe_request(f"M{number}", f"/{number}", 404, 0.01)
    told = all_counted("headgate_http_requests_total")
    assert len(told) == metrics._MAX_ROUTES + 1
    assert {method for method, _, _ in told} == {"other"}
    assert told["other", "other", "404"] == 500 - metrics._MAX_ROUTES
