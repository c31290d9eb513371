"""What the benchmarks share: a store to measure on, schedules, counters, and a table."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import anyio
import msgspec
from redis.asyncio import Redis

from headgate.connect import check_server, connect, connect_pubsub, safe_url
from headgate.embedded import EmbeddedStore
from headgate.heart import Heart
from headgate.hooks import Hooks
from headgate.models import ScheduleDefinition
from headgate.process import running_process
from headgate.scheduler import Scheduler
from headgate.settings import Settings
from headgate.store import Store
from headgate.store.keys import Keys
from headgate.store.wakeups import Wakeups

EMBEDDED: Final = "embedded"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_OWN: Final = frozenset({"info", "zcount"})
"""Commands that only the benchmarks themselves send while they measure."""
_WRITERS: Final = 8
_PIPELINE: Final = 1_000


class Bench(msgspec.Struct, frozen=True):
    """A store to measure on.

    Attributes:
        client: for calls, made as the product makes it.
        pubsub: for wake-ups.
        about: server, version and durability, for the heading.
        url: for processes that connect by themselves.
    """

    client: Redis
    pubsub: Redis
    about: str
    url: str

    def store(self, namespace: str) -> Store:
        """The product's store of one namespace."""
        return Store(self.client, namespace)

    def scheduler(self, namespace: str, hooks: Hooks | None = None) -> Scheduler:
        """The product's scheduler of one namespace; the caller has it run by `schedule`."""
        store = self.store(namespace)
        heart = Heart(store.leases, store.settings, duties=("scheduler",))
        return Scheduler(store, Wakeups(self.pubsub, namespace), heart, hooks)


class Counters(msgspec.Struct, frozen=True):
    """What was counted up to one moment, or between two.

    Attributes:
        calls: commands that the server executed, by name, those inside scripts included.
        memory: bytes that the server uses.
        server_cpu: seconds of processor time of its main thread.
        own_cpu: seconds of processor time of this process.
    """

    calls: dict[str, int]
    memory: int
    server_cpu: float
    own_cpu: float

    def since(self, earlier: Counters) -> Counters:
        """What was counted after `earlier`."""
        calls = {name: count - earlier.calls.get(name, 0) for name, count in self.calls.items()}
        return Counters(
            {name: count for name, count in calls.items() if count},
            self.memory - earlier.memory,
            self.server_cpu - earlier.server_cpu,
            self.own_cpu - earlier.own_cpu,
        )

    @property
    def round_trips(self) -> int:
        """Script calls; the product sends nothing else while it schedules."""
        return sum(count for name, count in self.calls.items() if name in {"eval", "evalsha"})

    @property
    def commands(self) -> int:
        """All commands, without those of the benchmark."""
        return sum(count for name, count in self.calls.items() if name not in _OWN)


@asynccontextmanager
async def opened(where: str, *, aof: bool = True) -> AsyncIterator[Bench]:
    """A store: a private embedded one that ends with the context, or the one at a URL on this machine.

    The private one is as users get it, AOF with fsync every second, unless `aof` is off; only the rewriting of the AOF
    is turned off, which would otherwise fall into some rounds and not into others.
    """
    if where != EMBEDDED:
        async with _clients(where, "as it is configured") as bench:
            yield bench
        return
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
        async with (
            EmbeddedStore(Path(folder)) as server,
            _clients(server.url, "AOF everysec" if aof else "no AOF") as bench,
        ):
            await bench.client.config_set("auto-aof-rewrite-percentage", "0")
            if not aof:
                await bench.client.config_set("appendonly", "no")
            yield bench


def check_local(where: str) -> str:
    """`where`, if it is the embedded store or a URL on this machine; for `argparse`."""
    parts = urlsplit(where)
    if where == EMBEDDED or parts.scheme == "unix" or parts.hostname in _LOOPBACK:
        return where
    raise ValueError(where)


def shown(where: str) -> str:
    """A store fit for print: a URL with a password loses it."""
    return safe_url(where) if "@" in where else where


