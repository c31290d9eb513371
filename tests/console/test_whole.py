"""The whole in one look: what fires next, who is on duty, and the strip that goes red when nobody is."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from headgate.settings import Settings
from tests.console.browser import Browser, Page, expect, opened
from tests.console.stage import QUICK, Stage, staged
from tests.support.commands import Command
from tests.support.servers import PrivateServer

PROMISED_S = Settings().lease_ttl_ms / 1000 + 2 + 1
"""The lease of a scheduler that was killed, the time between two looks at the duties, and a second."""


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


async def test_an_address_that_names_no_page_is_said_with_those_there_are(page: Page) -> None:
    await page.goto("/#/constructor")
    await expect(page.get_by_role("heading", name="No such page")).to_be_visible()
    await expect(page).to_have_title("No such page · Headgate")
    await page.get_by_role("main").get_by_role("link", name="Queues").click()
    await expect(page.get_by_role("heading", name="Queues", level=1)).to_be_visible()


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
    browser: Browser, server: PrivateServer, tmp_path: Path, measured: Callable[[str], None]
) -> None:
    """Within its lease, the time between two looks, and a second; and calm again once another has taken over."""
    store = ("--redis", server.url, "--namespace", "killed")
    with (
        Command("serve", "--no-scheduler", "--port", "0", *store, cwd=tmp_path) as serving,
        Command("scheduler", *store, cwd=tmp_path) as first,
    ):
        first.line(r"duty\.acquired duty=scheduler")
        async with opened(browser, serving.address) as (page, _):
            strip = page.locator(".alive")
            await page.goto("/#/schedules")
            await expect(strip).to_have_attribute("data-tone", "good")
            first.send(signal.SIGKILL)
            killed = time.monotonic()
            await expect(strip).to_have_attribute("data-tone", "bad")
            took_s = time.monotonic() - killed
            await expect(strip).to_contain_text("Nobody schedules")
            measured(
                f"console: the strip is red {took_s:.1f} s after kill -9 of the scheduler; {PROMISED_S:.0f} s promised"
            )
            assert took_s < PROMISED_S + 3  # on a machine that runs other tests beside
            with Command("scheduler", *store, cwd=tmp_path):
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
        await page.get_by_role("button", name="Enqueue now").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Enqueue now").click()
        problem = dialog.get_by_role("alert")
        await expect(problem).to_contain_text("store_unavailable")
        await expect(problem).to_contain_text("request")
        await anyio.to_thread.run_sync(own_server.start)
        await expect(strip).to_have_attribute("data-tone", "good")
        await dialog.get_by_role("button", name="Enqueue now").click()
        await expect(page.get_by_text("Enqueued job-")).to_be_visible()


async def test_a_server_that_does_not_answer_is_said(browser: Browser, server: PrivateServer) -> None:
    async with staged(server.url) as stage, opened(browser, stage.address) as (page, watcher):
        await page.goto("/#/schedules")
        await expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
        watcher.provokes("ERR_INTERNET_DISCONNECTED")
        await page.context.set_offline(offline=True)
        await expect(page.locator(".alive")).to_contain_text("The server does not answer")
        await expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
