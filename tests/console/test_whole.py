"""The whole in one look: what fires next, who is on duty, and the strip that goes red when nobody is."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import anyio

from tests.console.browser import Browser, Page, Watcher, expect, opened
from tests.console.stage import QUICK, Stage, staged
from tests.support.process import SchedulerProcess
from tests.support.servers import PrivateServer

LOOK_S = 2
"""How often the strip looks at the duties."""


async def test_upcoming_names_herds_and_how_far_it_is_complete(stage: Stage, page: Page) -> None:
    for number in range(12):
        await stage.world.put(f"herd-{number:02}", "*/10 * * * *")
    await stage.world.put("lone", "* * * * *")
    await page.goto("/#/upcoming?within=1h")
    await expect(page.get_by_text("many schedules at one instant")).to_be_visible()
    await expect(page.locator("tbody tr", has_text="13 schedules").first).to_be_visible()
    await page.get_by_label("Within").select_option("24 hours")
    await expect(page.get_by_text("Complete up to")).to_be_visible()
    await page.get_by_role("link", name="lone").first.click()
    await expect(page.get_by_role("heading", name="lone")).to_be_visible()


async def test_system_tells_who_is_on_duty_who_works_and_on_which_store(stage: Stage, page: Page) -> None:
    async with stage.running() as app:
        await stage.world.put("digest", "@every:3600000", kind="report")
        await page.goto("/#/system")
        await expect(page.locator(".duty", has_text="scheduler")).to_contain_text("held")
        await expect(page.locator(".duty", has_text="reclaimer")).to_contain_text("left of its lease")
        await expect(page.locator("tbody tr")).to_contain_text("0 of 10 jobs")
        await expect(page.locator(".card", has_text="Namespace")).to_contain_text(app.namespace)
        await expect(page.locator(".alive")).to_have_attribute("data-tone", "good")
        await expect(page.locator(".badge.env")).to_have_text("test")
    await expect(page.locator(".duty", has_text="scheduler")).to_contain_text("nobody")
    await expect(page.locator(".alive")).to_have_attribute("data-tone", "bad")


async def test_the_strip_is_red_soon_after_the_scheduler_was_killed(
    stage: Stage, page: Page, measured: Callable[[str], None]
) -> None:
    """Within its lease, the time between two looks, and a second; and calm again once another has taken over."""
    strip = page.locator(".alive")
    first = SchedulerProcess(stage.world)
    try:
        await page.goto("/#/schedules")
        await expect(strip).to_contain_text("Scheduling")
        first.signal(signal.SIGKILL)
        killed = time.monotonic()
        await expect(strip).to_have_attribute("data-tone", "bad")
        took_s = time.monotonic() - killed
        await expect(strip).to_contain_text("Nobody schedules")
    finally:
        first.close()
    promised_s = QUICK.lease_ttl_ms / 1000 + LOOK_S + 1
    measured(f"the strip was red {took_s:.1f} s after kill -9, of {promised_s:.1f} s promised")
    assert took_s < promised_s + 3  # on a machine that runs other tests beside
    async with stage.running(worker=False):
        await expect(strip).to_have_attribute("data-tone", "good")


async def test_a_store_that_is_away_is_said_and_what_was_seen_stays(
    browser: Browser, own_server: PrivateServer
) -> None:
    """And everything goes on by itself when it is back."""
    async with (
        staged(own_server.url, settings=QUICK) as stage,
        opened(browser, stage.address) as (page, watcher),
        stage.running(),
    ):
        watcher.provokes("status of 503")
        await stage.world.put("digest", "@every:3600000", kind="report")
        await page.goto("/#/schedules")
        strip = page.locator(".alive")
        await expect(strip).to_have_attribute("data-tone", "good")
        await expect(page.locator("tbody tr")).to_have_count(1)
        own_server.kill()
        await expect(strip).to_contain_text("The store is away")
        await expect(page.locator("tbody tr")).to_have_count(1)
        await page.get_by_role("button", name="Run", exact=True).click()
        await page.get_by_role("button", name="Enqueue now").click()
        problem = page.get_by_role("dialog").get_by_role("alert")
        await expect(problem).to_contain_text("store_unavailable")
        await expect(problem).to_contain_text("request")
        await anyio.to_thread.run_sync(own_server.start)
        await expect(strip).to_have_attribute("data-tone", "good")
        await page.get_by_role("button", name="Enqueue now").click()
        await expect(page.get_by_text("Enqueued job-")).to_be_visible()


async def test_a_server_that_does_not_answer_is_said(browser: Browser, server: PrivateServer) -> None:
    async with staged(server.url) as stage, opened(browser, stage.address) as (page, watcher):
        await page.goto("/#/schedules")
        await expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
        watcher.provokes("ERR_INTERNET_DISCONNECTED")
        await page.context.set_offline(offline=True)
        await expect(page.locator(".alive")).to_contain_text("The server does not answer")
        await expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
