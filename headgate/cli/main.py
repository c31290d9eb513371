"""``headgate``: read the arguments, run the command, turn what went wrong into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys

from headgate import HeadgateError, __version__
from headgate.cli import apply, demo, explain, health, scheduler, serve, token, worker
from headgate.cli.parser import Parser


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit: 0 done, 1 it could not be done (one line says why), 2 the arguments are wrong."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
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
    parser = Parser(prog="headgate", description="Periodic jobs, durably, on Redis.")
    parser.add_argument("--version", action="version", version=f"headgate {__version__}")
    commands = parser.add_subparsers(title="commands", required=True)
    serve.add_to(commands.add_parser("serve", help="run the HTTP API and a scheduler, and with --app a worker"))
    scheduler.add_to(commands.add_parser("scheduler", help="run a scheduler alone"))
    worker.add_to(commands.add_parser("worker", help="run the jobs of an application"))
    apply.add_to(commands.add_parser("apply", help="make the stored schedules what a TOML file declares"))
    health.add_to(commands.add_parser("health", help="say whether it works: exits 0 if so, 1 with trouble, 2 if not"))
    explain.add_to(commands.add_parser("explain", help="say what a spec means and when it fires next"))
    token.add_to(commands.add_parser("token", help="make a token for the API, or remove one"))
    demo.add_to(commands.add_parser("demo", help="watch telling schedules fire, and their jobs run"))
    return parser
