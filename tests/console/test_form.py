"""The form: what is wrong is said where it is typed, and nobody overwrites what somebody else wrote meanwhile."""

from __future__ import annotations

from headgate.models import ScheduleDefinition
from tests.console.browser import Page, Watcher, expect
from tests.console.stage import Stage


async def test_a_conflict_shows_what_changed_meanwhile_and_loses_neither_side(
    stage: Stage, page: Page, watcher: Watcher
) -> None:
    """A 412; going on keeps what I changed, and takes theirs of the rest."""
    await stage.world.put("digest", "@every:3600000", kind="report", payload={"what": "first"})
    watcher.provokes("status of 412")
    await page.goto("/#/schedules/digest")
    await page.get_by_role("button", name="Edit").click()
    form = page.get_by_role("dialog")
    await form.locator("[name=description]").fill("what I typed")
    theirs = ScheduleDefinition(kind="report", spec="@every:7200000", payload={"what": "second"})
    await stage.world.store.schedules.put("digest", theirs)
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_role("heading", name="It was changed meanwhile")).to_be_visible()
    told = form.get_by_role("alert")
    await expect(told.locator("tbody tr")).to_have_count(2)
    await expect(told).to_contain_text("@every:7200000")
    await expect(told).to_contain_text("second")
    assert (await stage.world.store.schedules.get("digest")).description == ""
    await told.get_by_role("button", name="Keep my changes").click()
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("digest is saved.")).to_be_visible()
    saved = await stage.world.store.schedules.get("digest")
    assert (saved.description, saved.spec, saved.payload) == ("what I typed", "@every:7200000", {"what": "second"})


async def test_a_field_says_what_is_wrong_with_it_and_nothing_is_lost(
    stage: Stage, page: Page, watcher: Watcher
) -> None:
    """A spec that is none is told by the server as one types; payload that is no JSON is not even sent."""
    watcher.provokes("status of 400")
    await page.goto("/#/schedules")
    await page.get_by_role("button", name="New schedule").click()
    form = page.get_by_role("dialog")
    await form.locator("[name=id]").fill("digest")
    await form.locator("[name=kind]").fill("report")
    await form.locator("[name=spec]").fill("0 25 * * *")
    await expect(form.locator("[name=spec]")).to_have_attribute("aria-invalid", "true")
    await form.locator("[name=payload]").fill("{")
    await form.get_by_role("button", name="Create").click()
    await expect(form.locator("[name=payload]")).to_be_focused()
    assert watcher.count("PUT") == 0
    await form.locator("[name=payload]").fill("12345678901234567890")
    await form.locator("[name=spec]").fill("0 9 * * MON-FRI")
    await form.get_by_role("button", name="Create").click()
    await expect(page.get_by_text("digest is created.")).to_be_visible()
    assert (await stage.world.record("digest"))["payload"] == "12345678901234567890"


async def test_an_id_that_is_taken_is_said_at_the_id(stage: Stage, page: Page, watcher: Watcher) -> None:
    """What stands there is left alone."""
    await stage.world.put("digest", "@every:3600000")
    watcher.provokes("status of 412")
    await page.goto("/#/schedules")
    await page.get_by_role("button", name="New schedule").click()
    form = page.get_by_role("dialog")
    await form.locator("[name=id]").fill("digest")
    await form.locator("[name=kind]").fill("report")
    await form.locator("[name=spec]").fill("@every:1000")
    await form.get_by_role("button", name="Create").click()
    await expect(form.get_by_text("There is a schedule with this id already.")).to_be_visible()
    assert (await stage.world.store.schedules.get("digest")).spec == "@every:3600000"


async def test_a_preview_keeps_up_with_the_time(page: Page) -> None:
    """A form may be open for long: ticks that have passed are no next ticks."""
    await page.goto("/#/schedules")
    await page.get_by_role("button", name="New schedule").click()
    await page.locator("[name=spec]").fill("@every:2000")
    first = page.locator(".peek tbody tr").first
    instant = (await first.locator("td").first.inner_text()).strip()
    await expect(first).not_to_contain_text(instant)
    await expect(page.locator(".peek tbody tr")).to_have_count(10)


async def test_a_dialog_goes_with_the_page_it_is_about(stage: Stage, page: Page) -> None:
    """By the browser's own way back as well."""
    await stage.world.put("digest", "@every:3600000", kind="report")
    await page.goto("/#/schedules")
    await page.get_by_role("link", name="digest").click()
    await page.get_by_role("button", name="Pause", exact=True).click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("heading", name="Schedules", level=1)).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)
