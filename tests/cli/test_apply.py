"""`headgate apply`: the plan as people read it, what is written, and what a mistake costs: nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from redis import Redis

from headgate.connect import connect
from headgate.embedded import EmbeddedStore
from headgate.settings import Settings
from headgate.store.keys import Keys
from tests.cli.conftest import SECRET, Ended, Start
from tests.support.commands import run_to_end
from tests.support.servers import PrivateServer

FILE = """
owner = "reports"

[[schedule]]
id = "digest"
spec = "0 9 * * *"
kind = "digest.send"
timeout_ms = "15m"
payload = {team = "eu"}

[[schedule]]
id = "sweep"
spec = "@every:60000"
kind = "sweep"
"""
NAMESPACE = "apart"
APP = """
import headgate
app = headgate.Headgate({url!r}, namespace="of-the-app")

@app.actor("digest.send", queue="mail")
async def send(team: str) -> None: ...
"""


@pytest.fixture
def raw(own_server: PrivateServer) -> Iterator[Redis]:
    with Redis(unix_socket_path=str(own_server.socket)) as client:
        yield client


@pytest.fixture
def applied(ended: Callable[..., Ended], folder: Path, own_server: PrivateServer) -> Callable[..., Ended]:
    """Exit code and output of applying a text."""

    def run(text: str, *options: str) -> Ended:
        (folder / "schedules.toml").write_text(text, "utf-8")
        return ended("apply", "schedules.toml", "--redis", own_server.url, "--namespace", NAMESPACE, *options)

    return run


def dump(raw: Redis) -> dict[bytes, bytes | None]:
    """Every key as it is stored."""
    return {key: raw.dump(key) for key in raw.scan_iter()}


def names(raw: Redis) -> list[str]:
    found: Any = raw.zrange(f"hg:{{{NAMESPACE}}}:schedules", 0, -1)
    return [name.decode() for name in found]


def test_the_plan_is_told_and_done(applied: Callable[..., Ended], raw: Redis) -> None:
    assert applied(FILE) == (
        0,
        [
            "owner reports",
            "+ digest  0 9 * * *  digest.send",
            "+ sweep  @every:60000  sweep",
            "= 0 unchanged",
            "created 2, changed 0, deleted 0, unchanged 0",
        ],
    )
    before = dump(raw)
    assert applied(FILE) == (0, ["owner reports", "= 2 unchanged", "created 0, changed 0, deleted 0, unchanged 2"])
    assert dump(raw) == before
    changed = FILE.replace("15m", "20m").replace('"eu"', f'"{SECRET}"').replace('"sweep"', '"clean"')
    assert applied(changed) == (
        0,
        [
            "owner reports",
            "+ clean  @every:60000  clean",
            "~ digest",
            "    payload: changed",
            "    timeout_ms: 900000 -> 1200000",
            "- sweep  kept; --prune deletes it",
            "= 0 unchanged",
            "created 1, changed 1, deleted 0, unchanged 0",
        ],
    )
    assert names(raw) == ["clean", "digest", "sweep"]
    assert applied(changed, "--prune") == (
        0,
        ["owner reports", "- sweep", "= 2 unchanged", "created 0, changed 0, deleted 1, unchanged 2"],
    )
    assert names(raw) == ["clean", "digest"]


@pytest.mark.parametrize("options", [(), ("--prune",), ("--prune", "--adopt")])
def test_a_dry_run_tells_the_same_and_writes_nothing(
    applied: Callable[..., Ended], raw: Redis, options: tuple[str, ...]
) -> None:
    assert applied(FILE, "--dry-run", *options)[0] == 0
    assert dump(raw) == {}
    applied(FILE)
    before = dump(raw)
    changed = FILE.replace("0 9", "30 9").replace('id = "sweep"', 'id = "clean"')
    code, lines = applied(changed, "--dry-run", *options)
    assert (code, lines[-1]) == (0, "dry run: nothing was written")
    assert dump(raw) == before
    code, done = applied(changed, *options)
    assert done[:-1] == lines[:-1]
    assert "    spec: '0 9 * * *' -> '30 9 * * *'" in done


def test_a_mistake_is_told_by_file_line_and_field_and_nothing_is_written(
    applied: Callable[..., Ended], raw: Redis
) -> None:
    bad = FILE.replace("0 9 * * *", "61 * * * *").replace("15m", "15 minutes").replace("kind", "knd")
    code, lines = applied(bad)
    assert code == 2
    assert [line.split(": ")[0] + ":" + line.split(": ")[1] for line in lines] == [
        "schedules.toml:4:kind",
        "schedules.toml:6:spec",
        "schedules.toml:7:knd",
        "schedules.toml:8:timeout_ms",
        "schedules.toml:11:kind",
        "schedules.toml:14:knd",
    ]
    assert dump(raw) == {}
    assert applied("a = = 1") == (2, ["schedules.toml:1: syntax: Invalid value"])
    assert dump(raw) == {}


def test_what_cannot_be_read_is_bad_input(ended: Callable[..., Ended], folder: Path) -> None:
    assert ended("apply", "none.toml") == (2, ["none.toml: cannot be read: No such file or directory"])
    (folder / "latin.toml").write_bytes(b"# \xe4")
    assert ended("apply", "latin.toml") == (2, ["latin.toml: cannot be read: it is not UTF-8"])
    assert ended("apply", ".") == (2, [".: cannot be read: Is a directory"])
    assert sorted(path.name for path in folder.iterdir()) == ["latin.toml"], "no store was started"


def test_a_schedule_of_others_is_refused_by_name_unless_adopted(applied: Callable[..., Ended], raw: Redis) -> None:
    applied(FILE)
    before = dump(raw)
    theirs = FILE.replace('"reports"', '"billing"').replace('id = "sweep"', 'id = "new"')
    for options in ((), ("--dry-run",)):
        code, lines = applied(theirs, *options)
        assert code == 1
        assert lines[1:] == [
            "+ new  @every:60000  sweep",
            "! digest  belongs to reports; --adopt takes it over",
            "= 0 unchanged",
            "headgate: schedule digest belongs to 'reports', not to 'billing'; give it another id, or adopt it",
        ]
        assert dump(raw) == before
    code, lines = applied(theirs, "--adopt")
    assert code == 0
    assert "    owner: 'reports' -> 'billing'" in lines


def test_the_owner_is_the_files_name_unless_said(applied: Callable[..., Ended]) -> None:
    assert applied(FILE.replace('owner = "reports"', ""))[1][0] == "owner schedules"


def test_a_store_that_is_away_is_told_at_once(ended: Callable[..., Ended], folder: Path) -> None:
    (folder / "schedules.toml").write_text(FILE)
    code, lines = ended("apply", "schedules.toml", "--redis", "redis://localhost:1")
    assert (code, lines) == (1, ["headgate: the store cannot be reached or takes no calls now"])


def test_payloads_are_judged_by_the_actors_of_an_application(
    folder: Path, own_server: PrivateServer, raw: Redis
) -> None:
    """Whose store and namespace it is, too."""
    (folder / "jobs.py").write_text(APP.format(url=own_server.url))
    (folder / "schedules.toml").write_text(FILE.replace('"eu"', "3"))
    refused = run_to_end("apply", "schedules.toml", "--app", "jobs:app", cwd=folder)
    assert refused == (
        2,
        ["schedules.toml:9: payload: does not fit actor digest.send: Expected `str`, got `int` - at `$.team`"],
    )
    assert dump(raw) == {}
    (folder / "schedules.toml").write_text(FILE)
    assert run_to_end("apply", "schedules.toml", "--app", "jobs:app", cwd=folder)[0] == 0
    assert raw.hget("hg:{of-the-app}:schedule:digest", "queue") == b"mail"


def test_it_needs_no_server_and_is_served_afterwards(start: Start, folder: Path) -> None:
    (folder / "schedules.toml").write_text(FILE)
    assert start("apply", "schedules.toml", "--data-dir", "data").wait() == 0
    again = start("apply", "schedules.toml", "--data-dir", "data", "--dry-run")
    again.line("^= 2 unchanged$")
    assert again.wait() == 0


def test_without_a_file_the_arguments_are_wrong(ended: Callable[..., Ended]) -> None:
    code, lines = ended("apply")
    assert code == 2
    assert "FILE" in lines[-1]


async def test_a_server_that_runs_in_the_data_directory_is_asked_and_left_running(
    ended: Callable[..., Ended], folder: Path
) -> None:
    (folder / "schedules.toml").write_text(FILE, "utf-8")
    async with EmbeddedStore(folder / "store") as theirs:
        for options in (["--dry-run"], []):
            code, _said = await to_thread.run_sync(
                partial(ended, "apply", "schedules.toml", "--data-dir", "store", *options)
            )
            assert code == 0
        client = connect(theirs.url, Settings())
        try:
            assert await client.zrange(Keys("default")("schedules"), 0, -1) == ["digest", "sweep"]
        finally:
            await client.aclose()


def test_a_dry_run_makes_no_store(ended: Callable[..., Ended], folder: Path) -> None:
    (folder / "schedules.toml").write_text(FILE, "utf-8")
    code, said = ended("apply", "schedules.toml", "--dry-run", "--data-dir", "none")
    assert code == 1
    assert "there is no store in" in said[-1]
    assert not (folder / "none").exists()
