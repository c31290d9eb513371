"""Without a mouse: every place, every row, every dialog."""

from __future__ import annotations

import re

import pytest

from tests.console.browser import Page, expect
from tests.console.stage import Stage

KEYS = {"s": "Schedules", "u": "Upcoming", "j": "Jobs", "q": "Queues", "z": "Quarantine", "y": "System"}


async def test_g_and_a_letter_lead_to_each_page(page: Page) -> None:
    await page.goto("/")
    await expect(page.get_by_role("heading", name="Schedules", level=1)).to_be_visible()
    for letter, name in KEYS.items():
        await page.keyboard.press("g")
        await page.keyboard.press(letter)
        await expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


async def test_a_question_mark_tells_the_keys_and_escape_gives_the_focus_back(stage: Stage, page: Page) -> None:
    await stage.world.put("digest", "@every:3600000")
    await page.goto("/")
    await expect(page.get_by_role("link", name="digest")).to_be_visible()
    await page.keyboard.press("j")
    await expect(page.locator("[data-row]")).to_be_focused()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.locator("[data-row]")).to_be_focused()


async def test_rows_are_walked_selected_and_opened(stage: Stage, page: Page) -> None:
    for name in ("a", "b", "c"):
        await stage.world.put(name, "@every:3600000")
    await page.goto("/")
    rows = page.locator("[data-row]")
    await expect(rows).to_have_count(3)
    for key, place in (("j", 0), ("j", 1), ("j", 2), ("j", 2), ("k", 1)):
        await page.keyboard.press(key)
        await expect(rows.nth(place)).to_be_focused()
    await page.keyboard.press("x")
    await expect(page.get_by_text("1 schedule selected")).to_be_visible()
    await expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("#/schedules/b$"))


async def test_a_slash_searches_and_what_is_typed_there_is_no_command(stage: Stage, page: Page) -> None:
    for name in ("gs-one", "other"):
        await stage.world.put(name, "@every:3600000")
    await page.goto("/")
    await expect(page.locator("[data-row]")).to_have_count(2)
    await page.keyboard.press("/")
    await page.keyboard.type("gs")
    await expect(page.get_by_label("id begins with")).to_have_value("gs")
    await expect(page.locator("[data-row]")).to_have_count(1)
    await page.keyboard.press("Escape")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="gs-one")).to_be_visible()


async def test_a_schedule_is_made_paused_and_deleted_with_the_keyboard_alone(page: Page) -> None:
    """Tab reaches everything, in the order in which it is read; the focus stays in the dialog."""
    await page.goto("/")
    await expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
    await tab_to(page, "New schedule")
    await page.keyboard.press("Enter")
    await expect(page.locator("[name=id]")).to_be_focused()
    await page.keyboard.type("digest")
    await page.keyboard.press("Tab")
    await page.keyboard.type("0 9 * * MON-FRI")
    await tab_to(page, "name=kind")
    await page.keyboard.type("report")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="digest", level=1)).to_be_visible()
    await tab_to(page, "Pause")
    await page.keyboard.press("Enter")
    await expect(page.locator("[name=reason]")).to_be_focused()
    await page.keyboard.type("no mouse here")
    await page.keyboard.press("Enter")
    await expect(page.locator(".note.warn")).to_contain_text("no mouse here")
    await expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    await tab_to(page, "Delete")
    await page.keyboard.press("Enter")
    await expect(page.locator("[name=confirm]")).to_be_focused()
    await page.keyboard.type("digest")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()


async def tab_to(page: Page, what: str, *, steps: int = 60) -> None:
    """Press Tab until what has the focus says so: its text, or for ``name=…`` its name."""
    for _ in range(steps):
        if await page.evaluate(
            """(what) => what.startsWith("name=") ? document.activeElement.name === what.slice(5)
                : document.activeElement.textContent === what && document.activeElement.tagName === "BUTTON" """,
            what,
        ):
            return
        await page.keyboard.press("Tab")
    pytest.fail(f"{what} is not reached by {steps} tabs")
