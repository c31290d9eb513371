"""`headgate serve --redis`: it waits for its store, outlives its loss, and says what is wrong with it."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.conftest import Start
from tests.cli.test_serve import is_held_by, put, ready, waits_for_fires
from tests.support.commands import Answer, call, run_to_end, wait_for
from tests.support.servers import PrivateServer

PASSWORD = "correct-horse-battery"
AWAY = Answer(503, {"ready": False, "checks": {"store": "store_unavailable", "scheduler": "unknown"}})


class OldServer(socketserver.StreamRequestHandler):
    """Answers INFO as an old server does, and takes nothing but a client's name."""

    def handle(self) -> None:
        info = b"redis_version:6.2.14\r\n"
        while count := self.rfile.readline()[1:]:
            words = [self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2] for _ in range(int(count))]
            answers = {b"INFO": b"$%d\r\n%s\r\n" % (len(info), info), b"CLIENT": b"+OK\r\n"}
            self.wfile.write(answers.get(words[0].upper(), b"-ERR not so\r\n"))


@contextmanager
def old_server() -> Iterator[str]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), OldServer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"redis://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_it_serves_and_leaves_the_store_as_it_is(start: Start, folder: Path, own_server: PrivateServer) -> None:
    first = start("serve", "--port", "0", "--redis", own_server.url)
    assert put(first.address) == 201
    waits_for_fires(first.address)
    second = start("serve", "--port", "0", "--redis", own_server.url)
    assert put(second.address) == 200
    assert first.end() == 0
    wait_for(lambda: is_held_by(second.address, second), seconds=2)
    waits_for_fires(second.address)
    assert second.end() == 0
    with own_server.client() as client:
        assert client.ping()
    assert list(folder.iterdir()) == [], "no store of its own"


def test_a_store_that_is_away_at_the_start_is_waited_for(start: Start, own_server: PrivateServer) -> None:
    own_server.kill()
    command = start("serve", "--port", "0", "--redis", own_server.url)
    command.line(r" WARNING store\.away store=unix://\S+ detail=the store ")
    assert call("GET", f"{command.address}/readyz") == AWAY
    assert call("GET", f"{command.address}/healthz").status == 200
    own_server.start()
    wait_for(lambda: ready(command.address))
    command.line(r" INFO    store\.ready ")
    assert put(command.address) == 201
    waits_for_fires(command.address)
    assert command.end() == 0


def test_it_outlives_a_store_that_is_killed(start: Start, own_server: PrivateServer) -> None:
    command = start("serve", "--port", "0", "--redis", own_server.url)
    assert put(command.address) == 201
    waits_for_fires(command.address)
    own_server.kill()
    command.line(r" WARNING (sweep|duty\.heartbeat|wakeups)[._]?failed ")
    assert call("GET", f"{command.address}/readyz") == AWAY
    assert command.alive
    own_server.start()
    wait_for(lambda: ready(command.address))
    waits_for_fires(command.address)
    assert command.end() == 0


def test_it_can_be_ended_while_the_store_is_away(start: Start, own_server: PrivateServer) -> None:
    own_server.kill()
    command = start("serve", "--port", "0", "--redis", own_server.url)
    command.line(r" WARNING store\.away ")
    assert command.end() == 0


def test_a_refused_password_is_in_no_output(start: Start, own_server: PrivateServer) -> None:
    with own_server.client() as client:
        client.config_set("requirepass", "another")
    command = start("serve", "--port", "0", "--redis", f"{own_server.url}&password={PASSWORD}")
    command.line(r" WARNING store\.away store=unix://\S+ detail=the store ")
    assert not ready(command.address)
    assert command.end() == 0
    assert PASSWORD not in command.output


def test_a_refused_password_is_named_as_what_is_wrong(start: Start, own_server: PrivateServer) -> None:
    with own_server.client() as client:
        client.config_set("requirepass", "another")
    command = start("serve", "--port", "0", "--redis", f"{own_server.url}&password={PASSWORD}")
    assert "authentication" in command.line(r" WARNING store\.away .*")[0]


def test_a_store_that_is_too_old_is_refused_by_name(folder: Path) -> None:
    with old_server() as url:
        code, lines = run_to_end("serve", "--port", "0", "--redis", url, cwd=folder)
    assert code == 1
    assert lines[-1] == "headgate: the server is Redis 6.2.14; Headgate needs Redis >= 7.0 or Valkey >= 7.2"


def test_a_store_that_may_lose_schedules_is_warned_of(start: Start, own_server: PrivateServer) -> None:
    with own_server.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("appendonly", "no")
    command = start("serve", "--port", "0", "--redis", own_server.url)
    command.line(r" WARNING store\.warning detail=maxmemory-policy is allkeys-lru: ")
    command.line(r" WARNING store\.warning detail=appendonly is off: ")
    assert command.end() == 0
