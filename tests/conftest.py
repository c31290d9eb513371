"""Fixtures: one private server of each kind per test process, and a namespace of its own for each test."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator

import pytest

from tests.support.leaks import PASSED, check_after
from tests.support.servers import KINDS, PrivateServer, binary_of
from tests.support.worlds import START_MS, World

AVAILABLE = [kind for kind in KINDS if binary_of(kind)]
ON_EVERY_STORE = ("lua", "fault", "jobs", "control")
"""Tests of what scripts do, which engines may see differently; all others run on one store, unless told."""

if os.environ.get("HEADGATE_TEST_ALL_STORES") and len(AVAILABLE) < len(KINDS):
    raise RuntimeError(f"HEADGATE_TEST_ALL_STORES is set, and this machine has only {AVAILABLE}")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "damages_store(why): the test damages the store on purpose; no leaks are looked for"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("HEADGATE_TEST_ALL_STORES"):
        return
    folder = config.rootpath / "tests"

    def once(item: pytest.Item) -> bool:
        callspec = getattr(item, "callspec", None)
        store = callspec and (callspec.params.get("server") or callspec.params.get("own_server"))
        part = item.path.relative_to(folder).parts[0]
        return store in {None, AVAILABLE[0]} or part in ON_EVERY_STORE

    kept = [item for item in items if once(item)]
    config.hook.pytest_deselected(items=[item for item in items if not once(item)])
    items[:] = kept


@pytest.fixture
def measured(server: PrivateServer, record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Say a figure that the run is to print at its end."""
    return lambda line: record_property("measured", f"{line} ({server.kind})")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.stats.get("passed", [])
    lines = [text for report in reports for name, text in report.user_properties if name == "measured"]
    if lines:
        terminalreporter.section("measured")
        for line in sorted(lines):
            terminalreporter.line(line)


@pytest.fixture(scope="session", params=AVAILABLE)
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    """A server that lives as long as the test process. Tests share it and use a namespace each."""
    private = PrivateServer(request.param)
    private.start()
    yield private
    private.close()


@pytest.fixture(autouse=True)
def _nothing_of_others(request: pytest.FixtureRequest) -> None:
    """The shared server is empty as a test begins: looking for the keys of a namespace reads every key there is."""
    if "server" in request.fixturenames:
        request.getfixturevalue("server").empty()


@pytest.fixture(params=AVAILABLE)
def own_server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    """A server for one test alone, durable, to be killed, stopped or filled."""
    private = PrivateServer(request.param, durable=True)
    private.start()
    yield private
    private.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call":
        item.stash[PASSED] = report.passed
    return report


@pytest.fixture
async def world(server: PrivateServer, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A namespace on real store time; looked through for leaks at the end."""
    it = World(server.url, f"t-{uuid.uuid4().hex[:12]}")
    try:
        yield it
        await check_after(it, request.node)
    finally:
        await it.close()


@pytest.fixture
async def moved(server: PrivateServer, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A namespace whose store time stands still until the test moves it; looked through for leaks at the end."""
    it = World(server.url, f"t-{uuid.uuid4().hex[:12]}", moved=True)
    await it.set_clock(START_MS)
    try:
        yield it
        await check_after(it, request.node)
    finally:
        await it.close()
