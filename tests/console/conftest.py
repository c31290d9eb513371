"""Fixtures of the browser tests: one browser a test process, a namespace and a page of its own for each test.

Where there is no browser they are skipped, and say so; with HEADGATE_TEST_BROWSER=1, as in CI, that is an error.
All that they await runs on the one loop of the test process, since the browser does.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.support.leaks import check_after
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS

if TYPE_CHECKING:
    from tests.console.browser import Browser, Page, Watcher
    from tests.console.stage import Stage

MUST = os.environ.get("HEADGATE_TEST_BROWSER") == "1"
HERE = Path(__file__).parent

if MUST:
    for needed in ("playwright", "axe_playwright_python"):
        if find_spec(needed) is None:
            raise RuntimeError(f"HEADGATE_TEST_BROWSER is set, and {needed} is not installed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.timeout(120))


@pytest.fixture(scope="session")
def server() -> Iterator[PrivateServer]:
    """The embedded kind alone: a page cannot tell stores apart."""
    private = PrivateServer("valkey")
    private.start()
    yield private
    private.close()


@pytest.fixture
def own_server() -> Iterator[PrivateServer]:
    """One for a test alone, durable, to be killed."""
    private = PrivateServer("valkey", durable=True)
    private.start()
    yield private
    private.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    from playwright.async_api import async_playwright  # noqa: PLC0415 - it may be missing, and then nobody asks for it

    from tests.console.browser import find_browser  # noqa: PLC0415 - the same

    program = find_browser()
    if program is None:
        message = "no chromium, chromium-browser or google-chrome on this machine"
        (pytest.fail if MUST else pytest.skip)(message)
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        await launched.close()


@pytest_asyncio.fixture(loop_scope="session")
async def stage(server: PrivateServer, request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """On real store time, with leases of two seconds; looked through for leaks at the end."""
    from tests.console.stage import QUICK, staged  # noqa: PLC0415 - it comes after the skip

    async with staged(server.url, settings=QUICK, environment="test") as it:
        yield it
        await check_after(it.world, request.node)


@pytest_asyncio.fixture(loop_scope="session")
async def still(server: PrivateServer, request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """Store time stands still until the test moves it; looked through for leaks at the end."""
    from tests.console.stage import staged  # noqa: PLC0415 - it comes after the skip

    async with staged(server.url, moved=True) as it:
        await it.world.set_clock(START_MS)
        yield it
        await check_after(it.world, request.node)


@pytest_asyncio.fixture(loop_scope="session")
async def opening(browser: Browser, stage: Stage) -> AsyncIterator[tuple[Page, Watcher]]:
    from tests.console.browser import opened  # noqa: PLC0415 - it comes after the skip

    async with opened(browser, stage.address) as both:
        yield both


@pytest.fixture
def page(opening: tuple[Page, Any]) -> Page:
    """A page of the stage's console."""
    return opening[0]


@pytest.fixture
def watcher(opening: tuple[Any, Watcher]) -> Watcher:
    """Who watches that page."""
    return opening[1]
