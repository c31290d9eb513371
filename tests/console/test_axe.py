"""Accessibility: axe finds nothing on any page, in either theme, empty, full, and when something is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")

from axe_playwright_python.async_playwright import Axe  # noqa: E402

from headgate.models import JobRequest  # noqa: E402
from tests.console.browser import Browser, Page, Watcher, expect, opened  # noqa: E402
from tests.console.stage import Stage  # noqa: E402
from tests.console.telling import FULL, fill  # noqa: E402

PAGES = ("schedules", "upcoming", "jobs", "queues", "quarantine", "system")
TABS = ("trail", "next", "runs", "gaps", "changes", "explain")
WIDTHS = (1400, 360)
THEMES = ("light", "dark")
both_themes = pytest.mark.parametrize("theme", THEMES)


@asynccontextmanager
async def themed(browser: Browser, stage: Stage, theme: str, width: int = 1400) -> AsyncIterator[tuple[Page, Watcher]]:
    """With the page's policy out of the way, for axe's own script alone; what it refuses is seen by all other tests."""
    size = {"width": width, "height": 900}
    async with opened(browser, stage.address, color_scheme=theme, viewport=size, bypass_csp=True) as both:
        yield both
