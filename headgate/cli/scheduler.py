"""``headgate scheduler``: a scheduler and nothing else; run as many on one store as you like, one of them schedules."""

from __future__ import annotations

import argparse

import anyio

from headgate.app import Headgate
from headgate.cli.arguments import add_app, add_logging, add_store
from headgate.cli.load import load_app
from headgate.cli.node import log_lines, open_node, running, schedule, until_signalled


def add_to(command: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_app(command)
    add_store(command)
    add_logging(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Schedule until SIGINT or SIGTERM, with the application's schedules if one is named."""
    anyio.run(_run, options, load_app(options.app) if options.app else None)


async def _run(options: argparse.Namespace, app: Headgate | None) -> None:
    log_lines(as_json=options.log_json)
    async with until_signalled(), open_node(options, app) as node:
        if app is None:
            await schedule(node)
        else:
            async with running(node, app, worker=False):
                await anyio.sleep_forever()
