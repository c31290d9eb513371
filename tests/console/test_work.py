"""Jobs, queues and quarantine: looked at, steered, released."""

from __future__ import annotations

import re

from headgate.models import JobRequest
from tests.console.browser import Page, Watcher, expect, job_state
from tests.console.stage import Stage

SECRET = "words-of-a-payload"


async def test_jobs_are_found_by_queue_and_state_and_can_be_cancelled_and_retried(stage: Stage, page: Page) -> None:
    """The page without a choice shows where something is; each change shows without a reload."""
    producer = stage.world.store.producer
    await producer.enqueue(JobRequest(kind="report", queue="mail", id="now"))
    await producer.enqueue(JobRequest(kind="report", queue="mail", id="later", delay_ms=3_600_000))
    await page.goto("/#/jobs")
    await expect(page).to_have_url(re.compile("queue=mail&state=available"))
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.get_by_role("button", name="Cancel now").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
    await expect(page.get_by_text("now is cancelled.")).to_be_visible()
    await expect(page.get_by_role("heading", name="Nothing in mail is available")).to_be_visible()
    await page.get_by_role("link", name="cancelled 1").click()
    await page.get_by_role("button", name="Retry now").click()
    await expect(page.get_by_text("now may run at once.")).to_be_visible()
    await page.get_by_role("link", name="scheduled 1").click()
    await expect(page.locator("tbody tr")).to_contain_text("later")
    assert (await stage.world.store.jobs.get("now")).state == "available"


async def test_a_payload_is_read_only_when_asked_for(stage: Stage, page: Page, watcher: Watcher) -> None:
    """Neither list nor detail brings it; digits come as they were sent."""
    request = JobRequest(kind="report", id="one", payload={"note": SECRET, "number": 12345678901234567890})
    await stage.world.store.producer.enqueue(request)
    await page.goto("/#/jobs")
    await page.get_by_role("link", name="one").click()
    await expect(page.get_by_text("No process works on its queue")).to_be_visible()
    assert SECRET not in await page.content()
    assert watcher.count("include_payload") == 0
    await page.get_by_role("button", name="Read the payload").click()
    await expect(page.get_by_label("payload")).to_contain_text(SECRET)
    await expect(page.get_by_label("payload")).to_contain_text("12345678901234567890")
    await page.get_by_role("button", name="Hide the payload").click()
    assert SECRET not in await page.content()


async def test_a_job_that_fails_tells_its_attempts_and_its_error(stage: Stage, page: Page) -> None:
    async with stage.running(scheduler=False):
        await stage.world.store.producer.enqueue(JobRequest(kind="flaky", id="one", max_attempts=1))
        await page.goto("/#/jobs/one")
        await expect(job_state(page, "archived")).to_be_visible()
        await expect(page.get_by_text("1 of 1 failed")).to_be_visible()
        await expect(page.get_by_text("ConnectionError")).to_be_visible()


async def test_a_running_job_is_stopped_by_a_cancel(stage: Stage, page: Page) -> None:
    async with stage.running():
        await stage.world.store.producer.enqueue(JobRequest(kind="slow", id="one"))
        await page.goto("/#/jobs/one")
        await expect(job_state(page, "running")).to_be_visible()
        await page.get_by_role("button", name="Cancel one").click()
        await page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
        await expect(job_state(page, "cancelled")).to_be_visible()


async def test_a_queue_is_paused_limited_and_resumed(stage: Stage, page: Page) -> None:
    """And says why a job of it waits."""
    await stage.world.store.producer.enqueue(JobRequest(kind="report", queue="mail", id="one"))
    await page.goto("/#/queues")
    await page.get_by_role("button", name="Pause mail").click()
    await page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    await expect(page.get_by_text("mail is paused.")).to_be_visible()
    await page.get_by_role("button", name="Limits of mail").click()
    form = page.get_by_role("dialog")
    await form.locator("[name=concurrent]").fill("4")
    await form.locator("[name=limit]").fill("10")
    await form.locator("[name=window]").fill("60000")
    await form.get_by_role("button", name="Set limits").click()
    await expect(page.get_by_text("0 of 4 that may run at once")).to_be_visible()
    await expect(page.get_by_text("10 each 1 min")).to_be_visible()
    queue = await stage.world.store.queues.get("mail")
    assert queue.paused
    assert queue.limits.max_concurrent == 4
    await page.get_by_role("link", name="1 available").click()
    await page.get_by_role("link", name="one", exact=True).click()
    await expect(page.get_by_text("Its queue is paused.")).to_be_visible()
    await page.get_by_role("link", name="resume mail").click()
    await page.get_by_role("button", name="Resume mail").click()
    await expect(page.get_by_text("mail is resumed.")).to_be_visible()


async def test_a_quarantined_fingerprint_is_released_with_what_it_frees_said_before(stage: Stage, page: Page) -> None:
    request = JobRequest(kind="report", id="one", payload={"what": "poison"})
    _, fingerprint = request.content()
    await stage.world.store.producer.enqueue(request)
    await stage.world.store.quarantine.add(fingerprint, note="it fills the disk")
    async with stage.running(scheduler=False):
        await page.goto("/#/quarantine")
        row = page.locator("tbody tr")
        await expect(row).to_contain_text("it fills the disk")
        await expect(row).to_contain_text("1 job")  # once its turn came
        await row.get_by_role("button", name="Release").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("1 job set aside for it may run at once")
        await dialog.get_by_role("button", name="Release").click()
        await expect(page.get_by_text("Released: 1 job may run again.")).to_be_visible()
        await expect(page.get_by_role("heading", name="Nothing is in quarantine")).to_be_visible()
        await page.goto("/#/jobs/one")
        await expect(job_state(page, "completed")).to_be_visible()
