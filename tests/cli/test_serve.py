"""`headgate serve` on a store of its own: it answers, schedules, ends in order, shares its store and is replaced."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.cli.conftest import SECRET, Start
from tests.support.commands import HEADGATE, Command, call, run_to_end, server_lives, server_pid, wait_for

SERVE = ("serve", "--port", "0", "--data-dir", "data")
SCHEDULE = {"kind": "report", "spec": "@every:100", "payload": {"note": SECRET}}


def put(address: str, schedule_id: str = "s", **fields: Any) -> int:
    return call("PUT", f"{address}/api/v1/periodic/{schedule_id}", SCHEDULE | fields).status


def newest_tick(address: str, schedule_id: str = "s") -> int:
    """The newest tick that became a job, 0 if there is none."""
    answer = call("GET", f"{address}/api/v1/periodic/{schedule_id}/enqueue-events")
    assert answer.status == 200, answer
    return max((event["tick_ms"] for event in answer.body["events"] if event["outcome"] == "enqueued"), default=0)


def holder(address: str) -> str | None:
    """Who holds the duty, None while nobody does or the store does not say."""
    answer = call("GET", f"{address}/api/v1/duties")
    holders: list[str | None] = [duty["holder"] for duty in answer.body["duties"]] if answer.status == 200 else []
    return holders[0] if holders else None


def is_held_by(address: str, command: Command) -> bool:
    return f"-{command.pid}-" in (holder(address) or "")


def ready(address: str) -> bool:
    return call("GET", f"{address}/readyz").status == 200


def waits_for_fires(address: str) -> None:
    """Wait until the schedule fires, and fires again."""
    before = newest_tick(address)
    wait_for(lambda: newest_tick(address) > before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_fires_ends_within_a_second_and_goes_on_at_the_next_start(
    start: Start, folder: Path, number: signal.Signals
) -> None:
    first = start(*SERVE)
    assert put(first.address) == 201
    waits_for_fires(first.address)
    pid = server_pid(folder / "data")
    last = newest_tick(first.address)
    sent = time.monotonic()
    first.send(number, whole_group=number == signal.SIGINT)
    assert first.wait() == 0
    assert time.monotonic() - sent < 1
    assert not server_lives(folder / "data")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

    second = start(*SERVE)
    assert newest_tick(second.address) >= last
    assert call("GET", f"{second.address}/api/v1/periodic/s").body["payload"] == SCHEDULE["payload"]
    waits_for_fires(second.address)
    assert second.end() == 0


def test_what_it_logs_has_names_to_search_for(start: Start, folder: Path) -> None:
    command = start(*SERVE)
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9][0-9]*", command.address)
    socket_path = (folder / "data").resolve() / "valkey.sock"
    command.line(rf" INFO    store\.ready store=unix://{re.escape(str(socket_path))} kind=valkey version=[0-9.]+$")
    command.line(rf" INFO    duty\.acquired duty=scheduler process=\S+-{command.pid}-\w+ epoch=1$")
    assert command.end() == 0
    command.line(r" INFO    duty\.released duty=scheduler ")
    assert not any(re.search(r"WARNING|ERROR", line) for line in command.lines), command.output


def test_it_leaves_the_duty_to_others_when_told(start: Start, folder: Path) -> None:
    command = start(*SERVE, "--no-scheduler")
    command.line(r"store\.ready")
    assert put(command.address) == 201
    assert call("GET", f"{command.address}/readyz").body["checks"] == {"store": "ok", "scheduler": "vacant"}
    (join,) = [f"unix://{(folder / 'data').resolve()}/valkey.sock?db=0"]
    other = start("scheduler", "--redis", join)
    waits_for_fires(command.address)
    assert is_held_by(command.address, other)
    assert command.end() == 0


def test_it_leaves_no_connection_open_when_it_ends(folder: Path) -> None:
    program = (HEADGATE[0], "-W", "always::ResourceWarning", *HEADGATE[1:])
    with Command(*SERVE, cwd=folder, program=program) as command:
        command.line(r"duty\.acquired")
        assert command.end() == 0
        assert "ResourceWarning" not in command.output, command.output


def test_the_data_dir_is_here_unless_told_otherwise(start: Start, folder: Path) -> None:
    command = start("serve", "--port", "0")
    assert put(command.address) == 201
    assert command.end() == 0
    assert [entry.name for entry in folder.iterdir()] == [".headgate"]


def test_a_namespace_sees_its_own_schedules_only(start: Start) -> None:
    for name, status in (("one", 201), ("two", 201), ("one", 200)):
        command = start(*SERVE, "--namespace", name)
        assert put(command.address) == status
        assert command.end() == 0


def test_it_listens_on_the_other_loopback_address(start: Start) -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("this machine has no IPv6")
    command = start(*SERVE, "--host", "::1")
    assert re.fullmatch(r"http://\[::1\]:[1-9][0-9]*", command.address)
    wait_for(lambda: ready(command.address))
    assert command.end() == 0


def test_a_second_process_is_told_how_to_share_the_store_and_takes_over_from_a_killed_one(
    start: Start, folder: Path
) -> None:
    first = start(*SERVE)
    assert put(first.address) == 201
    wait_for(lambda: is_held_by(first.address, first))

    code, lines = run_to_end(*SERVE, cwd=folder)
    assert code == 1
    assert len(lines) == 1
    assert f"process {first.pid};" in lines[0]
    program, *told = shlex.split(lines[0].rpartition("share its server with: ")[2])
    assert program == "headgate"
    assert told[:4] == ["serve", "--port", "0", "--redis"]
    assert told[4].startswith("unix://")

    second = start(*told)
    assert put(second.address) == 200, "both see the same schedules"
    assert is_held_by(second.address, first)
    server = server_pid(folder / "data")

    first.send(signal.SIGKILL)
    first.wait()
    wait_for(lambda: is_held_by(second.address, second))
    waits_for_fires(second.address)
    assert server_lives(folder / "data"), "the server outlives its owner"

    third = start(*SERVE)
    assert put(third.address) == 200
    assert server_pid(folder / "data") == server, "the server was adopted"
    assert second.end() == 0
    wait_for(lambda: is_held_by(third.address, third))
    assert third.end() == 0
    assert not server_lives(folder / "data"), "who adopts a server ends it"


def test_a_killed_server_is_started_again_while_it_serves(start: Start, folder: Path) -> None:
    command = start(*SERVE)
    assert put(command.address) == 201
    waits_for_fires(command.address)
    os.kill(server_pid(folder / "data"), signal.SIGKILL)
    command.line(r"embedded\.restarted pid=\d+")
    wait_for(lambda: ready(command.address))
    waits_for_fires(command.address)
    assert command.end() == 0


def test_a_second_signal_ends_it_at_once(start: Start, folder: Path) -> None:
    command = start(*SERVE)
    address = command.address
    command.line(r"duty\.acquired")
    # A server that was stopped holds up its end for seconds.
    os.kill(server_pid(folder / "data"), signal.SIGSTOP)
    command.send(signal.SIGINT)
    wait_for(lambda: call("GET", f"{address}/healthz").status == 0)
    assert command.alive
    sent = time.monotonic()
    command.send(signal.SIGINT)
    assert command.wait() == 128 + signal.SIGINT
    assert time.monotonic() - sent < 1


def test_no_failure_makes_it_print_a_payload(start: Start, folder: Path) -> None:
    """The marker stands in bodies, paths, queries and headers; that no line has it is checked with every command."""
    command = start(*SERVE)
    address = command.address
    command.line(r"duty\.acquired")
    periodic = f"{address}/api/v1/periodic"
    for fields in ({"spec": SECRET}, {"kind": f"{SECRET}!"}, {SECRET: 1}, {"backfill_limit": SECRET}):
        assert put(address, **fields) in (400, 422)
    json_type = {"Content-Type": "application/json"}
    for raw in (f'{{"{SECRET}'.encode(), SECRET.encode() + b"\xff", b'"' + SECRET.encode() * 200_000 + b'"'):
        assert call("PUT", f"{periodic}/s", raw=raw, headers=json_type).status in (400, 413)
    assert call("GET", f"{periodic}?cursor={SECRET}").status == 400
    assert call("GET", f"{periodic}/{SECRET}").status == 404
    assert call("GET", periodic, headers={"Expect": SECRET}).status == 417
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(f"{SECRET}\x01 / HTTP/9\r\nX\x00: {SECRET}\r\n\r\n".encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.")

    assert put(address, "stuck", queue="stuck") == 201
    assert put(address, "broken") == 201
    with redis.Redis(unix_socket_path=str(folder / "data" / "valkey.sock")) as client:
        # No key of Headgate's is a set of members.
        client.delete("hg:{default}:queue:stuck:available")
        client.sadd("hg:{default}:queue:stuck:available", SECRET)
        command.line(r" tick\.failed schedule=stuck .* result=failed/store_error$")
        client.delete("hg:{default}:schedule:broken")
        client.sadd("hg:{default}:schedule:broken", SECRET)
        command.line(r" schedule\.unreadable schedule=broken$")
    assert command.end() == 0
    assert SECRET not in command.output
