"""Pictures of every page, to be looked at: ``python -m tests.console.screenshots DIR [NAME …]``.

At 1400, 800 and 360 px, light and dark, of a server with something to tell. With names, pages whose name begins so.
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
from playwright.async_api import Browser, async_playwright

from tests.console.browser import expect, find_browser, opened
from tests.console.stage import Stage, staged
from tests.console.telling import pages_of, telling
from tests.support.servers import PrivateServer

WIDTHS = (1400, 800, 360)
THEMES = ("light", "dark")
WIDER = """[document.documentElement, ...document.querySelectorAll("main .scroll")].some(
  (each) => each.scrollWidth > each.clientWidth)"""
"""Whether something has to be scrolled sideways: the page, or a table in it."""
DIALOGS = {
    "edit": ("#/schedules/digest", "Edit"),
    "backfill": ("#/schedules/night-watch?tab=gaps", "Backfill a range…"),
}


async def main(folder: Path, names: list[str]) -> None:
    server = PrivateServer("valkey", durable=True)
    server.start()
    try:
        async with staged(server.url, environment="staging") as stage, telling(stage), async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
            pages = await pages_of(stage)
            wanted = {name: path for name, path in pages.items() if not names or name.startswith(tuple(names))}
            for theme in THEMES:
                for width in WIDTHS:
                    await take(browser, stage, folder, wanted, theme=theme, width=width)
            await browser.close()
    finally:
        server.close()


async def take(browser: Browser, stage: Stage, folder: Path, pages: dict[str, str], *, theme: str, width: int) -> None:
    options = {"color_scheme": theme, "viewport": {"width": width, "height": 900}, "reduced_motion": "reduce"}
    async with opened(browser, stage.address, **options) as (page, watcher):
        watcher.provokes("status of 404")
        await page.goto("/")
        for name, path in pages.items():
            await page.evaluate("(path) => { location.hash = path }", path)
            await expect(page.locator("main h1")).to_be_visible()
            await expect(page.locator("main .loading")).to_have_count(0)
            await page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)
            if await page.evaluate(WIDER):
                print(f"{name} is wider than {width} px")
        for name, (path, opener) in DIALOGS.items():
            await page.evaluate("(path) => { location.hash = path }", path)
            await page.get_by_role("button", name=opener, exact=True).first.click()
            await expect(page.locator("dialog .loading")).to_have_count(0)
            await page.screenshot(path=folder / f"dialog-{name}-{width}-{theme}.png")
            await page.keyboard.press("Escape")


if __name__ == "__main__":
    pictures = Path(sys.argv[1])
    pictures.mkdir(parents=True, exist_ok=True)
    anyio.run(main, pictures, sys.argv[2:])
