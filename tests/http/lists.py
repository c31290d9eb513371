"""Every list of the API: how it is filled, and what happens to it while somebody pages through it.

Something comes before, at and after the place where the reader is, and what was met last goes, where things can go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.control.acts import MINUTE, on_duty
from tests.http.client import SCHEDULE, Client, enqueue, job_url, key, periodic
from tests.http.test_workers import beat
from tests.support.worlds import World


class Edge(NamedTuple):
    """The API and the store behind it."""

    api: Client
    world: World


class Listed(NamedTuple):
    """A list, and what happens to it.

    Attributes:
        path: as in the route table.
        field: where in a page its entries are.
        name: the field that an entry is told apart by.
        fill: makes entries that stay.
        stir: between two pages, whose number it gets and the name of the last entry met.
        params: what must be asked for.
    """

    path: str
    field: str
    name: str
    fill: Callable[[Edge], Awaitable[None]]
    stir: Callable[[Edge, int, Any], Awaitable[None]]
    params: Mapping[str, str] = MappingProxyType({})


async def ok(call: Any) -> None:
    response = await call
    assert response.status < 300, await response.text()


# what is listed by a name: between its names there is room, and what was met last goes


async def put_schedule(edge: Edge, name: str) -> None:
    await ok(edge.api.put(periodic(name), json=SCHEDULE))


async def put_job(edge: Edge, name: str) -> None:
    """In the order of their coming, but for those whose name says that they are first."""
    await edge.world.advance(1)
    await enqueue(edge.api, name, priority=50 if name.startswith("0") else 0)


async def put_queue(edge: Edge, name: str) -> None:
    await ok(edge.api.post(f"/api/v1/queues/{name}/pause"))


async def put_fingerprint(edge: Edge, name: str) -> None:
    await ok(edge.api.put(f"/api/v1/quarantine/{name}", json={}))


async def put_worker(edge: Edge, name: str) -> None:
    await beat(edge.world, name)


async def drop_schedule(edge: Edge, name: str) -> None:
    await ok(edge.api.delete(periodic(name)))


async def drop_job(edge: Edge, name: str) -> None:
    await ok(edge.api.delete(job_url(name)))


async def drop_fingerprint(edge: Edge, name: str) -> None:
    await ok(edge.api.delete(f"/api/v1/quarantine/{name}"))


async def drop_worker(edge: Edge, name: str) -> None:
    await edge.world.store.leases.release(name, {}, forget=True)


async def keep(_: Edge, __: str) -> None:
    """A queue never goes."""


Act = Callable[[Edge, str], Awaitable[None]]


def named(path: str, field: str, put: Act, drop: Act, name: str = "id", **params: str) -> Listed:
    """By name, 32 hexadecimal digits: of a fingerprint nothing else would do."""

    async def fill(edge: Edge) -> None:
        for number in range(0x10, 0x1A):
            await put(edge, f"{number:x}".ljust(32, "8"))

    async def stir(edge: Edge, turn: int, met: str) -> None:
        step = 16**turn  # a digit of its own for each turn, so that no name comes twice
        below, above = f"{int(met, 16) - step:032x}", f"{int(met, 16) + step:032x}"
        for other in (f"0{turn:031x}", below, *([above] if turn % 2 else []), f"f{turn:031x}"):
            await put(edge, other)
        await drop(edge, met)

    return Listed(path, field, name, fill, stir, params)


# what grows at its newest end


async def tick(edge: Edge, times: int = 1) -> None:
    scheduler = await on_duty(edge.world)
    for _ in range(times):
        await edge.world.advance(MINUTE)
        await scheduler.sweep()


async def ticks_of_a_schedule(edge: Edge) -> None:
    await put_schedule(edge, "s")
    await tick(edge, 10)


async def more_ticks(edge: Edge, _turn: int, _met: Any) -> None:
    await tick(edge, 3)


async def more_ticks_and_one_job_less(edge: Edge, _turn: int, met: str) -> None:
    await tick(edge, 2)
    await drop_job(edge, met)


async def runs(edge: Edge) -> None:
    await put_schedule(edge, "s")
    for number in range(10):
        await run(edge, number, 0)


async def run(edge: Edge, turn: int, _met: Any) -> None:
    await ok(edge.api.post(periodic("s", "/run"), headers=key(f"at-{await edge.world.advance(1)}-{turn}")))


async def changes(edge: Edge) -> None:
    for number in range(10):
        await change(edge, number, 0)


async def change(edge: Edge, _turn: int, _met: Any) -> None:
    description = f"at {await edge.world.advance(1)}"
    await ok(edge.api.put(periodic("s"), json=SCHEDULE | {"description": description}))


async def gaps(edge: Edge) -> None:
    await put_schedule(edge, "s")
    for _ in range(10):
        await gap(edge, 0, 0)


async def gap(edge: Edge, _turn: int, _met: Any) -> None:
    """Two ticks that do not run, and one that does."""
    await ok(edge.api.post(periodic("s", "/pause")))
    await edge.world.advance(2 * MINUTE)
    await ok(edge.api.post(periodic("s", "/resume")))
    await tick(edge)


async def gap_and_one_made_up_for(edge: Edge, turn: int, met: int) -> None:
    """What was met last goes by half, or wholly."""
    await gap(edge, turn, met)
    until = {"after_ms": met - 1 - turn % 2 * MINUTE, "until_ms": met}
    await ok(edge.api.post(periodic("s", "/backfill"), json=until, headers=key(f"b-{turn}")))


LISTS = (
    named("/api/v1/periodic", "schedules", put_schedule, drop_schedule),
    named("/api/v1/periodic", "schedules", put_schedule, drop_schedule, order="next_run"),
    named("/api/v1/jobs", "jobs", put_job, drop_job, queue="default", state="available"),
    named("/api/v1/queues", "queues", put_queue, keep, "name"),
    named("/api/v1/quarantine", "quarantines", put_fingerprint, drop_fingerprint, "fingerprint"),
    named("/api/v1/workers", "workers", put_worker, drop_worker),
    Listed(
        *("/api/v1/jobs", "jobs", "id", ticks_of_a_schedule, more_ticks_and_one_job_less),
        {"periodic_schedule_id": "s"},
    ),
    Listed("/api/v1/periodic/{id}/enqueue-events", "events", "event_id", ticks_of_a_schedule, more_ticks),
    Listed("/api/v1/periodic/{id}/manual-runs", "runs", "job_id", runs, run),
    Listed("/api/v1/periodic/{id}/changes", "changes", "revision", changes, change),
    Listed("/api/v1/periodic/{id}/gaps", "gaps", "until_ms", gaps, gap_and_one_made_up_for),
)


def name_of(listed: Listed) -> str:
    """Of a test about it."""
    return "-".join((listed.path, *listed.params))
