"""What changes shows by itself, costs little, and takes nothing from who is at work on the page."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import anyio
import pytest

from headgate.models import ScheduleDefinition
from tests.console.browser import Page, Watcher, expect
from tests.console.stage import Stage
from tests.support.worlds import wait_until

MANY = 10_000
LISTED = r"^GET /api/v1/periodic\?"

HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
"""As if another tab were in front, or this one again: a browser without a window has no such thing."""


async def fill(stage: Stage, count: int) -> None:
    definition = ScheduleDefinition(kind="report", spec="0 9 * * *", payload={"n": 1})

    async def put_some(numbers: range) -> None:
        for number in numbers:
            await stage.world.store.schedules.put(f"s-{number:05}", definition)

    async with anyio.create_task_group() as tasks:
        for part in range(8):
            tasks.start_soon(put_some, range(part, count, 8))


async def settled(watcher: Watcher, pattern: str) -> int:
    """How many requests fit, once none has come for a second and a half: hints are gathered for 0.4 s."""
    count, since = -1, time.monotonic()

    async def quiet() -> bool:
        nonlocal count, since
        if (now := watcher.count(pattern)) != count:
            count, since = now, time.monotonic()
        return time.monotonic() - since > 1.5

    await wait_until(quiet, seconds=30)
    return count


async def test_focus_selection_scroll_and_what_is_typed_survive_a_live_refresh(
    stage: Stage, page: Page, watcher: Watcher
) -> None:
    await fill(stage, 40)
    await page.goto("/#/schedules")
    await page.get_by_label("select s-00030").check()
    row = page.locator("[data-row]", has_text="s-00030")
    await row.focus()
    await page.evaluate("document.activeElement.dataset.mark = 'the very same element'")
    top = await page.evaluate("(scrollTo(0, 900), scrollY)")
    assert top > 0
    count = await settled(watcher, LISTED)
    await stage.world.store.control.pause("s-00030", reason="seen")
    await expect(row).to_contain_text("paused")
    assert watcher.count(LISTED) > count
    await expect(page.get_by_label("select s-00030")).to_be_checked()
    await expect(page.get_by_text("1 schedule selected")).to_be_visible()
    assert await page.evaluate("document.activeElement.dataset.mark") == "the very same element"
    assert await page.evaluate("scrollY") == top


async def test_a_dialog_that_is_open_keeps_what_was_typed(stage: Stage, page: Page) -> None:
    """While the schedule below it changes."""
    await fill(stage, 1)
    await page.goto("/#/schedules/s-00000")
    await page.get_by_role("button", name="Edit").click()
    form = page.get_by_role("dialog")
    await form.locator("[name=description]").press_sequentially("half a sen")
    await stage.world.store.control.pause("s-00000", reason="meanwhile")
    await expect(page.locator("main > section > .note.warn")).to_contain_text("meanwhile")
    await expect(form.locator("[name=description]")).to_be_focused()
    await page.keyboard.type("tence")
    await expect(form.locator("[name=description]")).to_have_value("half a sentence")


async def test_a_filter_half_typed_survives_a_live_refresh(stage: Stage, page: Page) -> None:
    await fill(stage, 2)
    await page.goto("/#/schedules")
    label = page.get_by_label("label")
    await label.press_sequentially("team=")
    await stage.world.store.control.pause("s-00001", reason="seen")
    await expect(page.locator("tbody tr", has_text="paused")).to_have_count(1)
    await expect(label).to_have_value("team=")
    await label.press_sequentially("mail")
    await label.press("Enter")
    await expect(page.get_by_role("heading", name="No schedule like that")).to_be_visible()
    await expect(label).to_have_value("team=mail")


async def test_views_stand_still_while_live_is_paused(stage: Stage, page: Page, watcher: Watcher) -> None:
    """And catch up when it is resumed."""
    await fill(stage, 2)
    await page.goto("/#/schedules")
    await page.get_by_role("button", name="● Live").click()
    await expect(page.get_by_role("button", name="Held: follow again")).to_be_visible()
    count = await settled(watcher, LISTED)
    await stage.world.store.control.pause("s-00001", reason="unseen")
    assert await settled(watcher, LISTED) == count
    await expect(page.locator("tbody tr", has_text="paused")).to_have_count(0)
    await page.get_by_role("button", name="Held: follow again").click()
    await expect(page.locator("tbody tr", has_text="paused")).to_have_count(1)


async def test_a_tab_that_nobody_sees_gives_its_stream_back(stage: Stage, page: Page, watcher: Watcher) -> None:
    """A browser has six connections to a host. It reads nothing either; looked at again, it reads all anew."""
    await fill(stage, 2)
    await page.clock.install()
    async with page.expect_response(lambda response: response.url.endswith("/stream")):
        await page.goto("/#/schedules")
    await expect(page.locator("tbody tr")).to_have_count(2)
    async with page.expect_event("requestfailed", lambda request: request.url.endswith("/stream")):
        await page.evaluate(HIDE, arg=True)
    await stage.world.store.control.pause("s-00001", reason="unseen")
    count = await settled(watcher, "GET")
    await page.clock.fast_forward("05:00")
    assert await settled(watcher, "GET") == count
    async with page.expect_response(lambda response: response.url.endswith("/stream")):
        await page.evaluate(HIDE, arg=False)
    await expect(page.locator("tbody tr", has_text="paused")).to_have_count(1)


async def test_a_theme_and_a_clock_that_were_chosen_are_kept(stage: Stage, page: Page) -> None:
    """Instants are shown on the viewer's clock, in UTC, or on the schedule's own."""
    await stage.world.put("berlin", "CRON_TZ=Europe/Berlin 0 9 * * *")
    await page.goto("/#/schedules/berlin")
    shown = page.locator(".standing time").first
    await expect(shown).to_have_attribute("title", re.compile("0[23]:00:00 America/New_York"))
    await page.get_by_label("clock").select_option("UTC")
    await expect(shown).to_have_attribute("title", re.compile("0[78]:00:00 UTC"))
    await page.get_by_label("clock").select_option("schedule's zone")
    await expect(shown).to_have_attribute("title", re.compile("09:00:00 Europe/Berlin"))
    await page.get_by_label("theme").select_option("dark")
    await page.reload()
    assert await page.evaluate("document.documentElement.dataset.theme") == "dark"
    await expect(shown).to_have_attribute("title", re.compile("09:00:00 Europe/Berlin"))


@pytest.mark.timeout(180)
async def test_ten_thousand_schedules_are_shown_at_once_and_a_change_of_five_is_one_request(
    stage: Stage, page: Page, watcher: Watcher, measured: Callable[[str], None]
) -> None:
    """Only what is looked at is read, however many there are."""
    await fill(stage, MANY)
    began = time.monotonic()
    await page.goto("/#/schedules")
    await page.locator("[data-row]").nth(49).wait_for()
    took_s = time.monotonic() - began
    measured(
        f"console: first rows of {MANY:,} schedules after {took_s * 1000:.0f} ms, browser and server on one machine"
    )
    assert took_s < 10
    before = await settled(watcher, LISTED)
    for number in range(5):
        await stage.world.store.control.pause(f"s-{number:05}", reason="five at once")
    await expect(page.locator("tbody tr", has_text="paused")).to_have_count(5)
    requests = await settled(watcher, LISTED) - before
    measured(f"console: a live update of five rows of {MANY:,} is {requests} request")
    assert requests == 1
