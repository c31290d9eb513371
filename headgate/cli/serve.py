"""``headgate serve``: the HTTP API and a scheduler in one process, with ``--app`` a worker too; run any number."""

from __future__ import annotations

import argparse
import logging

import anyio

from headgate.app import Headgate
from headgate.cli.api import check_host, serving
from headgate.cli.arguments import add_app, add_store, add_worker, to_port
from headgate.cli.load import load_app
from headgate.cli.node import log_lines, open_node, running, schedule, until_signalled
from headgate.log import log_event


def add_to(command: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_app(command)
    add_store(command)
    command.add_argument("--host", default="127.0.0.1", help="address of the API (default: %(default)s)")
    command.add_argument(
        "--port", type=to_port, default=8420, help="port of the API; 0 takes a free one (default: %(default)s)"
    )
    command.add_argument("--insecure", action="store_true", help="allow a --host that is not loopback")
    add_worker(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Serve until SIGINT or SIGTERM; then end cleanly, the lease given up and an embedded store stopped."""
    check_host(options.host, insecure=options.insecure)
    anyio.run(_run, options, load_app(options.app) if options.app else None)


async def _run(options: argparse.Namespace, app: Headgate | None) -> None:
    log_lines()
    async with (
        until_signalled(),
        open_node(options, app) as node,
        serving(node.store, options.host, options.port) as address,
    ):
        log_event(logging.INFO, "api.listening", address=address)
        if app is None:
            await schedule(node)
        else:
            async with running(node, app, concurrency=options.concurrency, shutdown_grace=options.shutdown_grace):
                await anyio.sleep_forever()
