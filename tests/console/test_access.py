"""Who may look, who may act, and where the console stands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from headgate.http.access import Access, Tokens
from tests.console.browser import Browser, Page, expect, opened
from tests.console.proxy import cutting_off
from tests.console.stage import Stage, staged
from tests.http.access.stage import ANNA, VERA, file_of
from tests.support.commands import Command
from tests.support.servers import PrivateServer

PLACES = ("Upcoming", "Jobs", "Queues", "Quarantine", "System", "Schedules")
CONTROLS = "main button:not(:text-matches('Try again|page|Read the payload|Show all'))"


@asynccontextmanager
async def asking(server: PrivateServer, folder: Path) -> AsyncIterator[Stage]:
    access = Access(tokens=Tokens(file=file_of(folder / "tokens.toml")))
    async with staged(server.url, access=access) as stage:
        await stage.world.put("digest", "@every:3600000", kind="report")
        yield stage


async def log_in(page: Page, token: str) -> None:
    await page.locator("[name=token]").fill(token)
    await page.get_by_role("button", name="Log in").click()


async def test_an_operator_logs_in_acts_under_the_own_name_and_logs_out(
    browser: Browser, server: PrivateServer, tmp_path: Path
) -> None:
    """A wrong token is refused in words; the view that was asked for is there after the right one."""
    async with asking(server, tmp_path) as stage, opened(browser, stage.address) as (page, watcher):
        watcher.provokes("status of 401")
        await page.goto("/#/schedules/digest?tab=changes")
        await expect(page.locator("[name=token]")).to_be_focused()
        await log_in(page, "hg_nobody-0123456789")
        await expect(page.get_by_role("alert")).to_be_visible()
        await log_in(page, ANNA)
        await expect(page.get_by_role("heading", name="digest")).to_be_visible()
        await page.get_by_role("button", name="Pause", exact=True).click()
        await page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
        await expect(page.get_by_text("Paused by anna")).to_be_visible()
        await expect(page.locator("tbody tr", has_text="paused").first).to_contain_text("anna")
        assert ANNA not in await page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
        await page.get_by_role("button", name="Log out").click()
        await expect(page.locator("[name=token]")).to_be_visible()
        await page.reload()
        await expect(page.locator("[name=token]")).to_be_visible()


async def test_a_viewer_sees_everything_and_no_control(browser: Browser, server: PrivateServer, tmp_path: Path) -> None:
    async with asking(server, tmp_path) as stage, opened(browser, stage.address) as (page, watcher):
        watcher.provokes("status of 401")
        await page.goto("/")
        await log_in(page, VERA)
        await nothing_to_press(page)


async def test_a_read_only_server_says_so_and_shows_no_control(browser: Browser, server: PrivateServer) -> None:
    async with staged(server.url, access=Access(read_only=True)) as stage:
        await stage.world.put("digest", "@every:3600000", kind="report")
        async with opened(browser, stage.address) as (page, _):
            await page.goto("/")
            await expect(page.get_by_text("read-only", exact=True)).to_be_visible()
            await nothing_to_press(page)


async def nothing_to_press(page: Page) -> None:
    await expect(page.get_by_role("link", name="digest")).to_be_visible()
    await expect(page.locator(CONTROLS)).to_have_count(0)
    for place in PLACES:
        await page.get_by_role("navigation", name="pages").get_by_role("link", name=place).click()
        await expect(page.get_by_role("heading", name=place, level=1)).to_be_visible()
        await expect(page.locator(CONTROLS)).to_have_count(0)
    await page.get_by_role("link", name="digest").click()
    for tab in ("Trail", "Next ticks", "Runs by hand", "Gaps", "Changes", "Explain a tick"):
        await page.get_by_role("link", name=tab, exact=True).click()
        await expect(page.locator(CONTROLS)).to_have_count(0)
    assert await page.locator("main input[type=checkbox]").count() == 0


async def test_it_works_behind_a_proxy_that_cuts_off_a_prefix(
    browser: Browser, server: PrivateServer, tmp_path: Path
) -> None:
    """As `headgate serve --root-path` is run; nothing is asked for outside of the prefix."""
    store = ("--redis", server.url, "--namespace", "prefixed")
    with Command("serve", "--port", "0", *store, "--root-path", "/ops/headgate", cwd=tmp_path) as serving:
        async with cutting_off("/ops/headgate", serving.address) as address:
            await look_around(browser, address, "/ops/headgate/")


@pytest.mark.parametrize("root_path", ["", "/ops"])
async def test_it_works_mounted_in_another_application(browser: Browser, server: PrivateServer, root_path: str) -> None:
    """Also with a proxy in front of that."""
    async with staged(server.url, mount="/headgate", root_path=root_path) as stage:
        if not root_path:
            await look_around(browser, stage.address, "/headgate/")
            return
        async with cutting_off("/ops", stage.address.removesuffix("/headgate")) as address:
            await look_around(browser, f"{address}/headgate", "/ops/headgate/")


async def look_around(browser: Browser, address: str, below: str) -> None:
    """Make a schedule there, and see it come by the stream."""
    async with opened(browser, address) as (page, watcher):
        await page.goto(f"{address}/")
        await expect(page.get_by_role("button", name="● Live")).to_be_visible()
        await page.get_by_role("button", name="New schedule").click()
        form = page.get_by_role("dialog")
        for name, text in (("id", "digest"), ("kind", "report"), ("spec", "@every:3600000")):
            await form.locator(f"[name={name}]").fill(text)
        await form.get_by_role("button", name="Create").click()
        await expect(page.get_by_role("heading", name="digest", level=1)).to_be_visible()
        await page.get_by_role("link", name="System").click()
        await expect(page.get_by_role("heading", name="System", level=1)).to_be_visible()
        outside = [each for each in watcher.requests if not each.split(" ")[1].startswith(below)]
        assert not outside
