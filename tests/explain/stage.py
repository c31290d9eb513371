"""One schedule on a moved clock, and everything that can happen to it."""

from __future__ import annotations

from typing import Any

from headgate.hooks import Hooks
from headgate.models import Explanation
from headgate.scheduler import Scheduler
from headgate.store.attempts import Claim, Report
from headgate.store.wakeups import Wakeups
from tests.support.worlds import World

ID = "a"
MINUTE = 60_000
LEASE_MS = 30_000


class Stage:
    """The schedule `ID`, the store it lives in, and a scheduler that sweeps when told to."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.store = world.store
        self.hooks = Hooks()
        self.foreign = ""

    async def put(self, spec: str = "@every:60000", **options: Any) -> None:
        await self.world.put(ID, spec, **options)

    async def go(self, ms: int) -> None:
        """Let time pass with nobody on duty, and then sweep."""
        await self.world.advance(ms)
        await self.sweep()

    async def sweep(self) -> None:
        """All that is due, by a scheduler that has just come on duty."""
        world = self.world
        await world.client.delete(world.keys("duty", "scheduler"))
        scheduler = Scheduler(self.store, Wakeups(world._pubsub, world.namespace), world.heart(), self.hooks)
        await world.own_the_duty(scheduler)
        while await scheduler.sweep() == 0:
            pass

    async def hold_foreign(self, family: str, *parts: object) -> None:
        """Something that Headgate did not write, until `tidy`."""
        self.foreign = self.world.keys(family, *parts)
        await self.world.client.set(self.foreign, "foreign")

    async def tidy(self) -> None:
        if self.foreign:
            await self.world.client.delete(self.foreign)

    async def claim(self) -> Claim:
        [claim] = (await self.store.attempts.admit("w", ["default"], 1, LEASE_MS)).claims
        return claim

    async def finish(self, verdict: str, wait_ms: int = 0) -> None:
        await self.store.attempts.finish([Report(await self.claim(), verdict, "", wait_ms)])

    async def explain(self, tick_ms: int) -> Explanation:
        return await self.store.explains.explain(ID, tick_ms)
