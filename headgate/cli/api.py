"""Arguments of the HTTP API: where it listens, and who may use it."""

from __future__ import annotations

import argparse
import ipaddress
import os
from pathlib import Path

from headgate.cli.arguments import to_port
from headgate.errors import InvalidRequest
from headgate.http.access import Access, Sessions, Tokens, allowed_hosts


def add_api(command: argparse.ArgumentParser) -> None:
    """Address, rules and looks of the API."""
    command.add_argument("--host", default="127.0.0.1", help="address of the API (default: %(default)s)")
    command.add_argument(
        "--port", type=to_port, default=8420, help="port of the API; 0 takes a free one (default: %(default)s)"
    )
    command.add_argument(
        "--tokens",
        metavar="FILE",
        type=Path,
        help="who may use the API, as `headgate token` writes it; HEADGATE_TOKEN is one operator's, beside it or alone",
    )
    command.add_argument(
        "--insecure", action="store_true", help="allow a --host that is not loopback though nobody is asked for a token"
    )
    command.add_argument("--read-only", action="store_true", help="refuse every write over HTTP")
    command.add_argument(
        "--allowed-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name that browsers may call this server by, beside its addresses and localhost; may be repeated",
    )
    command.add_argument(
        "--root-path",
        metavar="PATH",
        default="",
        help="what a proxy in front cuts off the paths that it passes on, as in /headgate",
    )
    command.add_argument(
        "--secure-cookies", action="store_true", help="the console's cookie is for HTTPS only, as behind a TLS proxy"
    )
    command.add_argument("--environment", metavar="NAME", default="", help="what this is, for people: production, say")


def make_access(options: argparse.Namespace) -> Access:
    """The rules that the arguments and the environment name.

    Raises:
        InvalidRequest: a token or a file of tokens breaks its rule, or the address is not loopback and nobody is asked.
    """
    token = os.environ.get("HEADGATE_TOKEN")  # one that is empty is refused: it is a mistake, not a wish for none
    tokens = None if token is None and options.tokens is None else Tokens(token, options.tokens)
    check_host(options.host, asks=tokens is not None, insecure=options.insecure)
    return Access(
        tokens=tokens,
        allowed_hosts=allowed_hosts([*options.allowed_host, *_named(options.host)]),
        read_only=options.read_only,
        sessions=Sessions(os.environ.get("HEADGATE_SESSION_KEY"), secure=options.secure_cookies),
    )


def check_host(host: str, *, asks: bool, insecure: bool) -> None:
    """Refuse an address that other machines may reach, unless callers are asked for a token, or somebody says so.

    Raises:
        InvalidRequest: the address is not loopback.
    """
    loopback = host == "localhost" if _named(host) else ipaddress.ip_address(host).is_loopback
    if not (loopback or asks or insecure):
        raise InvalidRequest(
            f"host {host!r} is not loopback, and nobody is asked for a token: give --tokens or HEADGATE_TOKEN, "
            "or say --insecure if something in front of it asks",
            field="host",
        )


def _named(host: str) -> list[str]:
    """The host, if it is a name and no address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return [host]
    return []
