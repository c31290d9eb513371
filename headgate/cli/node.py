"""One process of Headgate: a store to talk to, a scheduler, the HTTP API; until a signal ends it."""

from __future__ import annotations

import ipaddress
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
from aiohttp import web

from headgate.connect import check_server, connect, connect_pubsub, safe_url
from headgate.embedded import EmbeddedStore
from headgate.errors import InvalidRequest, StoreUnavailable
from headgate.http import SERVER_OPTIONS, create_app
from headgate.log import log_event
from headgate.pacing import Backoff
from headgate.scheduler import Scheduler
from headgate.settings import Settings
from headgate.store import Store
from headgate.store.wakeups import Wakeups


class Node:
    """The connections of one process. The API has its own, so that a flood of requests never holds up the scheduler."""

    def __init__(self, url: str, namespace: str, settings: Settings) -> None:
        self.url = url
        self.settings = settings
        self._clients = [connect(url, settings), connect(url, settings), connect_pubsub(url, settings)]
        serving, scheduling, listening = self._clients
        self.store = Store(serving, namespace, settings=settings)
        self.scheduler = Scheduler(Store(scheduling, namespace, settings=settings), Wakeups(listening, namespace))

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

    async def close(self) -> None:
        """Close every connection."""
        with anyio.CancelScope(shield=True):  # the usual way here is a cancellation
            for client in self._clients:
                await client.aclose()


@asynccontextmanager
async def open_node(redis_url: str | None, data_dir: Path, namespace: str) -> AsyncIterator[Node]:
    """A node on the store at `redis_url`, or on an embedded one in `data_dir`."""
    async with AsyncExitStack() as stack:
        if redis_url is None:
            redis_url = (await stack.enter_async_context(EmbeddedStore(data_dir))).url
        node = Node(redis_url, namespace, Settings())
        stack.push_async_callback(node.close)
        yield node


@asynccontextmanager
async def serving(node: Node, host: str, port: int) -> AsyncIterator[str]:
    """The HTTP API, while the context is open; yields its base URL.

    Raises:
        InvalidRequest: the address cannot be had.
    """
    runner = web.AppRunner(create_app(node.store), handle_signals=False, shutdown_timeout=1, **SERVER_OPTIONS)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except socket.gaierror:
            raise InvalidRequest(f"host {host!r} has no address", field="host") from None
        except OSError as error:
            raise InvalidRequest(
                f"port {port} of {host} cannot be had: {os.strerror(error.errno or 0)}; "
                "choose another with --port, 0 takes a free one",
                field="port",
            ) from None
        bound_host, bound_port = runner.addresses[0][:2]
        yield f"http://{f'[{bound_host}]' if ':' in bound_host else bound_host}:{bound_port}"
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()


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


def check_host(host: str, *, insecure: bool) -> None:
    """Refuse an address that other machines may reach, unless told otherwise: the API asks nobody who they are.

    Raises:
        InvalidRequest: the address is not loopback.
    """
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not (loopback or insecure):
        raise InvalidRequest(
            f"host {host!r} is not loopback, and the API does not ask who calls; "
            "say --insecure if something in front of it does",
            field="host",
        )
