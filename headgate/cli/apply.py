"""``headgate apply FILE``: make the stored schedules what a TOML file declares, and say what that changes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio

from headgate.app import Headgate
from headgate.cli.arguments import add_app, add_store
from headgate.cli.load import load_app
from headgate.cli.node import open_node
from headgate.connect import check_server, connect
from headgate.embedded import shared_url
from headgate.errors import InvalidRequest, StoreUnavailable
from headgate.models import ScheduleDefinition
from headgate.reconcile import UNTOLD, Applied, FieldChange, Plan, apply, make_plan
from headgate.schedule_file import ScheduleFile, parse_file

_BAD_INPUT = 2


def add_to(command: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    command.add_argument("file", metavar="FILE", type=Path, help="schedules in TOML, see docs/declared.md")
    command.add_argument("--dry-run", action="store_true", help="say what would change, and write nothing")
    command.add_argument(
        "--prune", action="store_true", help="delete schedules that the file's owner once declared and does no longer"
    )
    command.add_argument("--adopt", action="store_true", help="take over schedules that belong to another owner")
    add_app(command)
    add_store(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Say every problem of the file and exit with 2; or print the plan and carry it out."""
    app = load_app(options.app) if options.app else None
    file = _read(options.file, app)
    if file.problems:
        print(*file.problems, sep="\n", file=sys.stderr)
        sys.exit(_BAD_INPUT)
    app = app or Headgate()
    _use_what_runs(options, app)
    anyio.run(_run, options, app, file)


def _read(path: Path, app: Headgate | None) -> ScheduleFile:
    def define(spec: str, kind: str, options: dict[str, Any]) -> ScheduleDefinition:
        """With the queue of its actor, and a payload that fits it."""
        assert app is not None
        return app.definition(spec, kind=kind, **options)

    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = os.strerror(error.errno or 0) if isinstance(error, OSError) else "it is not UTF-8"
        return ScheduleFile(owner="", schedules={}, problems=[f"{path}: cannot be read: {why}"])
    return parse_file(text, str(path), path.stem, define if app else None)


def _use_what_runs(options: argparse.Namespace, app: Headgate) -> None:
    """Ask the server that runs in the data directory, if one does: it is others' to stop. A dry run makes none."""
    if options.redis is not None or (options.data_dir is None and app.url is not None):
        return
    data_dir = (options.data_dir or app.data_dir).resolve()
    url = shared_url(data_dir)
    if Path(urlsplit(url).path).exists() and anyio.run(_answers, url, app):
        options.redis, options.data_dir = url, None
    elif options.dry_run and not data_dir.exists():
        raise InvalidRequest(f"there is no store in {data_dir} yet; a dry run makes none", field="data-dir")


async def _answers(url: str, app: Headgate) -> bool:
    """Not so where a server that was killed left its socket."""
    client = connect(url, app.settings)
    try:
        await check_server(client)
    except StoreUnavailable:
        return False
    finally:
        await client.aclose()
    return True


async def _run(options: argparse.Namespace, app: Headgate, file: ScheduleFile) -> None:
    async with open_node(options, app) as node:
        app.relocate(node.url, node.namespace)
        async with app:
            plan = await make_plan(app.store, file.owner, file.schedules, adopt=options.adopt)
            print(*_lines(plan, prune=options.prune), sep="\n", flush=True)
            plan.check()
            if options.dry_run:
                print("dry run: nothing was written")
            else:
                print(_sum(await apply(app.store, plan, prune=options.prune)))


def _lines(plan: Plan, *, prune: bool) -> Iterator[str]:
    yield f"owner {plan.owner}"
    for name in plan.creates:
        yield f"+ {name}  {plan.wanted[name].spec}  {plan.wanted[name].kind}"
    for edit in plan.changes:
        yield f"~ {edit.schedule_id}"
        yield from map(_change, edit.fields)
    for name, owner in plan.foreign.items():
        yield f"! {name}  belongs to {owner}; --adopt takes it over"
    for name in plan.deletes:
        yield f"- {name}" if prune else f"- {name}  kept; --prune deletes it"
    yield f"= {len(plan.unchanged)} unchanged"


def _change(field: FieldChange) -> str:
    if field.name in UNTOLD:
        return f"    {field.name}: changed"
    return f"    {field.name}: {_shown(field.before)} -> {_shown(field.after)}"


def _shown(value: object) -> str:
    """Quoted, so that no text plays tricks on a terminal."""
    if value is None:
        return "none"
    return repr(str(value) if isinstance(value, str) else value)


def _sum(done: Applied) -> str:
    text = f"created {done.created}, changed {done.updated}, deleted {done.deleted}, unchanged {done.unchanged}"
    return text + (f", kept {done.kept} that others wrote meanwhile" if done.kept else "")
