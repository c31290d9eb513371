"""What the pages are opened on: a namespace, its API on a port, and an application that runs when it is told to."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from aiohttp import web

from headgate import Headgate
from headgate.http import make_api
from headgate.http.server import listening
from headgate.settings import Settings
from headgate.store.hints import follow_hints
from tests.http.contract import watch
from tests.support.worlds import World

QUICK = Settings(lease_ttl_ms=2_000, lease_margin_ms=300, call_timeout_ms=600)
"""Leases that a test can wait for."""


class Stage:
    """A namespace and where its console is.

    Attributes:
        world: the namespace.
        address: where the console is.
    """

    def __init__(self, world: World, address: str) -> None:
        self.world = world
        self.address = address
        self._let_go = asyncio.Event()

    def running(self, *, scheduler: bool = True, worker: bool = True) -> AbstractAsyncContextManager[Headgate]:
        """An application that schedules and works; its jobs of the kind ``slow`` run until the test lets them go."""
        app = Headgate(self.world.url, namespace=self.world.namespace, settings=self.world.settings)

        @app.actor("report")
        async def report(what: str = "") -> None:
            pass

        @app.actor("slow")
        async def slow(what: str = "") -> None:  # noqa: ARG001 - the parameters are what a payload may have
            await self._let_go.wait()

        @app.actor("flaky")
        async def flaky() -> None:
            raise ConnectionError

        return app.run(scheduler=scheduler, worker=worker, shutdown_grace=0)

    def let_go(self) -> None:
        self._let_go.set()


@asynccontextmanager
async def staged(
    url: str, *, settings: Settings | None = None, moved: bool = False, mount: str = "", **options: Any
) -> AsyncIterator[Stage]:
    """A namespace of its own on this server; every answer of its API must keep the contract.

    Args:
        url: of the store.
        settings: of everything on the namespace.
        moved: store time stands still until the test moves it.
        mount: where in another application it is, as ``/jobs``.
        options: as `make_api` takes them.
    """
    world = World(url, f"c-{uuid.uuid4().hex[:12]}", settings=settings, moved=moved)
    follow = partial(follow_hints, world.url, world.namespace, world.settings)
    api = make_api(lambda: world.store, follow, **options)
    broken = watch(api)
    try:
        async with listening(_mounted(api, mount), "127.0.0.1", 0) as address:
            yield Stage(world, address + mount)
    finally:
        await world.close()
    assert not broken, broken[:3]


def _mounted(api: web.Application, mount: str) -> web.Application:
    if not mount:
        return api
    outer = web.Application()
    outer.add_subapp(mount, api)
    return outer
