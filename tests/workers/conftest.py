"""A namespace on real time with a short lease, its application, and stand-ins for a store."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Sequence

import anyio
import anyio.lowlevel
import pytest

import headgate
from headgate.pacing import Backoff
from headgate.settings import Settings
from headgate.store.attempts import Admitted, Claim, Renewed, Report
from tests.support.leaks import check_after
from tests.support.servers import PrivateServer
from tests.support.worlds import World

QUICK = Settings(lease_ttl_ms=1500, lease_margin_ms=150, call_timeout_ms=500)


@pytest.fixture
async def here(server: PrivateServer, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Looked through for leaks at the end."""
    world = World(server.url, f"t-{uuid.uuid4().hex[:12]}", settings=QUICK)
    try:
        yield world
        await check_after(world, request.node)
    finally:
        await world.close()


@pytest.fixture
def app(here: World) -> headgate.Headgate:
    return headgate.Headgate(here.url, namespace=here.namespace, settings=here.settings)


def claim_of(job_id: str, kind: str = "test", queue: str = "default") -> Claim:
    return Claim(
        number="1",
        returns=0,
        id=job_id,
        kind=kind,
        queue=queue,
        attempt=0,
        timeout_ms=60_000,
        origin=None,
        zone="",
        headers={},
        payload="null",
    )


class FakeAttempts:
    """Has no jobs and takes every report, unless a test says otherwise."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.unusable: list[str] = []
        self.renewals: list[float] = []
        self.disowned: list[list[str]] = []
        self.reports: list[int] = []

    async def admit(self, _worker: str, queues: Sequence[str], _capacity: int, _lease_ms: int) -> Admitted:
        self.asked.append(list(queues))
        await anyio.lowlevel.checkpoint()
        return Admitted([], 1, list(self.unusable))

    async def renew(self, _claims: Sequence[Claim], _lease_ms: int) -> Renewed:
        self.renewals.append(anyio.current_time())
        return Renewed(set(), set())

    async def disown(self, _worker: str, _queues: Sequence[str], running: Sequence[str]) -> int:
        self.disowned.append(list(running))
        return 0

    async def finish(self, reports: Sequence[Report]) -> list[str]:
        self.reports.append(len(reports))
        return [report.verdict for report in reports]


class FakeStore:
    """What a worker needs of a store."""

    def __init__(self, attempts: FakeAttempts, settings: Settings = QUICK) -> None:
        self.attempts = attempts
        self.settings = settings


class Silent:
    """Wake-ups that never come."""

    async def follow(self, _heed: Callable[[str], None], _backoff: Backoff) -> None:
        await anyio.sleep_forever()
