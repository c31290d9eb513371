"""``headgate demo``: a handful of telling schedules on a store of their own, and an account of what becomes of them."""

from __future__ import annotations

import argparse
import logging
import math
import os
import shlex
import shutil
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import anyio

from headgate.cli.node import Node, open_node, serving, until_signalled
from headgate.errors import StoreUnavailable
from headgate.models import Event, MissedPolicy, ScheduleDefinition
from headgate.store import Store

_LATE_SECONDS: Final = 5
_POLL_SECONDS: Final = 0.2
_SCHEDULES: Final = {
    "every-3s": ScheduleDefinition(kind="demo.beat", spec="@every:3000", payload={"what": "an interval"}),
    "berlin": ScheduleDefinition(
        kind="demo.report", spec="CRON_TZ=Europe/Berlin */10 * * * * *", payload={"what": "a cron in a zone"}
    ),
    "catch-up": ScheduleDefinition(
        kind="demo.import",
        spec="@every:1500",
        payload={"what": "ticks that were missed"},
        on_missed=MissedPolicy.BACKFILL,
        backfill_limit=2,
    ),
    "poison": ScheduleDefinition(kind="demo.crash", spec="@every:4000", payload={"what": "barred content"}),
    "on-hold": ScheduleDefinition(kind="demo.beat", spec="@every:1000", payload={"what": "paused"}),
}
_MEANING: Final = {
    "every-3s": "every 3 seconds",
    "berlin": "every 10 seconds of Berlin's wall clock",
    "catch-up": "every 1.5 seconds; of missed ticks, the latest two are made up for",
    "poison": "its content is in quarantine, so its ticks are skipped, visibly",
    "on-hold": "paused: no next run, and nothing on its trail; it can be run by hand",
}


async def run(options: argparse.Namespace) -> None:
    """Run the demo until Ctrl-C, or for ``--seconds``."""
    logging.basicConfig(level=logging.WARNING, format="-- %(message)s --")
    seconds = math.inf if options.seconds is None else options.seconds
    async with (
        until_signalled(),
        open_node(None, options.data_dir, "default") as node,
        serving(node, "127.0.0.1", _free(options.port)) as address,
        anyio.create_task_group() as tasks,
    ):
        await _prepare(node.store)
        _say_hello(node, options.data_dir, address)
        with anyio.move_on_after(seconds):
            tasks.start_soon(_account, node.store)
            # On purpose: what is missed by then shows what a missed-run policy does.
            await anyio.sleep(_LATE_SECONDS)
            print(
                "-- only now does the scheduler start: what was missed until now follows each schedule's policy --",
                flush=True,
            )
            await node.scheduler.run()
        tasks.cancel_scope.cancel()
    _say_goodbye(options.data_dir, urlsplit(address).port)


async def _prepare(store: Store) -> None:
    for schedule_id, definition in _SCHEDULES.items():
        await store.schedules.put(schedule_id, definition, paused=schedule_id == "on-hold")
    _, fingerprint = _SCHEDULES["poison"].content()
    await store.quarantine.add(fingerprint, note="the demo bars this content")


async def _account(store: Store) -> None:
    """Print the trail as it grows: read from the store, as anybody could."""
    seen = dict.fromkeys(_SCHEDULES, 0)
    for schedule_id in seen:
        page = await store.events.list(schedule_id, limit=1)
        seen[schedule_id] = page.events[0].event_id if page.events else 0
    while True:
        fresh: list[Event] = []
        try:
            for schedule_id in seen:
                events = (await store.events.list(schedule_id, limit=20)).events
                fresh += [event for event in events if event.event_id > seen[schedule_id]]
                seen[schedule_id] = events[0].event_id if events else 0
        except StoreUnavailable:
            pass  # the log has it; the store is started again
        for event in sorted(fresh, key=lambda event: (event.recorded_at_ms, event.tick_ms)):
            print(_line(event), flush=True)
        await anyio.sleep(_POLL_SECONDS)


def _line(event: Event) -> str:
    lateness = event.recorded_at_ms - event.tick_ms
    became = f"{event.outcome}/{event.reason}"
    line = f"{_clock(event.tick_ms)}  {event.schedule_id:<9} {became:<19} {lateness:>6} ms late"
    if event.job_id is not None:
        line += f"  job {event.job_id}"
    if event.discarded is not None:
        first, last = _clock(event.discarded.from_ms), _clock(event.discarded.until_ms)
        line += f"\n{'':12}discarded: {first}" + (f" to {last}" if last != first else "")
    return line


def _clock(instant_ms: int) -> str:
    return datetime.fromtimestamp(instant_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-5]


def _say_hello(node: Node, data_dir: Path, address: str) -> None:
    print(f"Headgate (process {os.getpid()}) runs on a Valkey of its own in {data_dir}. Its schedules:\n")
    for schedule_id, meaning in _MEANING.items():
        print(f"  {schedule_id:<9} {meaning}")
    path = node.url.removeprefix("unix://").partition("?")[0]
    print(
        "\nTry, in another terminal:\n"
        f"  curl '{address}/api/v1/periodic/catch-up/enqueue-events?limit=3'\n"
        f"  curl -X POST -H 'Idempotency-Key: once' '{address}/api/v1/periodic/on-hold/run'\n"
        f"  curl '{address}/api/v1/duties'\n"
        f"  redis-cli -s {shlex.quote(path)} LRANGE 'hg:{{default}}:events:every-3s' 0 2\n"
        "\nCtrl-C ends it. Ticks (UTC) as the trail records them:\n",
        flush=True,
    )


def _say_goodbye(data_dir: Path, port: int | None) -> None:
    address = f"http://127.0.0.1:{port}"
    print(
        "\nEnded; the schedules are kept. They go on, with what they missed, with\n"
        f"  {_program()} serve --port {port} --data-dir {shlex.quote(str(data_dir))}\n"
        "and then answer to\n"
        f"  curl '{address}/api/v1/periodic'\n"
        f"  curl '{address}/api/v1/periodic/catch-up/enqueue-events?limit=5'",
        flush=True,
    )


def _program() -> str:
    """How to call this program again from here."""
    script = Path(sys.argv[0])
    if script.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m headgate"
    on_path = shutil.which(script.name)
    if on_path and Path(on_path).resolve() == script.resolve():
        return script.name
    return shlex.quote(os.path.relpath(script))


def _free(port: int) -> int:
    """`port`, or 0 for a free one, if somebody listens there already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port
