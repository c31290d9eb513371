"""The browser: the machine's own Chromium, and what every page that is opened in it must not do.

Test modules import from here first: where Playwright is missing they are skipped, and say so.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[console]'")

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

__all__ = ["Browser", "Locator", "Page", "Watcher", "expect", "find_browser", "job_state", "opened"]

PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)

REPORTS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP report: ${event.violatedDirective} refused ${event.blockedURI} ${event.sample}`));
"""


def find_browser() -> str | None:
    """The program of the machine's Chromium, or None where there is none."""
    found = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    return next((path for path in found if path), None)


def job_state(page: Page, state: str) -> Locator:
    """The badge on the page of one job; there is none on the lists that lead to it, which stay until it is read."""
    return page.locator("main .heading + p .badge", has_text=state)


class Watcher:
    """Sees what the pages of one context do.

    Attributes:
        wrong: what no page may do: console errors, page errors, CSP reports, requests to other origins.
        requests: method and path of each request to the server, in order.
    """

    def __init__(self, origin: str) -> None:
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self._origin = origin
        self._provoked: list[re.Pattern[str]] = []

    def follow(self, context: BrowserContext) -> None:
        context.on("console", self._heed)
        context.on("weberror", lambda error: self.wrong.append(f"page error: {error.error}"))
        context.on("request", self._look)

    def provokes(self, pattern: str) -> None:
        """Let pass, from now on, the network errors that a test brings about by itself."""
        self._provoked.append(re.compile(pattern))

    def count(self, pattern: str) -> int:
        """How many requests fitted so far."""
        return sum(re.search(pattern, each) is not None for each in self.requests)

    def _heed(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(each.search(message.text) for each in self._provoked):
            self.wrong.append(f"console error: {message.text} ({message.location.get('url')})")

    def _look(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme == "data":
            return
        if f"{parts.scheme}://{parts.netloc}" != self._origin:
            self.wrong.append(f"foreign request: {request.url}")
        self.requests.append(f"{request.method} {parts.path}{parts.query and '?'}{parts.query}")


@asynccontextmanager
async def opened(browser: Browser, address: str, **options: Any) -> AsyncIterator[tuple[Page, Watcher]]:
    """A page of its own, with nothing kept from another, and who watches it; at the end nothing may have gone wrong."""
    defaults = {"viewport": {"width": 1400, "height": 900}, "timezone_id": "America/New_York", "locale": "en-GB"}
    context = await browser.new_context(base_url=address, **(defaults | options))
    context.set_default_timeout(PATIENCE_MS)
    await context.add_init_script(REPORTS)
    parts = urlsplit(address)
    watcher = Watcher(f"{parts.scheme}://{parts.netloc}")
    watcher.follow(context)
    try:
        yield await context.new_page(), watcher
    finally:
        await context.close()
    assert not watcher.wrong, watcher.wrong
