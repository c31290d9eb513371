"""One process of Headgate: a store to talk to, a scheduler or an application on it, until a signal ends it."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio

from headgate.app import Headgate
from headgate.connect import check_server, connect, connect_pubsub, safe_url
from headgate.embedded import EmbeddedStore
from headgate.errors import StoreUnavailable
from headgate.log import JsonLines, log_event
from headgate.pacing import Backoff
from headgate.process import contending, running_process
from headgate.settings import Settings
from headgate.store import Store
from headgate.store.hints import Heed, follow_hints
from headgate.store.wakeups import Wakeups


class Node:
    """The connections of one process. The API has its own, so that a flood of requests never holds up the scheduler."""

    def __init__(self, url: str, namespace: str, settings: Settings) -> None:
        self.url = url
        self.namespace = namespace
        self.settings = settings
        self._clients = [connect(url, settings), connect(url, settings), connect_pubsub(url, settings)]
        serving, scheduling, listening = self._clients
        self.store = Store(serving, namespace, settings=settings)
        self._scheduling = Store(scheduling, namespace, settings=settings)
        self._wakeups = Wakeups(listening, namespace)

    async def check_store(self) -> None:
        """Wait for the store's first answer, then say what weakens it; raises `StoreUnsupported`."""
        backoff = Backoff(self.settings.backoff_min_ms, self.settings.backoff_max_ms)
        while True:
            try:
                info = await check_server(self._clients[0])
            except StoreUnavailable as error:
                if backoff.failures == 0:
                    log_event(logging.WARNING, "store.away", store=safe_url(self.url), detail=error.message)
                await anyio.sleep(backoff.next_ms() / 1000)
                continue
            log_event(logging.INFO, "store.ready", store=safe_url(self.url), kind=info.kind, version=info.version)
            for warning in info.warnings:
                log_event(logging.WARNING, "store.warning", detail=warning)
            return

    async def schedule(self) -> None:
        """Contend and schedule until cancelled."""
        async with running_process(*contending(self._scheduling, self._wakeups)):
            await anyio.sleep_forever()

    async def follow_hints(self, heed: Heed) -> None:
        """Hand on which schedules and jobs have changed, until cancelled."""
        await follow_hints(self.url, self.namespace, self.settings, heed)

    async def close(self) -> None:
        """Close every connection."""
        with anyio.CancelScope(shield=True):  # the usual way here is a cancellation
            for client in self._clients:
                await client.aclose()


@asynccontextmanager
async def open_node(options: argparse.Namespace, app: Headgate | None = None) -> AsyncIterator[Node]:
    """A node on the store and namespace that the options name; what they leave open is the application's to say."""
    app = app or Headgate()
    url = app.url if options.redis is None and options.data_dir is None else options.redis
    namespace = app.namespace if options.namespace is None else options.namespace
    async with AsyncExitStack() as stack:
        if url is None:
            url = (await stack.enter_async_context(EmbeddedStore(options.data_dir or app.data_dir))).url
        node = Node(url, namespace, app.settings)
        stack.push_async_callback(node.close)
        yield node


async def schedule(node: Node) -> None:
    """Schedule until cancelled; raises `StoreUnsupported`."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(node.check_store)
        await node.schedule()


@asynccontextmanager
async def running(node: Node, app: Headgate, **options: Any) -> AsyncIterator[None]:
    """Wait for the store, then run the application on it while the context is open.

    A cancellation ends the body at once and the application in order, with its grace.

    Args:
        node: where.
        app: what.
        options: as `Headgate.run` takes them.
    """
    await node.check_store()
    app.relocate(node.url, node.namespace)
    begun, over = anyio.Event(), anyio.Event()

    async def run() -> None:
        with anyio.CancelScope() as scope:
            async with app.run(**options):
                scope.shield = True
                log_event(logging.INFO, "app.running", namespace=node.namespace)
                begun.set()
                await over.wait()
                log_event(logging.INFO, "app.ending", namespace=node.namespace)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            await begun.wait()
            yield
        finally:
            over.set()


@asynccontextmanager
async def until_signalled() -> AsyncIterator[None]:
    """Cancel the body on the first SIGINT or SIGTERM; a second one, while it ends, ends the process at once."""
    async with anyio.create_task_group() as watching:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals, anyio.CancelScope() as body:
            watching.start_soon(_heed, signals, body)
            yield
        watching.cancel_scope.cancel()


async def _heed(signals: AsyncIterator[signal.Signals], body: anyio.CancelScope) -> None:
    async for number in signals:
        if body.cancel_called:
            os._exit(128 + number)
        body.cancel()


def log_lines(*, as_json: bool = False) -> None:
    """Log to stderr, one line an event, in UTC.

    Handlers that the application gave the root logger stay as they are, unless JSON is asked for: then every line is.
    """
    text = logging.Formatter("%(asctime)sZ %(levelname)-7s %(message)s", datefmt="%Y-%m-%dT%H:%M:%S")
    text.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=as_json)
