"""``headgate``: read the arguments, run the command, turn what went wrong into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import anyio

from headgate import HeadgateError, __version__
from headgate.cli import demo, serve


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 it could not be done (one line says why), 2 the arguments are wrong."""
    options = _parser().parse_args(arguments)
    try:
        anyio.run(options.run, options)
    except KeyboardInterrupt:
        sys.exit(130)
    except BaseException as error:  # looked at below: a task group wraps what ended it
        cause = _innermost(error)
        if isinstance(cause, BrokenPipeError):  # whoever read the output is gone, and says so to nobody
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        if isinstance(cause, HeadgateError):
            sys.exit(f"headgate: {cause.message}")
        raise


def _innermost(error: BaseException) -> BaseException:
    """What alone is inside groups of one; a group of several stays a group."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headgate", description="Periodic jobs, durably, on Redis.")
    parser.add_argument("--version", action="version", version=f"headgate {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_serve(commands.add_parser("serve", help="run the HTTP API and a scheduler"))
    _add_demo(commands.add_parser("demo", help="watch telling schedules fire on a store of their own"))
    return parser


def _add_serve(command: argparse.ArgumentParser) -> None:
    store = command.add_mutually_exclusive_group()
    store.add_argument("--redis", metavar="URL", help="the store to use: redis://, rediss:// or unix://")
    store.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        default=Path(".headgate"),
        help="without --redis: where Headgate keeps a store of its own (default: %(default)s)",
    )
    command.add_argument("--namespace", default="default", help="whose schedules to run (default: %(default)s)")
    command.add_argument("--host", default="127.0.0.1", help="address of the API (default: %(default)s)")
    command.add_argument(
        "--port", type=_port, default=8420, help="port of the API; 0 takes a free one (default: %(default)s)"
    )
    command.add_argument("--insecure", action="store_true", help="allow a --host that is not loopback")
    command.set_defaults(run=serve.run)


def _add_demo(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        default=Path(".headgate-demo"),
        help="where its store is kept (default: %(default)s)",
    )
    command.add_argument(
        "--port", type=_port, default=8420, help="port of the API (default: %(default)s, or a free one if it is taken)"
    )
    command.add_argument("--seconds", type=_seconds, metavar="N", help="end by itself after so long")
    command.set_defaults(run=demo.run)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text) <= 65535:  # noqa: PLR2004 - what a port can be
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:  # which nan is not either
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return seconds
