"""`--app`: which application is meant, why it cannot be had, and where it runs."""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headgate import Headgate, HeadgateError
from headgate.cli.load import load_app
from headgate.cli.node import open_node
from headgate.errors import InvalidRequest
from tests.cli.conftest import Ended, Start, check_refused
from tests.support.commands import call, run_to_end, server_lives, wait_for
from tests.support.servers import PrivateServer

PASSWORD = "correct-horse-battery"
MINE, THEIRS, GIVEN = "redis://mine", "redis://theirs", "redis://given"

APP = """
import headgate

app = headgate.Headgate({arguments})

@app.actor("greet")
async def greet(job: headgate.Job, name: str) -> None:
    print(f"hello {{name}}, attempt {{job.attempt}}", flush=True)

app.periodic("often", "@every:100", kind="greet", payload={{"name": "tick"}})
"""


def write_app(folder: Path, arguments: str = "") -> None:
    (folder / "jobs.py").write_text(APP.format(arguments=arguments))


@pytest.fixture
def name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module that nothing has imported; it is forgotten afterwards."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    made = f"m{uuid.uuid4().hex}"
    yield made
    for each in [each for each in sys.modules if each.partition(".")[0] == made]:
        del sys.modules[each]


# which one is meant


def test_an_application_of_the_current_directory_is_found(folder: Path, name: str) -> None:
    (folder / f"{name}.py").write_text("import headgate\napp = headgate.Headgate()\n")
    assert isinstance(load_app(f"{name}:app"), Headgate)


