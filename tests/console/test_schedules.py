"""Schedules from their list and their page: made, watched, run, paused, resumed, deleted."""

from __future__ import annotations

import re

from tests.console.browser import Page, Watcher, expect, job_state
from tests.console.stage import Stage
from tests.support.worlds import wait_until


async def test_a_schedule_is_made_with_its_meaning_in_sight_fires_and_tells_of_it(
    stage: Stage, page: Page, watcher: Watcher
) -> None:
    """The form shows sentence, ten ticks and warnings; its trail grows by itself, down to the job that completed."""
    async with stage.running():
        await page.goto("/#/schedules")
        await expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
        await page.get_by_role("button", name="New schedule").click()
        form = page.get_by_role("dialog")
        await form.locator("[name=id]").fill("digest")
        await form.locator("[name=spec]").fill("CRON_TZ=Europe/Berlin 30 2 * * *")
        await expect(form.get_by_text("At 02:30", exact=False)).to_be_visible()
        await expect(form.locator(".peek tbody tr")).to_have_count(10)
        await expect(form.locator(".note.warn").first).to_be_visible()
        await form.locator("[name=spec]").fill("@every:500")
        await expect(form.locator("p[role=status]")).to_contain_text("Every 500")
        await form.locator("[name=kind]").fill("report")
        await form.locator("[name=payload]").fill('{"what": "a page made it"}')
        await form.get_by_role("button", name="Create").click()
        await expect(page.get_by_text("digest is created.")).to_be_visible()
        await expect(page).to_have_url(re.compile("#/schedules/digest$"))
        rows = page.locator("tbody tr")
        await expect(rows.nth(1)).to_contain_text("enqueued")  # and no reload brought them
        await expect(rows.locator(".badge", has_text="completed").first).to_be_visible()  # of the job, by and by
        await page.get_by_role("button", name="● Live").click()
        await rows.first.get_by_role("link", name="its job").click()
        await expect(job_state(page, "completed")).to_be_visible()
        await expect(page.get_by_text("Made by digest")).to_be_visible()
    assert watcher.count("POST /api/v1/specs/preview") >= 2


async def test_enqueue_now_by_double_click_makes_one_job(stage: Stage, page: Page, watcher: Watcher) -> None:
    """The next run stays where it is, and the manual runs have one more."""
    await stage.world.put("digest", "@every:3600000", kind="report")
    before = await stage.world.store.schedules.get("digest")
    await page.goto("/#/schedules/digest")
    await page.get_by_role("button", name="Enqueue now").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("one extra job")
    await dialog.get_by_role("button", name="Enqueue now").dblclick()
    await expect(page.get_by_text("Enqueued job-", exact=False)).to_be_visible()
    await page.get_by_role("link", name="Runs by hand").click()
    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(page.locator("tbody tr")).to_contain_text("extra run")
    assert len(await stage.world.queued()) == 1
    assert watcher.count("POST /api/v1/periodic/digest/run") == 1
    assert (await stage.world.store.schedules.get("digest")).next_run_ms == before.next_run_ms


