"""Crash at every step: the real scheduler on the real store, through a client that dies.

The client dies at its k-th call, either before sending it or after the server did it and before the answer, for every k
that a run has. Then a new process starts, and the world must look as if nothing had happened.
"""

from __future__ import annotations

from typing import Any

import pytest

from headgate.connect import connect
from headgate.names import fingerprint
from headgate.settings import Settings
from tests.support.check import check_trail
from tests.support.leaks import check_store
from tests.support.worlds import START_MS, World

MINUTE = 60_000
STEPS = (MINUTE, 7 * MINUTE, MINUTE, 2 * MINUTE)


class Died(BaseException):
    """The process is gone: nothing of it runs any further."""


class MortalClient:
    """Passes script calls on until its hour has come; after that, every call is one of a dead process."""

    def __init__(self, client: Any, dies_at: int, *, after_sending: bool) -> None:
        self._client = client
        self._dies_at = dies_at
        self._after_sending = after_sending
        self.calls = 0

    async def evalsha(self, *args: Any) -> Any:
        return await self._send(self._client.evalsha, args)

    async def eval(self, *args: Any) -> Any:
        return await self._send(self._client.eval, args)

    async def _send(self, method: Any, args: tuple[Any, ...]) -> Any:
        self.calls += 1
        if self.calls == self._dies_at and self._after_sending:
            await method(*args)
        if self.calls >= self._dies_at:
            raise Died
        return await method(*args)


async def prepare(world: World) -> None:
    await world.put("skips")
    await world.put("fills", on_missed="backfill", backfill_limit=3)
    await world.put("often", "@every:20000", on_missed="backfill", backfill_limit=5)
    await world.put("barred", payload="poison")
    await world.store.quarantine.add(fingerprint("test", '"poison"'), note="kills workers")


async def live(world: World, client: Any, steps: list[int]) -> None:
    """One process's life: heartbeat, sweep until nothing is due, let time pass. Takes the steps it has lived off."""
    scheduler = world.scheduler(world.store_on(client))
    await scheduler.heart.beat()
    while await scheduler.sweep() == 0:
        pass
    while steps:
        await world.advance(steps[0])
        del steps[0]
        await scheduler.heart.beat()
        while await scheduler.sweep() == 0:
            pass


async def check(world: World, *, died_at: str) -> None:
    now = START_MS + sum(STEPS)
    for schedule_id in ("skips", "fills", "often", "barred"):
        try:
            await check_trail(world, schedule_id, since_ms=START_MS, until_ms=now)
        except AssertionError as error:
            raise AssertionError(f"{schedule_id}, after a death {died_at}: {error}") from error
    await check_store(world)


@pytest.mark.parametrize("after_sending", [False, True], ids=["before-sending", "after-sending"])
async def test_a_crash_at_any_call_loses_and_doubles_nothing(moved: World, after_sending: bool) -> None:
    deaths, k = 0, 0
    settings = Settings(sweep_limit=2)  # small pages: more calls, more points to die at
    while True:
        k += 1
        world = World(moved.url, f"{moved.namespace}-{k}", settings=settings, moved=True)
        client = connect(moved.url, settings)
        try:
            await world.set_clock(START_MS)
            await prepare(world)
            steps = list(STEPS)
            mortal = MortalClient(client, k, after_sending=after_sending)
            try:
                await live(world, mortal, steps)
            except* Died:
                deaths += 1
                await world.client.delete(world.keys("duty", "scheduler"))  # its lease runs out
                await live(world, client, steps)
                await check(world, died_at=f"at call {k}")
            else:
                await check(world, died_at="at no call")
                break
        finally:
            await client.aclose()
            await world.close()
    assert deaths == mortal.calls >= 20, "every call of a run was a point of death"
