"""Reports that the store does not take: said again until it does, or until patience ends for all of them at once."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import anyio
import pytest

import headgate
from headgate import reporter
from headgate.errors import StoreError, StoreUnavailable
from headgate.reporter import Reporter
from headgate.store.attempts import Attempts, Report
from tests.support.servers import PrivateServer
from tests.support.worlds import World, wait_until
from tests.workers.conftest import QUICK, FakeAttempts, claim_of

PATIENCE_MS = 5_000


class Clock:
    """Where the reporter looks for the time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(reporter, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(reporter, "_SAY_AGAIN_S", 0.001)


class Away(FakeAttempts):
    """Does not answer; or refuses some with 'broken'."""

    mended = False
    answer: str | None = None

    async def finish(self, reports: Sequence[Report]) -> list[str]:
        states = await super().finish(reports)
        await anyio.sleep(0.001)
        if self.mended:
            return states
        if self.answer is None:
            raise StoreUnavailable("no answer")
        return [self.answer if report.claim.id.startswith("bad") else report.verdict for report in reports]


async def tell_all(
    it: Reporter, names: Sequence[str], failures: list[StoreError], told: list[str], tasks: anyio.abc.TaskGroup
) -> None:
    async def tell(name: str) -> None:
        try:
            told.append(await it.tell(Report(claim_of(name), "completed")))
        except StoreError as error:
            failures.append(error)

    for name in names:
        tasks.start_soon(tell, name)
    await anyio.sleep(0.05)


async def test_when_its_patience_ends_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not each for a call of its own: the end of a worker is bounded, however many jobs it had."""
    clock, attempts, failures, told = Clock(monkeypatch), Away(), list[StoreError](), list[str]()
    it = Reporter(cast("Attempts", attempts), PATIENCE_MS)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            await tell_all(it, [f"j{number}" for number in range(500)], failures, told, tasks)
            clock.now += 3600
            await anyio.sleep(0.05)
            assert failures == [], "while it is not in a hurry, it waits for ever"
            it.hurry()
            clock.now += PATIENCE_MS / 1000 - 0.1
            await anyio.sleep(0.05)
            assert failures == []
            calls = len(attempts.reports)
            clock.now += 0.2
    assert len(failures) == 500
    assert told == []
    assert len(attempts.reports) - calls <= 2
    assert max(attempts.reports) == 200


@pytest.mark.parametrize("mended", [True, False])
async def test_a_queue_that_cannot_take_its_report_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, mended: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Others are taken meanwhile, and the wait ends like any other."""
    clock, attempts, failures, told = Clock(monkeypatch), Away(), list[StoreError](), list[str]()
    attempts.answer = "broken"
    it = Reporter(cast("Attempts", attempts), PATIENCE_MS)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            await tell_all(it, ["bad1", "good1", "bad2", "good2"], failures, told, tasks)
            assert (told, failures) == (["completed"] * 2, [])
            if mended:
                attempts.mended = True
            else:
                it.hurry()
                clock.now += PATIENCE_MS / 1000 + 0.1
    assert (len(told), len(failures)) == ((4, 0) if mended else (2, 2))
    assert "job.report_refused" in caplog.text


@pytest.mark.damages_store("a foreign type in place of a set")
async def test_a_job_whose_queue_cannot_take_its_end_runs_once_and_is_told_when_that_is_mended(
    here: World, app: headgate.Headgate
) -> None:
    runs = 0

    @app.actor("test")
    async def test() -> None:
        nonlocal runs
        runs += 1

    key = here.keys("state", "default", "completed")
    await here.client.set(key, "foreign")
    async with app.run():
        job_id = (await app.enqueue("test")).job_id
        await anyio.sleep(QUICK.lease_ttl_ms / 1000 * 2)  # its lease goes on
        job = await app.jobs.get(job_id)
        assert (runs, job.state, job.crash_attempt) == (1, "running", 0)
        await here.client.delete(key)

        async def done() -> bool:
            return (await app.jobs.get(job_id)).state == "completed"

        await wait_until(done)
    assert runs == 1
    assert (await here.store.quarantine.list()).quarantines == []


async def test_an_end_without_an_answer_of_the_store_takes_no_longer_for_a_hundred_jobs(
    own_server: PrivateServer,
) -> None:
    """The grace, the life of a lease, and a call or two."""
    app, begun = headgate.Headgate(own_server.url, settings=QUICK), 0

    @app.actor("test")
    async def test() -> None:
        nonlocal begun
        begun += 1
        await anyio.sleep(0.3)

    async def all_begun() -> bool:
        return begun == 100

    try:
        async with app.run(concurrency=100, shutdown_grace=0.5):
            await app.enqueue_many([app.request("test") for _ in range(100)])
            await wait_until(all_begun)
            own_server.signal(signal.SIGSTOP)
            await anyio.sleep(0.5)
            stopped = time.monotonic()
        took = time.monotonic() - stopped
    finally:
        own_server.signal(signal.SIGCONT)
    assert took < 0.5 + QUICK.lease_ttl_ms / 1000 + 4 * QUICK.call_timeout_ms / 1000 + 3