@asynccontextmanager
async def namespaces(bench: Bench, *names: str) -> AsyncIterator[list[str]]:
    """Names of namespaces that nobody has; everything in them is removed at the end."""
    nonce = uuid4().hex[:8]
    made = [f"bench-{nonce}-{name}" for name in names]
    try:
        yield made
    finally:
        with anyio.CancelScope(shield=True):
            for name in made:
                await _remove(bench.client, Keys(name).root)


async def write_schedules(store: Store, count: int, spec: str, *, payload_bytes: int) -> None:
    """Schedules ``s-0`` … of one spec, by the product's own way, a few at a time."""
    padding = max(0, payload_bytes - len('{"account":1000,"text":""}'))
    numbers = iter(range(count))

    async def write() -> None:
        for number in numbers:
            payload = {"account": number, "text": "x" * padding}
            await store.schedules.put(f"s-{number}", ScheduleDefinition(kind="report", spec=spec, payload=payload))

    async with anyio.create_task_group() as tasks:
        for _ in range(_WRITERS):
            tasks.start_soon(write)


async def read_counters(client: Redis) -> Counters:
    """The server's counters now."""
    stats: dict[str, dict[str, Any]] = await client.info("commandstats")
    memory: dict[str, Any] = await client.info("memory")
    calls = {name.removeprefix("cmdstat_"): int(stat["calls"]) for name, stat in stats.items()}
    cpu: dict[str, Any] = await client.info("cpu")
    server_cpu = float(cpu["used_cpu_user_main_thread"]) + float(cpu["used_cpu_sys_main_thread"])
    return Counters(calls, int(memory["used_memory"]), server_cpu, time.process_time())


async def read_events(client: Redis, keys: Keys, count: int) -> list[list[str]]:
    """The stored events of ``s-0`` …, newest first."""
    found: list[list[str]] = []
    for start in range(0, count, _PIPELINE):
        async with client.pipeline(transaction=False) as pipe:
            for number in range(start, min(count, start + _PIPELINE)):
                pipe.lrange(keys("events", f"s-{number}"), 0, -1)
            found += await pipe.execute()
    return found


async def schedule(scheduler: Scheduler) -> None:
    """Run a scheduler under its heart, as a process does, until cancelled."""
    async with running_process(scheduler.heart, [scheduler.run]):
        await anyio.sleep_forever()


async def sleep_until(moment: float) -> None:
    """Wait until `time.time()` says `moment`."""
    await anyio.sleep(max(0.0, moment - time.time()))


def percentiles(values: Sequence[float]) -> str:
    """The values that a half and 99 % of them do not exceed."""
    ordered = sorted(values)
    p50, p99 = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.99))
    return f"{p50:,.0f} / {p99:,.0f}"


def spread(values: Sequence[float], form: str = ",.0f") -> str:
    """Median, and smallest to largest."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def print_table(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]], command: str) -> None:
    """A heading, aligned columns, and the command that repeats it all."""
    table = [("", *columns), *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(columns) + 1)]
    print(f"\n{heading}\n")
    for first, *others in table:
        cells = [first.ljust(widths[0]), *(text.rjust(width) for text, width in zip(others, widths[1:], strict=True))]
        print("  " + "   ".join(cells).rstrip())
    print(f"\n  repeat: {command}\n")


@asynccontextmanager
async def _clients(url: str, durability: str) -> AsyncIterator[Bench]:
    client, pubsub = connect(url, Settings()), connect_pubsub(url, Settings())
    try:
        info = await check_server(client)
        yield Bench(client, pubsub, f"{info.kind} {info.version}, {durability}", url)
    finally:
        with anyio.CancelScope(shield=True):
            await client.aclose()
            await pubsub.aclose()


async def _remove(client: Redis, root: str) -> None:
    cursor = 0
    while True:
        cursor, found = await client.scan(cursor, match=f"{root}*", count=_PIPELINE)
        if found:
            await client.unlink(*found)
        if cursor == 0:
            return
