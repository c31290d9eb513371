"""``headgate token NAME``: make a token for the API and enter its hash in a file, or remove one; without a store."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from headgate.http.access import Role
from headgate.http.access.token_edits import add_token, remove_token


def add_to(command: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    command.add_argument("name", metavar="NAME", help="who it is for: 1 to 64 of A-Z a-z 0-9 . _ -")
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--role", choices=[each.value for each in Role], help="make one: a viewer's looks, an operator's may do all"
    )
    what.add_argument("--remove", action="store_true", help="remove it; servers stop taking it within a second")
    command.add_argument(
        "--file",
        metavar="FILE",
        type=Path,
        default=Path("tokens.toml"),
        help="where hashes of tokens are kept, as for serve --tokens (default: %(default)s)",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the new token, alone, to standard output; all else to standard error."""
    if options.remove:
        remove_token(options.file, options.name)
        print(f"{options.name} has no token in {options.file} any more", file=sys.stderr)
        return
    token = add_token(options.file, options.name, Role(options.role))
    print(
        f"{options.name} is {options.role} by {options.file}; this is the only time that the token is shown:",
        file=sys.stderr,
    )
    print(token, flush=True)
