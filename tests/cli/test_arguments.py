"""Arguments: what is refused is refused in one line, before anything is started, and with no secret in it."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate import __version__
from headgate.cli.api import check_host
from headgate.errors import InvalidRequest
from tests.cli.conftest import Ended, check_refused
from tests.support.commands import run_to_end, server_lives

PASSWORD = "correct-horse-battery"


def test_version_and_help_are_printed(folder: Path, program: tuple[str, ...]) -> None:
    assert run_to_end("--version", cwd=folder, program=program) == (0, [f"headgate {__version__}"])
    code, lines = run_to_end("--help", cwd=folder, program=program)
    assert code == 0
    assert lines[0].startswith("usage: headgate ")
    for command in ("serve", "scheduler", "worker", "explain", "demo"):
        assert any(line.startswith(f"    {command} ") for line in lines)


@pytest.mark.parametrize("command", ["serve", "scheduler", "worker", "explain", "demo"])
def test_each_command_explains_itself(ended: Callable[..., Ended], command: str) -> None:
    code, lines = ended(command, "--help")
    assert code == 0
    assert lines[0].startswith(f"usage: headgate {command} ")


def test_no_arguments_end_with_2_and_the_usage(folder: Path, program: tuple[str, ...]) -> None:
    code, lines = run_to_end(cwd=folder, program=program)
    assert code == 2
    assert lines[0].startswith("usage: headgate ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("sever",),
        ("serve", "--redis", "redis://localhost", "--data-dir", "here"),
        ("serve", "--port", "http"),
        ("demo", "--seconds", "soon"),
        ("demo", "--redis", "redis://localhost"),
        ("scheduler", "--port", "0"),
        ("worker",),
        ("worker", "--app", "jobs:app", "--concurrency", "0"),
        ("worker", "--app", "jobs:app", "--concurrency", "10001"),
        ("worker", "--app", "jobs:app", "--shutdown-grace", "-1"),
        ("explain",),
    ],
)
def test_wrong_arguments_end_with_2_and_the_usage(
    ended: Callable[..., Ended], folder: Path, arguments: tuple[str, ...]
) -> None:
    code, lines = ended(*arguments)
    assert code == 2
    assert lines[0].startswith("usage: headgate")
    assert ": error: " in lines[-1]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [("serve", "--port", "-1"), ("serve", "--port", "65536"), ("demo", "--port", "65536")]
)
def test_a_port_out_of_range_is_refused(folder: Path, arguments: tuple[str, ...]) -> None:
    code, lines = run_to_end(*arguments, cwd=folder)
    assert code in (1, 2)
    assert "port" in lines[-1]


@pytest.mark.parametrize("seconds", ["nan", "-1"])
def test_a_time_that_is_none_is_refused(folder: Path, seconds: str) -> None:
    code, lines = run_to_end("demo", "--port", "0", f"--seconds={seconds}", cwd=folder)
    assert code in (1, 2)
    assert "seconds" in lines[-1]


@pytest.mark.parametrize(
    "url",
    [
        f"http://user:{PASSWORD}@localhost",
        f"redis://:{PASSWORD}@localhost/x",
        f"redis://:{PASSWORD}#@localhost",
        f"redis://:{PASSWORD}@localhost:port",
        f"redis://localhost?password={PASSWORD}&socket_timeout=9",
        f"unix://{PASSWORD}",
        f"unix://:{PASSWORD}@",
        PASSWORD,
        "",
    ],
)
def test_a_bad_url_is_refused_without_its_password(ended: Callable[..., Ended], folder: Path, url: str) -> None:
    code, lines = ended("serve", "--port", "0", "--redis", url)
    check_refused((code, lines), folder, "redis_url")
    assert PASSWORD not in lines[0]


def test_a_refusal_has_no_traceback_and_no_secret(folder: Path) -> None:
    code, lines = run_to_end("serve", "--port", "0", "--redis", f"http://:{PASSWORD}@localhost", cwd=folder)
    check_refused((code, lines), folder, "redis_url")
    assert PASSWORD not in lines[0]


@pytest.mark.parametrize("command", ["serve", "scheduler"])
def test_so_is_one_of_the_environment(
    ended: Callable[..., Ended], folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("HEADGATE_REDIS_URL", f"http://:{PASSWORD}@localhost")
    code, lines = ended(command)
    check_refused((code, lines), folder, "redis_url")
    assert PASSWORD not in lines[0]


def test_a_bad_namespace_is_refused(ended: Callable[..., Ended], folder: Path) -> None:
    refused = ended("serve", "--port", "0", "--redis", "redis://localhost", "--namespace", "a b")
    check_refused(refused, folder, "namespace 'a b'")


def test_a_host_that_others_can_reach_is_refused(folder: Path) -> None:
    refused = run_to_end("serve", "--port", "0", "--host", "0.0.0.0", cwd=folder)
    check_refused(refused, folder, "host '0.0.0.0'", "--insecure")


@pytest.mark.parametrize("host", ["::", "192.0.2.1", "2001:db8::1", "example.org", ""])
def test_so_is_any_that_is_not_loopback(ended: Callable[..., Ended], folder: Path, host: str) -> None:
    check_refused(ended("serve", "--port", "0", "--host", host), folder, "--insecure")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_no_leave(host: str) -> None:
    check_host(host, asks=False, insecure=False)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "fe80::1", "0", "localhost.example.org", "127.0.0.1.example.org", " ", "*"]
)
def test_any_other_host_needs_it(host: str) -> None:
    with pytest.raises(InvalidRequest, match="--insecure") as caught:
        check_host(host, asks=False, insecure=False)
    assert caught.value.field == "host"
    check_host(host, asks=False, insecure=True)
    check_host(host, asks=True, insecure=False)


def test_a_port_that_is_taken_is_refused_in_one_line(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, lines = run_to_end("serve", "--port", str(port), cwd=folder)
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith(f"headgate: port {port} of 127.0.0.1 cannot be had: Address already in use")
    assert not server_lives(folder / ".headgate")


def test_a_host_that_has_no_address_is_refused_in_words(ended: Callable[..., Ended], folder: Path) -> None:
    code, lines = ended(
        *("serve", "--port", "0", "--host", "headgate.invalid", "--insecure", "--redis", "redis://localhost")
    )
    check_refused((code, lines), folder, "headgate.invalid")
    assert "Unknown error" not in lines[0]


@pytest.mark.parametrize("command", ["serve", "demo"])
@pytest.mark.parametrize(("name", "reason"), [("letter", "cannot be used"), ("shared", "chmod it to 700")])
def test_a_data_dir_that_is_none_is_refused_in_one_line(
    ended: Callable[..., Ended], folder: Path, command: str, name: str, reason: str
) -> None:
    (folder / "letter").write_text("mine")
    (folder / "shared").mkdir(mode=0o755)
    shutil.copy(folder / "letter", folder / "shared")
    code, lines = ended(command, "--port", "0", "--data-dir", name)
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith(f"headgate: data directory {folder.resolve() / name} ")
    assert reason in lines[0]
