"""What a schedule did not do: gaps, made up for after a dry run, and ticks that explain themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.console.browser import Browser, Page, Watcher, expect, opened
from tests.console.stage import Stage
from tests.support.worlds import START_MS

MINUTE_MS = 60_000


@pytest_asyncio.fixture(loop_scope="session")
async def opening(browser: Browser, still: Stage) -> AsyncIterator[tuple[Page, Watcher]]:
    """On a schedule of each minute that was paused for ten."""
    world = still.world
    await world.put("digest", "* * * * *", kind="report")
    await world.store.control.pause("digest", reason="the mail server moves", by="zoe")
    await world.advance(10 * MINUTE_MS + 1_000)
    await world.store.control.resume("digest", by="zoe")
    async with opened(browser, still.address) as both:
        yield both


async def test_a_gap_is_made_up_for_after_a_dry_run(still: Stage, page: Page, watcher: Watcher) -> None:
    """The dry run says how many before anything is done, and a double click does it once."""
    await page.goto("/#/schedules/digest?tab=gaps")
    row = page.locator("tbody tr")
    await expect(row).to_contain_text("10 ticks")
    await row.get_by_role("button", name="Backfill").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("10 ticks would become jobs.")).to_be_visible()
    assert await still.world.queued() == []
    await dialog.get_by_role("button", name="Enqueue 10 jobs").dblclick()
    await expect(dialog.get_by_role("heading")).to_have_text("10 jobs of digest enqueued")
    await dialog.get_by_role("button", name="Close").click()
    await expect(page.get_by_role("heading", name="No gap")).to_be_visible()
    ticks = [START_MS + number * MINUTE_MS for number in range(1, 11)]
    assert await still.world.queued() == [f"sched-digest-{tick}" for tick in ticks]
    bodies = watcher.count("POST /api/v1/periodic/digest/backfill")
    assert bodies == 2  # the dry run and the real one
    await page.get_by_role("link", name="Runs by hand").click()
    await expect(page.locator("tbody tr")).to_contain_text("10 ticks")


async def test_a_tick_explains_why_it_did_not_run(page: Page) -> None:
    """From its gap to the sentence: who paused it, and why."""
    await page.goto("/#/schedules/digest?tab=gaps")
    await page.locator("tbody tr a").first.click()
    card = page.locator(".card")
    await expect(card.get_by_role("heading")).to_contain_text("paused")
    await expect(card).to_contain_text("zoe")
    await expect(card).to_contain_text("the mail server moves")
    await page.locator("[name=zone]").select_option("UTC")
    await expect(page.locator("[name=tick]")).to_have_value("2027-01-15T08:01")
    await page.locator("[name=tick]").fill("2027-01-15T08:01:30")
    await expect(card.get_by_role("heading")).not_to_contain_text("paused")  # no tick at all


async def test_next_ticks_are_shown_on_three_clocks_with_changes_marked(still: Stage, page: Page) -> None:
    """The schedule's zone, UTC and the viewer's own; a skipped hour is marked in words."""
    await still.world.put("berlin", "CRON_TZ=Europe/Berlin 30 2 * * *", kind="report")
    await page.goto("/#/schedules/berlin?tab=next&n=100")
    heads = page.locator("main thead th")
    await expect(heads).to_have_text(
        ["In Europe/Berlin", "In UTC", "Here, in America/New_York", "From now", "Clock changes"]
    )
    await expect(page.locator("tbody tr")).to_have_count(100)
    await expect(page.locator("tbody tr", has_text="A clock change")).to_have_count(1)
