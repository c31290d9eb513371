"""Arguments that several commands take, and what a number must be."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_store(command: argparse.ArgumentParser) -> None:
    """``--redis``, ``--data-dir`` and ``--namespace``: what `headgate.cli.node.open_node` looks at."""
    store = command.add_mutually_exclusive_group()
    store.add_argument(
        "--redis",
        metavar="URL",
        help="the store to use: redis://, rediss:// or unix:// (default: the application's, or HEADGATE_REDIS_URL)",
    )
    store.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        help="a store of Headgate's own, kept there; without any URL too (default: the application's, or .headgate)",
    )
    command.add_argument("--namespace", help="whose schedules and jobs (default: the application's, or default)")


def add_app(command: argparse.ArgumentParser, *, required: bool = False) -> None:
    """``--app``: what `headgate.cli.load.load_app` takes."""
    command.add_argument(
        "--app", metavar="MODULE:ATTR", required=required, help="a headgate.Headgate, as in myproject.jobs:app"
    )


def add_worker(command: argparse.ArgumentParser) -> None:
    """``--concurrency`` and ``--shutdown-grace``, as `headgate.Headgate.run` takes them."""
    command.add_argument(
        "--concurrency",
        metavar="N",
        type=to_count,
        default=10,
        help="most jobs that run at once (default: %(default)s)",
    )
    command.add_argument(
        "--shutdown-grace",
        metavar="SECONDS",
        type=to_seconds,
        default=10.0,
        help="how long jobs that run may go on after SIGTERM before they are handed back (default: 10)",
    )


def add_logging(command: argparse.ArgumentParser) -> None:
    """``--log-json``: what `headgate.cli.node.log_lines` takes."""
    command.add_argument(
        "--log-json", action="store_true", help="log one JSON object a line, instead of text for people (docs/logs.md)"
    )


def to_count(text: str) -> int:
    """How many, 1 to 10,000."""
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 10_000:  # noqa: PLR2004 - enough for anybody
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, 1 to 10000")
    return int(text)


def to_port(text: str) -> int:
    """A port to listen at; 0 stands for a free one."""
    if not text.isascii() or not text.isdecimal() or not int(text) <= 65535:  # noqa: PLR2004 - what a port can be
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535")
    return int(text)


def to_seconds(text: str) -> float:
    """A time in seconds, 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:  # which nan is not either
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return value
