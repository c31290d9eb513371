"""The moves of a job: how it gets into each state, and by which words and events it leaves it.

The table of `docs/jobs.md` says the same in words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from headgate.models import FINAL_STATES
from tests.jobs.acts import admit, admit_one, enqueue, fingerprint_of, finish, lose_workers, reclaim
from tests.support.worlds import START_MS, World

LATER = 60_000
DEADLINE = 100_000
DAY = 86_400_000

Build = Callable[..., Awaitable[str]]
Act = Callable[[World, str], Awaitable[Any]]


# how a job gets into a state


async def scheduled(world: World, **options: Any) -> str:
    return await enqueue(world, delay_ms=LATER, **options)


async def available(world: World, **options: Any) -> str:
    return await enqueue(world, **options)


async def running(world: World, **options: Any) -> str:
    job_id = await enqueue(world, **options)
    assert (await admit_one(world)).id == job_id
    return job_id


async def quarantined(world: World, **options: Any) -> str:
    job_id = await enqueue(world, **options)
    await bar(world, job_id)
    await admit(world)
    return job_id


def ended(verdict: str, **fixed: Any) -> Build:
    async def build(world: World, **options: Any) -> str:
        job_id = await enqueue(world, **options | fixed)
        await finish(world, await admit_one(world), verdict, wait_ms=LATER)
        return job_id

    return build


BUILD: dict[str, Build] = {
    "scheduled": scheduled,
    "available": available,
    "running": running,
    "retryable": ended("failed"),
    "quarantined": quarantined,
    "completed": ended("completed"),
    "archived": ended("failed", max_attempts=1),
    "cancelled": ended("cancelled"),
    "undecodable": ended("undecodable"),
}


# what happens to it


async def bar(world: World, job_id: str) -> None:
    await world.store.quarantine.add(await fingerprint_of(world, job_id))


async def release(world: World, job_id: str) -> None:
    await world.store.quarantine.release(await fingerprint_of(world, job_id))


async def release_begun(world: World, job_id: str) -> None:
    """A release that does not get to its end: something foreign keeps the job from coming back for a while."""
    available = world.keys("state", "default", "available")
    await world.client.set(available, "foreign")
    await release(world, job_id)
    await world.client.delete(available)


async def nothing(world: World, job_id: str) -> None:
    """The builder did it."""


def after(ms: int, *acts: Act) -> Act:
    async def act(world: World, job_id: str) -> None:
        await world.advance(ms)
        for each in acts:
            await each(world, job_id)

    return act


def both(*acts: Act) -> Act:
    return after(0, *acts)


async def gate(world: World, _job_id: str) -> None:
    await admit(world)


async def paused_gate(world: World, _job_id: str) -> None:
    """Brings back what is due and lets nothing through."""
    await world.store.queues.pause("default")
    await admit(world)


async def a_pass(world: World, _job_id: str) -> None:
    await reclaim(world)


async def lease_ends(world: World, _job_id: str) -> None:
    await lose_workers(world)


async def earlier_clock(world: World, _job_id: str) -> None:
    await world.set_clock(START_MS - 1)


def reports(verdict: str, wait_ms: int = 0) -> Act:
    async def act(world: World, job_id: str) -> None:
        record = await world.client.hgetall(world.keys("job", job_id))
        call = world.store.attempts._scripts.call
        await call("finish", record["queue"], job_id, record["claim"], verdict, "Oops", wait_ms)

    return act


def operator(word: str) -> Act:
    async def act(world: World, job_id: str) -> None:
        await getattr(world.store.jobs, word)(job_id)

    return act


# from, what happens, to; how a test brings it about, and with which options the job is made
Arrow = tuple[str, str, str, Act, dict[str, Any]]
LIMIT: dict[str, Any] = {"deadline_ms": START_MS + DEADLINE}
PAST = after(DEADLINE, a_pass)
CRASHES = both(lease_ends, gate, lease_ends, gate, lease_ends)

ARROWS: list[Arrow] = [
    ("", "is enqueued", "available", nothing, {}),
    ("", "is enqueued for later", "scheduled", nothing, {}),
    ("scheduled", "its instant comes; the gate finds it", "available", after(LATER, paused_gate), {}),
    ("scheduled", "its instant comes; the reclaimer finds it", "available", after(LATER, a_pass), {}),
    ("scheduled", "its deadline passes", "archived", PAST, LIMIT),
    ("scheduled", "an operator retries it", "available", operator("retry"), {}),
    ("scheduled", "an operator cancels it", "cancelled", operator("cancel"), {}),
    ("scheduled", "an operator deletes it", "", operator("delete"), {}),
    ("available", "the gate admits it", "running", gate, {}),
    ("available", "the gate finds its content barred", "quarantined", both(bar, gate), {}),
    ("available", "the gate finds its deadline passed", "archived", after(DEADLINE, gate), LIMIT),
    ("available", "its deadline passes", "archived", PAST, LIMIT),
    ("available", "its lost worker says that its actor returned", "completed",
     both(gate, lease_ends, reports("completed")), {}),
    ("available", "an operator cancels it", "cancelled", operator("cancel"), {}),
    ("available", "an operator deletes it", "", operator("delete"), {}),
    ("running", "its actor returns", "completed", reports("completed"), {}),
    ("running", "its actor fails", "retryable", reports("failed", LATER), {}),
    ("running", "its actor fails for the last time", "archived", reports("failed"), {"max_attempts": 1}),
    ("running", "its actor fails; the next try is past its deadline", "archived", reports("failed", DEADLINE), LIMIT),
    ("running", "its actor discards it", "cancelled", reports("cancelled"), {}),
    ("running", "its payload does not fit", "undecodable", reports("undecodable"), {}),
    ("running", "its worker hands it back", "available", reports("returned"), {}),
    ("running", "its worker hands it back for later", "retryable", reports("returned", LATER), {}),
    ("running", "its worker hands it back past its deadline", "archived", after(DEADLINE, reports("returned")), LIMIT),
    ("running", "its lease ends", "available", lease_ends, {}),
    ("running", "its lease ends for the third time", "quarantined", CRASHES, {}),
    ("running", "its lease ends past its deadline", "archived", after(DEADLINE, lease_ends), LIMIT),
    ("running", "an operator cancels it; its worker stops it", "cancelled",
     both(operator("cancel"), reports("returned")), {}),
    ("running", "an operator cancels it; its actor fails", "cancelled",
     both(operator("cancel"), reports("failed")), {}),
    ("running", "an operator cancels it; its lease ends", "cancelled", both(operator("cancel"), lease_ends), {}),
    ("running", "an operator cancels it; its actor returns", "completed",
     both(operator("cancel"), reports("completed")), {}),
    ("retryable", "its instant comes; the gate finds it", "available", after(LATER, paused_gate), {}),
    ("retryable", "its instant comes; the reclaimer finds it", "available", after(LATER, a_pass), {}),
    ("retryable", "its deadline passes", "archived", PAST, LIMIT),
    ("retryable", "an operator retries it", "available", operator("retry"), {}),
    ("retryable", "an operator cancels it", "cancelled", operator("cancel"), {}),
    ("retryable", "an operator deletes it", "", operator("delete"), {}),
    ("quarantined", "its content is released", "available", release, {}),
    ("quarantined", "its content is released before its instant", "scheduled", both(earlier_clock, release), {}),
    ("quarantined", "its deadline passes", "archived", PAST, LIMIT),
    ("quarantined", "an operator retries it while its content is being released", "available",
     both(release_begun, operator("retry")), {}),
    ("quarantined", "its lost worker says that its actor returned", "completed",
     both(release, gate, CRASHES, reports("completed")), {}),
    ("quarantined", "an operator cancels it", "cancelled", operator("cancel"), {}),
    ("quarantined", "an operator deletes it", "", operator("delete"), {}),
    *((str(state), "an operator retries it", "available", operator("retry"), {}) for state in FINAL_STATES),
    *((str(state), "an operator deletes it", "", operator("delete"), {}) for state in FINAL_STATES),
    ("completed", "its retention ends", "", after(DAY, a_pass), {}),
    *((str(state), "its retention ends", "", after(7 * DAY, a_pass), {}) for state in FINAL_STATES[1:]),
]  # fmt: skip
