"""``headgate worker --app``: run an application's jobs, and nothing else; run as many as there is work for."""

from __future__ import annotations

import argparse

import anyio

from headgate.app import Headgate
from headgate.cli.arguments import add_app, add_logging, add_store, add_worker
from headgate.cli.load import load_app
from headgate.cli.node import log_lines, open_node, running, until_signalled
from headgate.names import check_queue


def add_to(command: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_app(command, required=True)
    add_store(command)
    command.add_argument(
        "--queue",
        metavar="Q",
        action="append",
        help="take jobs of this queue; again for more, the more urgent first (default: those of the actors)",
    )
    add_worker(command)
    add_logging(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Work until SIGINT or SIGTERM; then admit nothing new, and hand back what is not done within the grace."""
    for queue in options.queue or ():
        check_queue(queue)
    anyio.run(_run, options, load_app(options.app))


async def _run(options: argparse.Namespace, app: Headgate) -> None:
    log_lines(as_json=options.log_json)
    async with (
        until_signalled(),
        open_node(options, app) as node,
        running(
            node,
            app,
            scheduler=False,
            queues=options.queue,
            concurrency=options.concurrency,
            shutdown_grace=options.shutdown_grace,
        ),
    ):
        await anyio.sleep_forever()
