"""A scheduler as a process of its own: ``python -m tests.support.process URL NAMESPACE SETTINGS-AS-JSON``.

Prints ``started`` once it contends and every log line after that; ends cleanly on SIGTERM. ``SIGUSR1`` blocks its event
loop for two lease lives. With a fourth argument, ``credulous``, it never doubts a lease it once got and asks for it no
more: only the scripts can stop it.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import anyio
import msgspec

from headgate.duty import Duty
from headgate.heart import Heart
from headgate.settings import Settings
from headgate.store.leases import Heartbeat, Leases
from tests.support.worlds import World, running


class Child:
    """A module of the tests as a process, which says ``started`` when it is; its output line by line."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._child.stdout is not None
        self.log: list[str] = []
        self.read_until("started")

    def read_until(self, word: str) -> None:
        """Wait for a line with this word."""
        assert self._child.stdout is not None
        while True:
            line = self._child.stdout.readline()
            assert line, f"the child ended: {self.log}"
            self.log.append(line)
            if word in line:
                return

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    def signal(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def close(self) -> str:
        """Kill it if it still lives; its log."""
        if self.alive:
            self._child.send_signal(signal.SIGCONT)
            self._child.kill()
        out, _ = self._child.communicate(timeout=10)
        return "".join(self.log) + out


class SchedulerProcess(Child):
    """A child that schedules for a world."""

    def __init__(self, world: World, *, credulous: bool = False) -> None:
        settings = msgspec.json.encode(world.settings).decode()
        options = ["credulous"] if credulous else []
        super().__init__("tests.support.process", world.url, world.namespace, settings, *options)


class CredulousDuty(Duty):
    """Believes for ever in the first lease it gets, until a script refuses its token."""

    refused = False

    @property
    def trusted(self) -> bool:
        return self._held and not self.refused

    def lost(self, token: str) -> None:  # noqa: ARG002 - as the real one
        self.refused = True
        print("refused", flush=True)


class CredulousHeart(Heart):
    """Asks no more for a lease that it once got."""

    def __init__(self, leases: Leases, settings: Settings) -> None:
        super().__init__(leases, settings, duties=("scheduler",))
        self.credulous = CredulousDuty("scheduler", self.process_id, settings, self.nudge)
        self._duties = {"scheduler": self.credulous}

    async def beat(self) -> Heartbeat:
        if self.credulous.trusted or self.credulous.refused:
            await anyio.sleep_forever()
        return await super().beat()


async def _main(url: str, namespace: str, settings: Settings, *, credulous: bool) -> None:
    world = World(url, namespace, settings=settings)
    scheduler = world.scheduler(heart=CredulousHeart(world.store.leases, settings) if credulous else None)
    async with running(scheduler):
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGUSR1) as signals:
            print("started", flush=True)
            async for number in signals:
                if number == signal.SIGTERM:
                    break
                time.sleep(2 * settings.lease_ttl_ms / 1000)  # noqa: ASYNC251 - blocking the loop is the point
    await world.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    tuned = msgspec.json.decode(sys.argv[3], type=Settings)
    anyio.run(partial(_main, sys.argv[1], sys.argv[2], tuned, credulous=len(sys.argv) > 4))
