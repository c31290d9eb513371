"""The HTTP API of a process: where it may listen, and listening there."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from aiohttp import web

from headgate.errors import InvalidRequest
from headgate.http import SERVER_OPTIONS, create_app
from headgate.store import Store


@asynccontextmanager
async def serving(store: Store, host: str, port: int) -> AsyncIterator[str]:
    """The HTTP API, while the context is open; yields its base URL.

    Raises:
        InvalidRequest: the address cannot be had.
    """
    runner = web.AppRunner(create_app(store), handle_signals=False, shutdown_timeout=1, **SERVER_OPTIONS)
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
