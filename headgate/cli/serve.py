"""``headgate serve``: the HTTP API and a scheduler in one process; run as many on one store as you like."""

from __future__ import annotations

import argparse
import logging
import time

import anyio

from headgate.cli.node import check_host, open_node, serving, until_signalled
from headgate.log import log_event


async def run(options: argparse.Namespace) -> None:
    """Serve until SIGINT or SIGTERM; then end cleanly, the lease given up and an embedded store stopped."""
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)sZ %(levelname)-7s %(message)s", datefmt="%Y-%m-%dT%H:%M:%S"
    )
    check_host(options.host, insecure=options.insecure)
    async with (
        until_signalled(),
        open_node(options.redis, options.data_dir, options.namespace) as node,
        serving(node, options.host, options.port) as address,
        anyio.create_task_group() as tasks,
    ):
        log_event(logging.INFO, "api.listening", address=address)
        tasks.start_soon(node.check_store)
        await node.scheduler.run()
