"""`headgate health`: lines for people, JSON for programs, an exit code for probes; it starts nothing."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.settings import Settings
from tests.cli.conftest import Ended, Start
from tests.support.commands import run_to_end, server_lives, wait_for
from tests.support.servers import PrivateServer

CALL_S = Settings().call_timeout_ms / 1000
LOADS_S = 3.0
"""For an interpreter that starts, on a machine that is busy."""

Ends = Callable[..., Ended]


def codes(line: str) -> list[str]:
    return [problem["code"] for problem in json.loads(line)["problems"]]


def test_it_exits_0_while_all_is_well_and_2_when_nobody_schedules(
    ended: Ends, start: Start, own_server: PrivateServer
) -> None:
    store = ("--redis", own_server.url)
    code, lines = ended("health", *store)
    assert (code, lines[0]) == (2, f"down: namespace default of unix://{own_server.socket}")
    assert lines[1].startswith("  no_scheduler: ")
    command = start("scheduler", *store)
    wait_for(lambda: ended("health", *store)[0] == 0)
    code, lines = ended("health", *store)
    assert (code, lines[0]) == (0, f"ok: namespace default of unix://{own_server.socket}")
    assert lines[1].startswith("  scheduler: ")
    assert f"-{command.pid}-" in lines[1]
    assert lines[3] == "  schedules: 0, 0 paused, 0 failing, 0 overdue"
    assert re.fullmatch(r"  last sweep: (never|\d+\.\d s ago); live processes: 1", lines[4])
    assert ended("health", *store, "--namespace", "other")[0] == 2, "nobody schedules there"
    command.send(signal.SIGKILL)
    killed = time.monotonic()
    wait_for(lambda: ended("health", *store)[0] == 2)
    assert time.monotonic() - killed < Settings().lease_ttl_ms / 1000 + 1


def test_it_exits_1_while_it_works_with_trouble(ended: Ends, start: Start, own_server: PrivateServer) -> None:
    start("scheduler", "--redis", own_server.url)
    wait_for(lambda: ended("health", "--redis", own_server.url)[0] == 0)
    with own_server.client() as client:
        client.zadd("hg:{default}:failing", {"a": 1})
    code, lines = ended("health", "--redis", own_server.url, "--json")
    assert (code, len(lines)) == (1, 1)
    assert codes(lines[0]) == ["overdue", "failing"]
    seen = json.loads(lines[0])
    assert (seen["status"], seen["store"], seen["overview"]["failing"]) == ("degraded", "ok", 1)
    assert seen["overview"]["oldest_overdue"] == {"schedule_id": "a", "due_ms": 1}


def test_it_exits_2_while_the_store_is_full(ended: Ends, own_server: PrivateServer) -> None:
    with own_server.client() as client:
        client.config_set("maxmemory", "1")
    code, lines = ended("health", "--redis", own_server.url, "--json")
    assert code == 2
    assert codes(lines[0]) == ["store_full", "no_scheduler", "no_reclaimer"]


def test_a_store_that_is_stopped_costs_one_call(ended: Ends, own_server: PrivateServer) -> None:
    own_server.signal(signal.SIGSTOP)
    try:
        started = time.monotonic()
        code, lines = ended("health", "--redis", own_server.url)
        assert time.monotonic() - started < CALL_S + 0.6
    finally:
        own_server.signal(signal.SIGCONT)
    assert (code, len(lines)) == (2, 2)
    assert lines[1].startswith("  store_unavailable: ")


def test_a_store_that_is_away_is_said_at_once(
    folder: Path, own_server: PrivateServer, program: tuple[str, ...]
) -> None:
    """Also of the program as it is installed."""
    own_server.kill()
    started = time.monotonic()
    code, lines = run_to_end("health", "--redis", own_server.url, cwd=folder, program=program)
    assert time.monotonic() - started < CALL_S + LOADS_S
    assert (code, lines[0].partition(":")[0]) == (2, "down")


def test_a_data_directory_is_asked_and_never_started(ended: Ends, start: Start, folder: Path) -> None:
    data = folder / "data"
    assert ended("health", "--data-dir", "data")[0] == 2
    assert not data.exists()
    command = start("serve", "--port", "0", "--data-dir", "data")
    wait_for(lambda: ended("health", "--data-dir", "data")[0] == 0)
    code, lines = ended("health", "--data-dir", str(data))
    assert (code, lines[0]) == (0, f"ok: namespace default of unix://{data.resolve()}/valkey.sock")
    assert command.end() == 0
    assert ended("health", "--data-dir", "data")[0] == 2
    assert not server_lives(data)


def test_the_store_of_the_environment_is_the_default(
    ended: Ends, own_server: PrivateServer, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("HEADGATE_REDIS_URL", own_server.url)
    assert ended("health")[1][0] == f"down: namespace default of unix://{own_server.socket}"
    monkeypatch.delenv("HEADGATE_REDIS_URL")
    assert ended("health")[1][0].endswith(f"{folder.resolve()}/.headgate/valkey.sock")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("arguments", [("--redis", "http://x"), ("--namespace", "not a name"), ("--nonsense",)])
def test_arguments_that_cannot_be_used_are_no_health(ended: Ends, arguments: tuple[str, ...]) -> None:
    code, lines = ended("health", *arguments)
    assert code == 2
    assert lines[-1].startswith("headgate: ") or "unrecognized arguments" in lines[-1]


def test_a_password_is_not_printed(ended: Ends, own_server: PrivateServer) -> None:
    code, lines = ended("health", "--redis", f"{own_server.url}&password=correct-horse")
    assert code == 2
    assert "correct-horse" not in "\n".join(lines)
