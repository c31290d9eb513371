"""The examples do what they say, run as users run them: a copy in a folder of one's own, a fresh process."""

from __future__ import annotations

import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import ROOT, Command, call, short_folder, wait_for
from tests.support.servers import PrivateServer

PYTHON = (sys.executable,)


@pytest.fixture
def folder() -> Iterator[Path]:
    """The examples, copied: where stores of their own will lie."""
    with short_folder() as made:
        shutil.copytree(ROOT / "examples", made / "e", ignore=shutil.ignore_patterns("__pycache__", ".*"))
        yield made / "e"


def run(*arguments: str, cwd: Path, url: str = "") -> tuple[int, list[str]]:
    """Exit code and output of Python; with the URL of a store in its environment, if there is one."""
    with Command(*arguments, cwd=cwd, program=PYTHON, env={"HEADGATE_REDIS_URL": url}) as command:
        code = command.wait()
        assert "Traceback" not in command.output, command.output
        return code, command.lines


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_every_example_is_run_here() -> None:
    tested = {"twenty_lines.py", "lifespan.py", "aiohttp_server.py", "separate_worker.py", "mail_limits.py"}
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == tested | {"test_clock_change.py"}


def test_the_script_says_hello_at_its_ticks_and_ends(folder: Path) -> None:
    """Nothing of what it imports is installed by it, and it needs no server: it brings one."""
    code, lines = run("twenty_lines.py", cwd=folder)
    assert code == 0
    ticks = [line.removeprefix("hello world, it is ") for line in lines if line.startswith("hello world")]
    assert len(ticks) >= 2
    assert len(ticks) == len(set(ticks))
    assert (folder / ".headgate").is_dir()


def test_the_script_has_twenty_lines_and_few_more() -> None:
    text = (ROOT / "examples" / "twenty_lines.py").read_text("utf-8")
    code = [line for line in text.rpartition('"""')[2].splitlines() if line.strip()]
    assert len(code) <= 20


def test_the_script_uses_the_store_of_the_environment(server: PrivateServer, folder: Path) -> None:
    code, lines = run("twenty_lines.py", cwd=folder, url=server.url)
    assert code == 0
    assert any(line.startswith("hello world") for line in lines)
    assert not (folder / ".headgate").exists()
    with server.client() as client:
        assert client.delete("hg:{default}:schedule:hello-often") == 1


LIFESPAN = """
import asyncio
from lifespan import greet_soon, jobs, lifespan

async def main():
    done = asyncio.Event()

    @jobs.middleware
    async def tell(job, call_next):
        await call_next(job)
        done.set()

    async with lifespan(object()):  # what Starlette and FastAPI do with it
        print(await greet_soon("ada"), flush=True)
        await asyncio.wait_for(done.wait(), 10)
    print("ended")

asyncio.run(main())
"""


def test_a_job_queued_by_a_route_is_run_within_the_lifespan(folder: Path) -> None:
    code, lines = run("-c", LIFESPAN, cwd=folder)
    assert code == 0
    assert lines[0].startswith("{'job': ")
    assert lines[1:] == ["hello ada", "ended"]


def test_aiohttp_runs_the_jobs_that_its_routes_queue(folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with Command("aiohttp_server.py", str(port), cwd=folder, program=PYTHON) as server:
        wait_for(lambda: listens(port))
        answer = call("POST", f"http://127.0.0.1:{port}/greetings/ada")
        assert answer.status == 202
        assert answer.body["job"]
        server.line("^hello ada$")
        assert server.end(signal.SIGTERM) == 0
        assert "Traceback" not in server.output


def test_scheduler_worker_and_program_are_three_processes(own_server: PrivateServer, folder: Path) -> None:
    env = {"HEADGATE_REDIS_URL": own_server.url}
    with (
        Command("scheduler", "--app", "separate_worker:app", cwd=folder, env=env) as scheduler,
        Command("worker", "--app", "separate_worker:app", cwd=folder, env=env) as worker,
    ):
        worker.line("^hello everybody, at a tick$")
        code, lines = run("separate_worker.py", "ada", cwd=folder, url=own_server.url)
        assert code == 0
        assert lines[0].startswith("queued ")
        worker.line("^hello ada, as asked$")
        for process in (scheduler, worker):
            assert process.end(signal.SIGTERM) == 0
            assert "Traceback" not in process.output


def test_mail_goes_out_once_and_no_faster_than_it_may(folder: Path) -> None:
    code, lines = run("mail_limits.py", cwd=folder)
    assert code == 0, lines
    assert lines[:2] == ["a second reminder? no", "it waits: not_due"]
    sent = [line.split(" to ") for line in lines[2:]]
    assert sorted(to for _, to in sent[:4]) == [f"{name}: the news" for name in ("bob", "cleo", "dora", "emil")]
    assert [to for _, to in sent[4:]] == ["ada: your basket"]
    assert float(sent[4][0]) - float(sent[0][0]) >= 0.5  # five a second begin, one at a time


def test_schedules_are_tested_across_a_clock_change(folder: Path) -> None:
    options = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:valkey")
    code, lines = run(*options, "test_clock_change.py", cwd=folder)
    assert code == 0, lines
    assert any(line.startswith("3 passed") for line in lines)


def test_the_file_of_schedules_is_applied_and_then_as_declared(server: PrivateServer, folder: Path) -> None:
    apply = ("-m", "headgate", "apply", "schedules.toml", "--prune")
    code, lines = run(*apply, cwd=folder, url=server.url)
    assert (code, lines[-1]) == (0, "created 3, changed 0, deleted 0, unchanged 0")
    code, lines = run(*apply, cwd=folder, url=server.url)
    assert (code, lines[1]) == (0, "= 3 unchanged")
    (folder / "schedules.toml").write_text('owner = "reports"')
    code, lines = run(*apply, cwd=folder, url=server.url)
    assert (code, lines[-1]) == (0, "created 0, changed 0, deleted 3, unchanged 0")
