"""A worker as a process of its own: ``python -m tests.support.worker_process URL NAMESPACE SETTINGS-AS-JSON``.

Prints ``started`` once it works, a line when a job begins and ends, and every log line; ends cleanly on SIGTERM. Its
one actor, ``test``, sleeps so many ms as the payload says. ``SIGUSR1`` blocks its event loop for two lease lives.
"""

from __future__ import annotations

import logging
import signal
import sys
import time

import anyio
import msgspec

import headgate
from headgate.settings import Settings
from tests.support.process import Child
from tests.support.worlds import World


class WorkerProcess(Child):
    """A child that works for a world."""

    def __init__(self, world: World) -> None:
        settings = msgspec.json.encode(world.settings).decode()
        super().__init__("tests.support.worker_process", world.url, world.namespace, settings)


async def _main(url: str, namespace: str, settings: Settings) -> None:
    app = headgate.Headgate(url, namespace=namespace, settings=settings)

    @app.actor("test")
    async def test(job: headgate.Job, sleep_ms: int = 0) -> None:
        print(f"begins {job.id}", flush=True)
        try:
            await anyio.sleep(sleep_ms / 1000)
        except anyio.get_cancelled_exc_class():
            print(f"cancelled {job.id}", flush=True)
            raise
        print(f"ends {job.id}", flush=True)

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGUSR1) as signals:
        async with app.run(scheduler=False):
            print("started", flush=True)
            async for number in signals:
                if number == signal.SIGTERM:
                    return
                time.sleep(2 * settings.lease_ttl_ms / 1000)  # noqa: ASYNC251 - blocking the loop is the point


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    anyio.run(_main, sys.argv[1], sys.argv[2], msgspec.json.decode(sys.argv[3], type=Settings))
