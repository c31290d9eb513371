"""``headgate``: read the arguments, run the command, turn what went wrong into one line and an exit code."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import anyio

from headgate import __version__
from headgate.cli import demo, serve
from headgate.errors import HeadgateError


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 it could not be done (one line says why), 2 the arguments are wrong."""
    options = _parser().parse_args(arguments)
    try:
        anyio.run(options.run, options)
    except KeyboardInterrupt:
        sys.exit(130)
    except HeadgateError as error:
        sys.exit(f"headgate: {error.message}")
    except BaseExceptionGroup as group:
        known, unknown = group.split(HeadgateError)
        if known is None or unknown is not None:
            raise
        sys.exit(f"headgate: {_first(known).message}")


def _first(group: BaseExceptionGroup[HeadgateError]) -> HeadgateError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headgate", description="Periodic jobs, durably, on Redis.")
    parser.add_argument("--version", action="version", version=f"headgate {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    command = commands.add_parser("serve", help="run the HTTP API and a scheduler")
    store = command.add_mutually_exclusive_group()
    store.add_argument(
        "--redis", metavar="URL", help="redis://, rediss:// or unix:// of the store; without it, Headgate"
    )
    store.add_argument(
        "--data-dir", metavar="DIR", type=Path, default=Path(".headgate"), help="starts one of its own here"
    )
    command.add_argument("--namespace", default="default", help="whose schedules to run (default: %(default)s)")
    command.add_argument("--host", default="127.0.0.1", help="address of the API (default: %(default)s)")
    command.add_argument(
        "--port", type=int, default=8420, help="port of the API; 0 takes a free one (default: %(default)s)"
    )
    command.add_argument("--insecure", action="store_true", help="allow a --host that other machines can reach")
    command.set_defaults(run=serve.run)

    command = commands.add_parser("demo", help="watch telling schedules fire on a store of their own")
    command.add_argument(
        "--data-dir", metavar="DIR", type=Path, default=Path(".headgate-demo"), help="default: %(default)s"
    )
    command.add_argument("--port", type=int, default=8420, help="port of the API; a free one if it is taken")
    command.add_argument("--seconds", type=float, metavar="N", help="end by itself after so long")
    command.set_defaults(run=demo.run)
    return parser