async def test_a_pause_says_why_and_a_resume_asks_what_of_its_ticks_is_to_run(stage: Stage, page: Page) -> None:
    await stage.world.put("digest", "@every:200", kind="report")
    await page.goto("/#/schedules/digest")
    await page.get_by_role("button", name="Pause", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.locator("[name=reason]").fill("the mail server moves")
    await dialog.get_by_role("button", name="Pause", exact=True).click()
    await expect(page.get_by_text("digest is paused.")).to_be_visible()
    await expect(page.locator(".note.warn")).to_contain_text("the mail server moves")
    await expect(page.locator(".standing div", has_text="Next tick").last).to_contain_text("—")
    paused = (await stage.world.store.schedules.get("digest")).pause
    assert paused is not None
    since_ms = paused.since_ms
    assert since_ms is not None

    async def has_ticks_to_make_up_for() -> bool:
        return await stage.world.store.time_ms() > since_ms + 1_000

    await wait_until(has_ticks_to_make_up_for)
    await page.get_by_role("button", name="Resume", exact=True).click()
    await page.get_by_label("The latest one").check()
    await dialog.get_by_role("button", name="Resume", exact=True).click()
    await expect(page.get_by_text("digest is resumed.")).to_be_visible()
    await expect(page.get_by_text("the mail server moves")).to_have_count(0)
    await page.get_by_role("link", name="Gaps", exact=True).click()
    await expect(page.locator("tbody tr").first).to_contain_text("paused")
    await page.get_by_role("link", name="Changes").click()
    await expect(page.locator("tbody tr", has_text="paused").first).to_contain_text("the mail server moves")


async def test_many_are_paused_by_one_dialog_and_each_has_its_result(
    stage: Stage, page: Page, watcher: Watcher
) -> None:
    """One that went away meanwhile is named with its problem; the others are paused."""
    for name in ("a", "b", "c", "d"):
        await stage.world.put(f"mail-{name}", "@every:3600000")
    await page.goto("/#/schedules")
    for name in ("a", "b", "c"):
        await page.get_by_label(f"select mail-{name}").check()
    await expect(page.get_by_text("3 schedules selected")).to_be_visible()
    await page.get_by_role("toolbar").get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    await dialog.locator("[name=reason]").fill("one reason for all")
    await stage.world.store.schedules.delete("mail-b")
    await dialog.get_by_role("button", name="Pause", exact=True).click()
    await expect(dialog.get_by_role("heading")).to_have_text("Paused 2 of 3")
    await expect(dialog.get_by_role("listitem")).to_contain_text(["mail-b"])
    await expect(dialog.get_by_role("listitem")).to_contain_text(["schedule_not_found"])
    await dialog.get_by_role("button", name="Close").click()
    await expect(page.locator("tbody tr", has_text="paused")).to_have_count(2)
    await expect(page.locator("tbody tr")).to_have_count(3)
    assert watcher.count("POST /api/v1/periodic/bulk") == 1
    found = await stage.world.store.schedules.get("mail-a")
    assert found.pause is not None
    assert found.pause.reason == "one reason for all"


async def test_delete_asks_for_the_id_and_keeps_the_history(stage: Stage, page: Page, watcher: Watcher) -> None:
    await stage.world.put("digest", "@every:3600000")
    watcher.provokes("status of 404")  # its page, read once more
    await page.goto("/#/schedules/digest")
    await page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    delete = dialog.get_by_role("button", name="Delete")
    await expect(delete).to_be_disabled()
    await dialog.locator("[name=confirm]").fill("diges")
    await expect(delete).to_be_disabled()
    await dialog.locator("[name=confirm]").fill("digest")
    await delete.click()
    await expect(page.get_by_text("digest is deleted.")).to_be_visible()
    await expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
    await page.goto("/#/schedules/digest?tab=changes")
    await expect(page.get_by_text("There is no schedule digest.")).to_be_visible()
    await expect(page.locator("tbody tr").first).to_contain_text("deleted")


async def test_the_view_of_the_list_is_in_the_address(stage: Stage, page: Page) -> None:
    """Search, filters and order are found again by who opens the address."""
    for name in ("mail-a", "mail-b", "stock"):
        await stage.world.put(name, "@every:3600000", labels={"team": name[:4]})
    await stage.world.store.control.pause("mail-a", reason="", by="")
    await page.goto("/#/schedules")
    await page.get_by_label("id begins with").press_sequentially("mail")
    await expect(page.locator("tbody tr")).to_have_count(2)
    await page.get_by_label("pause state").select_option("paused")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.get_by_label("order").select_option("by next run")
    await expect(page).to_have_url(re.compile(r"prefix=mail.*paused=true.*order=next_run"))
    await page.reload()
    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(page.get_by_label("id begins with")).to_have_value("mail")
    await expect(page.get_by_label("pause state")).to_have_value("true")
    await page.get_by_label("pause state").select_option("any state")
    await page.get_by_label("label").fill("team=none")
    await page.get_by_label("label").press("Enter")
    await expect(page.get_by_role("heading", name="No schedule like that")).to_be_visible()


async def test_a_long_list_is_read_page_by_page(stage: Stage, page: Page) -> None:
    for number in range(60):
        await stage.world.put(f"s-{number:02}", "@every:3600000")
    await page.goto("/#/schedules")
    await expect(page.locator("tbody tr")).to_have_count(50)
    await page.get_by_role("button", name="Next page").click()
    await expect(page.locator("tbody tr")).to_have_count(10)
    await expect(page.get_by_role("link", name="s-59")).to_be_visible()
    await expect(page).to_have_url(re.compile("cursor="))
    await page.get_by_role("button", name="First page").click()
    await expect(page.get_by_role("link", name="s-00")).to_be_visible()
