"""``headgate health``: whether it works, for people and for probes: exits 0 if so, 1 with trouble, 2 if not.

It looks at the store itself and starts nothing: of a store of Headgate's own it asks the server that runs, if one does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Final

import anyio
import msgspec

from headgate.app import Headgate
from headgate.cli.arguments import add_store
from headgate.connect import connect, safe_url
from headgate.embedded import shared_url
from headgate.errors import HeadgateError
from headgate.health import check_health
from headgate.models import DutyState, Health, HealthStatus, Overview
from headgate.store import Store

_EXITS: Final = {HealthStatus.OK: 0, HealthStatus.DEGRADED: 1, HealthStatus.DOWN: 2}
_CLOSE_SECONDS: Final = 0.5


def add_to(command: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_store(command)
    command.add_argument("--json", action="store_true", help="one line of JSON")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print what was found, within the time of one call, and exit; arguments that cannot be used exit 2 as well."""
    try:
        url, namespace, health = anyio.run(_look, options)
    except HeadgateError as error:
        print(f"headgate: {error.message}", file=sys.stderr)
        sys.exit(_EXITS[HealthStatus.DOWN])
    if options.json:
        print(msgspec.json.encode(health).decode())
    else:
        print("\n".join([f"{health.status}: namespace {namespace} of {safe_url(url)}", *_lines(health)]))
    sys.exit(_EXITS[health.status])


async def _look(options: argparse.Namespace) -> tuple[str, str, Health]:
    app = Headgate()
    url = app.url if options.redis is None and options.data_dir is None else options.redis
    url = url or shared_url((options.data_dir or app.data_dir).resolve())
    namespace = app.namespace if options.namespace is None else options.namespace
    client = connect(url, app.settings)
    try:
        return url, namespace, await check_health(Store(client, namespace, settings=app.settings))
    finally:
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await client.aclose()


def _lines(health: Health) -> Iterator[str]:
    for problem in health.problems:
        yield f"  {problem.code}: {problem.message}"
    if health.overview:
        yield from _overview(health.overview)


def _overview(seen: Overview) -> Iterator[str]:
    for duty in seen.duties:
        yield f"  {duty.name}: {_holder(duty)}, epoch {duty.epoch}"
    yield f"  schedules: {seen.schedules}, {seen.paused} paused, {seen.failing} failing, {seen.overdue} overdue"
    ago = "never" if seen.swept_at_ms is None else f"{(seen.store_time_ms - seen.swept_at_ms) / 1000:.1f} s ago"
    yield f"  last sweep: {ago}; live processes: {seen.processes}"


def _holder(duty: DutyState) -> str:
    if duty.lease_left_ms is None:
        return "nobody"
    return f"{duty.holder}, {duty.lease_left_ms / 1000:.1f} s left"
