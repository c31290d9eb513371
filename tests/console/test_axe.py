"""Accessibility: axe finds nothing on any page, in either theme, empty, full, and when something is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from headgate.http.access import Access, Tokens
from headgate.models import JobRequest
from tests.console.browser import Browser, Page, Watcher, expect, opened
from tests.console.stage import QUICK, Stage, staged
from tests.console.telling import pages_of, telling
from tests.http.access.stage import file_of
from tests.support.servers import PrivateServer

pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

from axe_playwright_python.async_playwright import Axe

PLACES = ("schedules", "upcoming", "jobs", "queues", "quarantine", "system")
TABS = ("trail", "next", "runs", "gaps", "changes", "explain")
both_themes = pytest.mark.parametrize("theme", ["light", "dark"])
AXE = Axe()


@asynccontextmanager
async def themed(browser: Browser, stage: Stage, theme: str) -> AsyncIterator[tuple[Page, Watcher]]:
    """With the page's policy out of the way, for axe's own script; that it refuses nothing, all other tests see."""
    async with opened(browser, stage.address, color_scheme=theme, bypass_csp=True, reduced_motion="reduce") as both:
        yield both


async def look(page: Page, name: str) -> list[str]:
    """What axe finds, and whether the page is wider than its window."""
    found = await AXE.run(page, options={"resultTypes": ["violations"]})
    wrong = [
        f"{name}: {each['id']}: {[node['html'][:150] for node in each['nodes']][:3]}"
        for each in found.response["violations"]
    ]
    if await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        wrong.append(f"{name}: wider than its window")
    return wrong


async def show(page: Page, path: str) -> None:
    """Another view, once it has read what it shows."""
    await page.evaluate("(path) => { location.hash = path }", path)
    await expect(page.locator("main h1")).to_be_visible()
    await expect(page.locator("main .loading")).to_have_count(0)


async def look_at(page: Page, paths: Sequence[str], theme: str) -> None:
    """Once in a wide window, and once in a narrow one: colours are the same in both."""
    await page.goto("/")
    wrong: list[str] = []
    for path in paths:
        await show(page, path)
        wrong += await look(page, path)
    if theme == "light":
        await page.set_viewport_size({"width": 360, "height": 800})
        for path in paths:
            await show(page, path)
            wrong += await look(page, f"{path} at 360 px")
    assert not wrong, "\n".join(wrong)


@both_themes
async def test_axe_finds_nothing_where_there_is_nothing(browser: Browser, stage: Stage, theme: str) -> None:
    """Nobody schedules, and nothing is there or it is gone."""
    async with themed(browser, stage, theme) as (page, watcher):
        watcher.provokes("status of 404")
        await look_at(page, [*(f"#/{place}" for place in PLACES), "#/schedules/nobody", "#/jobs/nobody"], theme)


@both_themes
async def test_axe_finds_nothing_where_nothing_happened_yet(browser: Browser, stage: Stage, theme: str) -> None:
    """Schedules without a past, a herd of them; a search that finds none."""
    for number in range(12):
        await stage.world.put(f"digest-{number}", "0 9 * * *")
    async with themed(browser, stage, theme) as (page, _):
        tabs = [f"#/schedules/digest-0?tab={tab}" for tab in TABS]
        await look_at(page, [*tabs, "#/upcoming?within=24h", "#/schedules?prefix=x", "#/schedules"], theme)


@pytest.mark.timeout(180)
@both_themes
async def test_axe_finds_nothing_where_there_is_everything(browser: Browser, stage: Stage, theme: str) -> None:
    async with telling(stage), themed(browser, stage, theme) as (page, watcher):
        watcher.provokes("status of 404")
        pages = await pages_of(stage)
        assert sum(name.startswith("job-") for name in pages) == 10  # one of each state, and one that is gone
        alike = [f"jobs-{state}" for state in ("available", "cancelled", "completed", "scheduled", "undecodable")]
        await look_at(page, [path for name, path in pages.items() if name not in alike], theme)


DIALOGS = {
    "#/schedules": ["New schedule", "Enqueue now", "Pause"],
    "#/schedules/digest": ["Edit", "Delete", "Enqueue now", "Pause"],
    "#/schedules/digest?tab=gaps": ["Backfill a range…"],
    "#/schedules/held": ["Resume"],
    "#/queues": ["Pause mail", "Limits of mail"],
    "#/jobs?queue=mail&state=available": ["Cancel one", "Delete one"],
    "#/jobs/one": ["Bar this content"],
    "#/quarantine": ["Bar a fingerprint", "Release " + "ab" * 16, "Note on " + "ab" * 16],
}


@both_themes
async def test_axe_finds_nothing_in_any_dialog(browser: Browser, stage: Stage, theme: str) -> None:
    """Nor in the help."""
    await stage.world.put("digest", "0 9 * * *")
    await stage.world.put("held", "0 9 * * *")
    await stage.world.store.control.pause("held", reason="for now")
    await stage.world.store.producer.enqueue(JobRequest(kind="report", queue="mail", id="one"))
    await stage.world.store.quarantine.add("ab" * 16)
    wrong: list[str] = []
    async with themed(browser, stage, theme) as (page, _):
        await page.goto("/")
        for path, openers in DIALOGS.items():
            await show(page, path)
            for name in openers:
                await page.get_by_role("button", name=name, exact=True).first.click()
                await expect(page.get_by_role("dialog")).to_be_visible()
                await expect(page.locator("dialog .loading")).to_have_count(0)
                wrong += await look(page, f"{path} {name}")
                await page.keyboard.press("Escape")
                await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.get_by_role("button", name="keyboard help").click()
        wrong += await look(page, "help")
    assert not wrong, "\n".join(wrong)


@both_themes
async def test_axe_finds_nothing_where_something_is_wrong(
    browser: Browser, own_server: PrivateServer, theme: str
) -> None:
    """The store away, on each page; a form that is refused; a problem in a dialog."""
    async with staged(own_server.url, settings=QUICK) as stage:
        await stage.world.put("digest", "0 9 * * *")
        async with themed(browser, stage, theme) as (page, watcher):
            watcher.provokes("status of (400|503)")
            await page.goto("/#/schedules/digest")
            await page.get_by_role("button", name="Edit").click()
            await page.locator("dialog [name=spec]").fill("no spec")
            await expect(page.locator("dialog [aria-invalid=true]")).to_have_count(1)
            wrong = await look(page, "a spec that is none")
            await page.locator("dialog [name=spec]").fill("0 10 * * *")
            await expect(page.locator("dialog [aria-invalid=true]")).to_have_count(0)
            own_server.kill()
            await page.get_by_role("button", name="Save").click()
            await expect(page.locator("dialog .note.bad").last).to_be_visible()
            wrong += await look(page, "a problem in a dialog")
            await page.keyboard.press("Escape")
            await expect(page.locator(".alive")).to_have_attribute("data-tone", "bad")
            for place in PLACES:
                await page.evaluate("(path) => { location.hash = path }", f"#/{place}")
                await expect(page.locator("main .note.bad").first).to_be_visible()
                wrong += await look(page, f"{place} without a store")
    assert not wrong, "\n".join(wrong)


@both_themes
async def test_axe_finds_nothing_where_one_logs_in(
    browser: Browser, server: PrivateServer, tmp_path: Path, theme: str
) -> None:
    """Before a token is shown, and after a wrong one."""
    access = Access(tokens=Tokens(file=file_of(tmp_path / "tokens.toml")))
    async with staged(server.url, access=access) as stage, themed(browser, stage, theme) as (page, watcher):
        watcher.provokes("status of 401")
        await page.goto("/")
        await expect(page.get_by_role("heading", name="Headgate")).to_be_visible()
        wrong = await look(page, "log-in")
        await page.locator("[name=token]").fill("hg_nobody-0123456789")
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        wrong += await look(page, "log-in refused")
    assert not wrong, "\n".join(wrong)
