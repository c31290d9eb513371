"""One process: its heart, the services of its duties, its worker, and the order in which they end.

The duties are given up first, whatever the jobs still need; the worker may then drain; the heart beats to the last, so
that a process is seen for as long as it works.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio

from headgate.heart import Heart
from headgate.hooks import Hooks
from headgate.reclaimer import Reclaimer
from headgate.scheduler import Scheduler
from headgate.store import Store
from headgate.store.wakeups import Wakeups
from headgate.worker import Worker

Service: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Does the work of a duty for ever, while the duty is this process's; cancelled at the end."""


def contending(store: Store, wakeups: Wakeups, hooks: Hooks | None = None) -> tuple[Heart, list[Service]]:
    """A heart that contends for every duty, and the service of each."""
    heart = Heart(store.leases, store.settings, duties=("scheduler", "reclaimer"))
    return heart, [Scheduler(store, wakeups, heart, hooks).run, Reclaimer(store, heart).run]


@asynccontextmanager
async def running_process(
    heart: Heart, services: Sequence[Service] = (), worker: Worker | None = None, *, grace: float = 0.0
) -> AsyncIterator[None]:
    """Run all of it as tasks until the body ends; an error of the body is raised as it is, and not in a group.

    Args:
        heart: beats from the beginning to the end.
        services: those of the heart's duties.
        worker: runs jobs.
        grace: seconds that running jobs get at the end; then they are handed back.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as living:
        living.start_soon(heart.keep)
        async with anyio.create_task_group() as tasks:
            on_duty = anyio.CancelScope()
            tasks.start_soon(_serve, heart, services, on_duty)
            if worker is not None:
                tasks.start_soon(worker.run)
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised below
                failure = error
            finally:
                on_duty.cancel()
                if worker is not None:
                    with anyio.move_on_after(grace, shield=True):
                        await worker.drain()
                tasks.cancel_scope.cancel()
        living.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _serve(heart: Heart, services: Sequence[Service], scope: anyio.CancelScope) -> None:
    """Do the duties' work; at its end they are given up, so that a standby takes over at once."""
    with scope:
        try:
            async with anyio.create_task_group() as tasks:
                for service in services:
                    tasks.start_soon(service)
        finally:
            await heart.resign()
