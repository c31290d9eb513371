"""What the tests of control do again and again."""

from __future__ import annotations

from typing import Any

from headgate.scheduler import Scheduler
from headgate.store.attempts import Report
from tests.support.worlds import START_MS, World

SECOND = 1000
MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


async def on_duty(world: World) -> Scheduler:
    scheduler = world.scheduler()
    await world.client.delete(world.keys("duty", "scheduler"))
    await world.own_the_duty(scheduler)
    return scheduler


async def sweep(world: World) -> None:
    """As the holder of the duty does: until nothing more is due."""
    scheduler = await on_duty(world)
    while await scheduler.sweep() == 0:
        pass


async def pass_time(world: World, ms: int, *, step: int = MINUTE) -> None:
    """Let time pass with somebody scheduling."""
    for _ in range(ms // step):
        await world.advance(step)
        await sweep(world)


async def pause(world: World, **options: Any) -> None:
    await world.store.control.pause("a", **options)


async def resume(world: World, missed: str = "none", **options: Any) -> None:
    await world.store.control.resume("a", missed=missed, **options)


def ticks_of(jobs: list[str], schedule_id: str = "a") -> list[int]:
    prefix = f"sched-{schedule_id}-"
    return sorted(int(job.removeprefix(prefix)) for job in jobs if job.startswith(prefix))


async def ran(world: World, queue: str = "default") -> list[int]:
    """The minutes since the start whose ticks became jobs."""
    return [(tick - START_MS) // MINUTE for tick in ticks_of(await world.queued(queue))]


def at(minute: int) -> int:
    return START_MS + minute * MINUTE


async def gaps(world: World) -> list[tuple[int, int, str]]:
    return [
        ((gap["from_ms"] - START_MS) // MINUTE, (gap["until_ms"] - START_MS) // MINUTE, gap["reason"])
        for gap in await world.gaps("a")
    ]


async def dump(world: World) -> dict[str, str]:
    """Every key of the namespace with its type and content; leases aside, which end when they like."""
    leases = (world.keys("duty", ""), world.keys("process", ""))
    names = [name async for name in world.client.scan_iter(match=world.keys.root + "*") if not name.startswith(leases)]
    return {name: await world.client.type(name) + repr(await _value(world, name)) for name in names}


async def _value(world: World, name: str) -> object:
    client = world.client
    match await client.type(name):
        case "hash":
            return sorted((await client.hgetall(name)).items())
        case "zset":
            return await client.zrange(name, 0, -1, withscores=True)
        case "list":
            return await client.lrange(name, 0, -1)
        case _:
            return await client.get(name)


async def finish(world: World, *, queue: str = "default", verdict: str = "completed") -> str:
    """One job is run to its end."""
    [claim] = (await world.store.attempts.admit("w", [queue], 1, DAY)).claims
    await world.store.attempts.finish([Report(claim, verdict)])
    return claim.id
