"""``headgate serve``: the HTTP API and a scheduler in one process, with ``--app`` a worker too; run any number."""

from __future__ import annotations

import argparse
import logging
from contextlib import AbstractAsyncContextManager

import anyio

from headgate.app import Headgate
from headgate.cli.api import add_api, make_access
from headgate.cli.arguments import add_app, add_logging, add_store, add_worker
from headgate.cli.load import load_app
from headgate.cli.node import Node, log_lines, open_node, running, schedule, until_signalled
from headgate.http import make_api
from headgate.http.access import Access
from headgate.http.server import listening
from headgate.log import log_event


def add_to(command: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_app(command)
    add_store(command)
    add_api(command)
    command.add_argument(
        "--no-scheduler",
        dest="scheduler",
        action="store_false",
        help="leave the scheduler duty to others: requests and ticks then share nothing but the store",
    )
    add_worker(command)
    add_logging(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Serve until SIGINT or SIGTERM; then end cleanly, the lease given up and an embedded store stopped."""
    app = load_app(options.app) if options.app else None
    log_lines(as_json=options.log_json)
    anyio.run(_run, options, make_access(options), app)


async def _run(options: argparse.Namespace, access: Access, app: Headgate | None) -> None:
    async with until_signalled(), open_node(options, app) as node, _api(options, access, node, app) as address:
        log_event(logging.INFO, "api.listening", address=address)
        if app is not None:
            limits = {"concurrency": options.concurrency, "shutdown_grace": options.shutdown_grace}
            async with running(node, app, scheduler=options.scheduler, **limits):
                await anyio.sleep_forever()
        elif options.scheduler:
            await schedule(node)
        else:
            await node.check_store()
            await anyio.sleep_forever()


def _api(
    options: argparse.Namespace, access: Access, node: Node, app: Headgate | None
) -> AbstractAsyncContextManager[str]:
    api = make_api(
        lambda: node.store,
        node.follow_hints,
        app.hooks if app else None,
        access=access,
        environment=options.environment,
        root_path=options.root_path,
    )
    return listening(api, options.host, options.port)