def test_so_is_one_in_a_package_and_inside_another_object(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    (folder / name / "jobs.py").write_text("import headgate\nclass Held:\n    app = headgate.Headgate()\n")
    assert isinstance(load_app(f"{name}.jobs:Held.app"), Headgate)


# why it cannot be had


@pytest.mark.parametrize("path", ["jobs", "jobs:", ":app", "", ".jobs:app", ":"])
def test_what_is_no_path_is_refused_with_an_example(ended: Callable[..., Ended], folder: Path, path: str) -> None:
    check_refused(ended("worker", "--app", path), folder, f"{path!r} is not module:attribute, as in myproject.jobs:app")


@pytest.mark.parametrize(
    "case",
    [
        (None, "{}:app", "there is no module '{}'"),
        (None, "{}.jobs:app", "there is no module '{}'"),
        ("", "{}.jobs:app", "there is no module '{}.jobs'"),
        ("", "{}..jobs:app", "there is no module '{}.'"),
        ("", "{}:app", "module '{}' has no attribute 'app'"),
        ("app = {}", "{}:app.x", "module '{}' has no attribute 'app.x'"),
        ("app = {}", "{}:app", "'{}:app' is of type dict, not a headgate.Headgate"),
        ("import headgate as app", "{}:app.Headgate", "is of type type, not a headgate.Headgate"),
        ("\nimport no_such_module_x", "{}:app", "ModuleNotFoundError in {}.py, line 2: No module named 'no_such"),
        ("from os import no_such_name_x", "{}:app", "ImportError in {}.py, line 1: cannot import name 'no_such"),
        ("x = 1\nif", "{}:app", "module '{}' raised SyntaxError in {}.py, line 2: invalid syntax"),
        ("import os\nos.environ['NOT_SET']", "{}:app", "raised KeyError in {}.py, line 2; python -c 'import {}'"),
        ("def f():\n  f()\nf()", "{}:app", "raised RecursionError in {}.py, line 3;"),
        ("raise SystemExit(3)", "{}:app", "raised SystemExit in {}.py, line 1;"),
        (
            "import headgate as h\nh.Headgate().actor('a b')(print)",
            "{}:app",
            "InvalidRequest in {}.py, line 2: kind 'a b' ",
        ),
    ],
)
def test_the_part_that_is_wrong_is_named(
    ended: Callable[..., Ended], folder: Path, name: str, case: tuple[str | None, str, str]
) -> None:
    source, path, refusal = case
    if source is not None:
        (folder / f"{name}.py").write_text(source)
    check_refused(ended("worker", "--app", path.replace("{}", name)), folder, refusal.replace("{}", name))


@pytest.mark.parametrize("command", ["serve", "scheduler"])
def test_every_command_that_takes_one_refuses_it_so(ended: Callable[..., Ended], folder: Path, command: str) -> None:
    check_refused(ended(command, "--app", "no_such_module_x:app"), folder, "there is no module 'no_such_module_x'")


def test_the_line_is_that_of_the_innermost_module(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    (folder / name / "jobs.py").write_text(f"import {name}.config\n")
    (folder / name / "config.py").write_text("\n\nint('many')\n")
    with pytest.raises(InvalidRequest, match=r"raised ValueError in config\.py, line 3;"):
        load_app(f"{name}.jobs:app")


def test_the_words_of_a_foreign_error_are_left_out(folder: Path, name: str) -> None:
    (folder / f"{name}.py").write_text(f"from urllib.parse import urlsplit\nurlsplit('redis://h:{PASSWORD}').port\n")
    with pytest.raises(InvalidRequest, match="raised ValueError") as caught:
        load_app(f"{name}:app")
    assert PASSWORD not in caught.value.message


def test_there_is_one_line_and_no_traceback(folder: Path, program: tuple[str, ...]) -> None:
    (folder / "jobs.py").write_text("1 / 0\n")
    refused = run_to_end("serve", "--app", "jobs:app", cwd=folder, program=program)
    check_refused(refused, folder, "module 'jobs' raised ZeroDivisionError in jobs.py, line 1;")


@pytest.mark.parametrize("url", [f"http://:{PASSWORD}@localhost", f"redis://:{PASSWORD}#@localhost"])
def test_an_application_with_a_bad_url_is_refused_without_its_password(folder: Path, url: str) -> None:
    write_app(folder, repr(url))
    code, lines = run_to_end("worker", "--app", "jobs:app", cwd=folder)
    check_refused((code, lines), folder, "redis_url")
    assert PASSWORD not in lines[0]


# where it runs


@pytest.mark.parametrize(
    ("given", "own", "environment", "used"),
    [
        (GIVEN, MINE, THEIRS, GIVEN),
        (GIVEN, None, THEIRS, GIVEN),
        (None, MINE, THEIRS, MINE),
        (None, MINE, None, MINE),
        (None, None, THEIRS, THEIRS),
    ],
)
async def test_the_option_beats_the_application_which_beats_the_environment(
    monkeypatch: pytest.MonkeyPatch, given: str | None, own: str | None, environment: str | None, used: str
) -> None:
    monkeypatch.setenv("HEADGATE_REDIS_URL", environment or "")
    options = argparse.Namespace(redis=given, data_dir=None, namespace=None)
    async with open_node(options, Headgate(own, namespace="mine")) as node:
        assert (node.url, node.namespace) == (used, "mine")


async def test_a_directory_that_is_asked_for_beats_every_other_url(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("HEADGATE_REDIS_URL", THEIRS)
    options = argparse.Namespace(redis=None, data_dir=folder / "data", namespace="given")
    async with open_node(options, Headgate(MINE)) as node:
        assert node.url.startswith("unix://")
        assert node.namespace == "given"
        assert server_lives(folder / "data")


async def test_without_any_url_it_is_the_directory_of_the_application(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("HEADGATE_REDIS_URL", "")
    options = argparse.Namespace(redis=None, data_dir=None, namespace=None)
    async with open_node(options, Headgate(data_dir=folder / "own")):
        assert server_lives(folder / "own")


async def test_an_application_without_url_uses_the_environment_in_its_own_program_too(
    monkeypatch: pytest.MonkeyPatch, server: PrivateServer
) -> None:
    """Else a program that enqueues and a worker of the same application would not meet."""
    monkeypatch.setenv("HEADGATE_REDIS_URL", server.url)
    async with Headgate(namespace=f"t-{uuid.uuid4().hex}") as app:
        await app.enqueue("greet")
    monkeypatch.setenv("HEADGATE_REDIS_URL", "http://nonsense")
    with pytest.raises(HeadgateError, match="redis_url"):
        await Headgate().__aenter__()


def test_serve_schedules_and_works_and_answers_in_one_process(start: Start, folder: Path) -> None:
    write_app(folder)
    command = start("serve", "--port", "0", "--app", "jobs:app")
    command.line(r"^hello tick, attempt 1$")
    made = call(
        *("POST", f"{command.address}/api/v1/jobs", {"kind": "greet", "payload": {"name": "caller"}}),
        headers={"Idempotency-Key": "k"},
    )
    assert made.status == 201
    command.line(r"^hello caller, attempt 1$")
    listed = call("GET", f"{command.address}/api/v1/periodic").body["schedules"]
    assert [schedule["id"] for schedule in listed] == ["often"], "what is declared is written at the start"
    assert command.end() == 0
    assert not server_lives(folder / ".headgate")
    command.line(r" duty\.released ")


def test_a_scheduler_and_a_worker_share_a_store_of_the_environment(
    start: Start, folder: Path, own_server: PrivateServer
) -> None:
    write_app(folder)
    env = {"HEADGATE_REDIS_URL": own_server.url}
    scheduler = start("scheduler", **env)
    scheduler.line(r" duty\.acquired ")
    worker = start("worker", "--app", "jobs:app", **env)
    worker.line(r"^hello tick, attempt 1$")
    worker.line(r"^hello tick, attempt 1$", after=len(worker.lines))
    assert scheduler.end() == 0
    assert worker.end() == 0
    for command in (scheduler, worker):
        assert "api.listening" not in command.output
    assert "hello" not in scheduler.output
    assert "duty." not in worker.output
    assert not (folder / ".headgate").exists()


def test_a_scheduler_with_an_application_writes_its_schedules_and_runs_no_job(
    start: Start, folder: Path, own_server: PrivateServer
) -> None:
    write_app(folder, repr(own_server.url))
    scheduler = start("scheduler", "--app", "jobs:app", "--namespace", "apart")
    with own_server.client() as client:
        wait_for(lambda: bool(client.exists("hg:{apart}:events:often")))
    assert scheduler.end() == 0
    assert "hello" not in scheduler.output
    scheduler.line(r" duty\.released ")
