"""The deploy files, as far as they can be checked without a container engine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import redis

from headgate.cli.main import _parser
from tests.support.commands import ROOT, short_folder, wait_for
from tests.support.servers import binary_of

DEPLOY = ROOT / "deploy"


def read(name: str) -> str:
    return (DEPLOY / name).read_text("utf-8")


def commands() -> list[list[str]]:
    """What the containers run of Headgate: the image's own command and those of the services."""
    (of_image,) = re.findall(r"^CMD (\[.*\])$", read("Dockerfile"), re.MULTILINE)
    of_services = re.findall(r"^    command: (\[.*\])$", read("compose.yaml"), re.MULTILINE)
    found = [json.loads(text) for text in [of_image, *of_services]]
    return [command for command in found if command[0] != "valkey-server"]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_the_command_line_takes_every_command(command: list[str]) -> None:
    """And what is named by ``--app`` is in the folder that the image puts where it runs."""
    options = _parser().parse_args(command)
    assert command[0] in {"serve", "scheduler", "worker"}
    if options.app:
        module, _, attribute = options.app.partition(":")
        assert f"\n{attribute} = headgate.Headgate(" in (ROOT / "examples" / f"{module}.py").read_text("utf-8")


def test_compose_runs_an_api_two_schedulers_and_two_workers_on_one_valkey() -> None:
    services = re.split(r"^  (?=[a-z]+:$)", read("compose.yaml").partition("\nservices:\n")[2], flags=re.MULTILINE)
    by_name = {block.partition(":")[0]: block for block in services if block.strip()}
    assert set(by_name) == {"valkey", "api", "scheduler", "worker"}
    replicas = {name: re.findall(r"replicas: (\d+)", block) for name, block in by_name.items()}
    assert replicas == {"valkey": [], "api": [], "scheduler": ["2"], "worker": ["2"]}
    for name in ("api", "scheduler", "worker"):
        assert "<<: *headgate" in by_name[name]
    assert "./valkey.conf:/etc/valkey/valkey.conf:ro" in by_name["valkey"]
    assert "valkey-data:/data" in by_name["valkey"]


def test_the_store_is_reached_by_no_other_machine_and_the_api_by_this_one() -> None:
    published = re.findall(r'^ +- "(.*:.*:.*)"$', read("compose.yaml"), re.MULTILINE)
    assert published == ["127.0.0.1:8420:8420"]


def test_jobs_have_their_grace_before_the_container_is_killed() -> None:
    text = read("compose.yaml")
    (stop,) = re.findall(r"^  stop_grace_period: (\d+)s$", text, re.MULTILINE)
    (grace,) = re.findall(r'"--shutdown-grace", "(\d+)"', text)
    assert int(stop) > int(grace)


def test_compose_is_indented_as_yaml_wants_it() -> None:
    """Two spaces a step, no tabs, and no key twice in one block."""
    seen: dict[tuple[str, ...], int] = {}
    path: list[str] = []
    for number, line in enumerate(read("compose.yaml").splitlines(), 1):
        assert "\t" not in line
        assert line == line.rstrip()
        match = re.match(r"( *)([a-zA-Z_<-][\w<.-]*):(?: |$)", line)
        if match is None:
            continue
        depth, odd = divmod(len(match[1]), 2)
        assert not odd, f"line {number}"
        assert depth <= len(path), f"line {number} is too deep"
        path = [*path[:depth], match[2]]
        assert tuple(path) not in seen, f"line {number} repeats line {seen[tuple(path)]}"
        seen[tuple(path)] = number


def test_the_image_runs_as_nobody_special_and_asks_for_its_health() -> None:
    lines = read("Dockerfile").splitlines()
    last_stage = lines[max(number for number, line in enumerate(lines) if line.startswith("FROM ")) :]
    (user,) = [line.split()[1] for line in last_stage if line.startswith("USER ")]
    assert int(user) > 0
    assert last_stage.index(f"USER {user}") < last_stage.index('ENTRYPOINT ["headgate"]')
    assert "HEALTHCHECK" in read("Dockerfile")


def test_the_image_copies_what_exists_and_what_the_build_needs() -> None:
    text = read("Dockerfile")
    copied = [source for line in re.findall(r"^COPY (?!--)(.*)$", text, re.MULTILINE) for source in line.split()[:-1]]
    assert all((ROOT / source).exists() for source in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    build = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    named = [
        project["project"]["readme"],
        *project["project"]["license-files"],
        *build["packages"],
        *build["force-include"],
    ]
    assert set(named) <= set(copied)


def test_the_health_check_is_python_that_runs_and_fails_when_nobody_serves() -> None:
    (text,) = re.findall(r"^  CMD (\[.*\])$", read("Dockerfile"), re.MULTILINE)
    program, option, code = json.loads(text)
    assert (program, option) == ("python", "-c")
    assert "127.0.0.1:8420/healthz" in code
    nobody = code.replace("8420", "1")
    run = subprocess.run([sys.executable, option, nobody], capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode != 0
    assert "URLError" in run.stderr


def test_valkey_takes_its_configuration_and_evicts_nothing() -> None:
    """The file as it is; only where it listens and writes is overridden, as nothing here may be shared."""
    binary = binary_of("valkey")
    assert binary is not None
    with short_folder() as folder:
        socket = folder / "s"
        override = ("--port", "0", "--unixsocket", str(socket), "--dir", str(folder))
        with subprocess.Popen(
            [binary, str(DEPLOY / "valkey.conf"), *override],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as child:
            try:
                wait_for(lambda: child.poll() is not None or answers(socket))
                assert child.poll() is None, child.communicate()[0]
                with redis.Redis(unix_socket_path=str(socket), decode_responses=True) as client:
                    found = client.config_get("*")
                assert found["maxmemory-policy"] == "noeviction"
                assert (found["appendonly"], found["appendfsync"]) == ("yes", "everysec")
                assert int(found["maxmemory"]) > 0
            finally:
                child.terminate()


def answers(socket: Path) -> bool:
    with redis.Redis(unix_socket_path=str(socket)) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
