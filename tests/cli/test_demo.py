"""`headgate demo`: what it prints is so, can be typed as it stands, and is seen to happen."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import Start
from tests.support.commands import HEADGATE, Answer, Command, call, environment, server_lives, short_folder, wait_for

RUN = (r"every-3s +job failed ", r"every-3s +job completed .* attempt 2", r"catch-up +job completed ")
READY = r"^Ctrl-C ends it\."
TICK = re.compile(r"\d\d:\d\d:\d\d\.\d  (\S+) +(\w+/\w+) +(\d+) ms late(?:  job (\S+))?")
JOB = re.compile(
    r"\d\d:\d\d:\d\d\.\d  (\S+|\(by hand\)) +job (completed|failed|handed back) +(\d+) ms long"
    r"  attempt (\d+)(?:, [\w: ]+)?"
)
RANGE = re.compile(r" {12}discarded: \d\d:\d\d:\d\d\.\d( to \d\d:\d\d:\d\d\.\d)?")


class Show(NamedTuple):
    """A demo that ran until everything had been seen, and then ended on Ctrl-C."""

    hello: list[str]
    answers: dict[str, Answer]
    by_redis_cli: str | None
    account: list[str]
    code: int
    goodbye: list[str]
    left_a_server: bool


def run_curl(line: str) -> Answer:
    """Run the line in a shell, as it stands but for the status asked for behind it; by hand where there is no curl."""
    if shutil.which("curl") is None:
        words = iter(shlex.split(line)[1:])
        method, headers, url = "GET", {}, ""
        for word in words:
            if word == "-X":
                method = next(words)
            elif word == "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            else:
                url = word
        return call(method, url, headers=headers)
    ended = subprocess.run(
        f"{line} -sS -w '\\n%{{http_code}}'", shell=True, capture_output=True, text=True, timeout=10, check=True
    )
    text, _, status = ended.stdout.rpartition("\n")
    return Answer(int(status), json.loads(text))


def commands_in(lines: list[str], name: str) -> list[str]:
    return [line.strip() for line in lines if re.match(rf"  \S*{name} ", line)]


def address_in(lines: list[str]) -> str:
    """Where the printed commands find the API."""
    addresses = set(re.findall(r"http://[0-9.]+:\d+", "\n".join(lines)))
    assert len(addresses) == 1
    return str(addresses.pop())


@pytest.fixture(scope="module")
def show() -> Iterator[Show]:
    with short_folder() as folder, Command("demo", "--port", "0", cwd=folder) as demo:
        demo.line(READY)
        hello = [*demo.lines]
        answers = {line: run_curl(line) for line in commands_in(hello, "curl")}
        for pattern in ("every-3s  enqueued/accepted", "poison    skipped/quarantined", "discarded: ", *RUN):
            demo.line(pattern)
        by_redis_cli = None
        if shutil.which("redis-cli"):
            (line,) = commands_in(hello, "redis-cli")
            by_redis_cli = subprocess.run(
                line, shell=True, capture_output=True, text=True, timeout=10, check=True
            ).stdout
        demo.send(signal.SIGINT, whole_group=True)
        code = demo.wait()
        assert "Traceback" not in demo.output, demo.output
        end = demo.lines.index(next(line for line in demo.lines if line.startswith("Ended; ")))
        yield Show(
            hello=hello,
            answers=answers,
            by_redis_cli=by_redis_cli,
            account=demo.lines[len(hello) : end],
            code=code,
            goodbye=demo.lines[end:],
            left_a_server=server_lives(folder / ".headgate-demo"),
        )


def test_its_first_lines_say_what_runs_and_what_to_try(show: Show) -> None:
    assert len(show.hello) <= 20, "more than fits a small terminal"
    assert max(map(len, show.hello)) <= 120
    assert commands_in(show.hello, "curl")
    assert commands_in(show.hello, "redis-cli")
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d*", address_in(show.hello))


def test_every_curl_line_does_what_it_shows(show: Show) -> None:
    assert len(show.answers) >= 3
    for line, answer in show.answers.items():
        assert answer.status == (202 if "-X POST" in line else 200), (line, answer)


def test_every_command_it_prints_is_safe_in_every_shell(show: Show) -> None:
    for name in ("curl", "redis-cli"):
        for line in commands_in(show.hello + show.goodbye, name):
            unquoted = re.sub(r"'[^']*'", "", line)
            assert not re.search(r"[?*\[\]{}&;!~$#]", unquoted), line


def test_its_redis_cli_line_shows_the_trail(show: Show) -> None:
    if show.by_redis_cli is None:
        pytest.skip("no redis-cli on this machine")
    event = json.loads(show.by_redis_cli.splitlines()[0])
    assert event["outcome"] == "enqueued"


def test_its_account_shows_what_ran_what_was_skipped_and_what_was_discarded(show: Show) -> None:
    ticks = [match.groups() for line in show.account if (match := TICK.fullmatch(line))]
    became = {schedule: {tick[1] for tick in ticks if tick[0] == schedule} for schedule, *_ in ticks}
    assert became["poison"] == {"skipped/quarantined"}
    assert became["every-3s"] == became["catch-up"] == {"enqueued/accepted"}
    assert "on-hold" not in became, "what is paused does not fire"
    for schedule, outcome, _, job in ticks:
        assert (job is not None) == outcome.startswith("enqueued/")
        assert job is None or job.startswith(f"sched-{schedule}-")
    for line in show.account:
        known = any(pattern.fullmatch(line) for pattern in (TICK, JOB, RANGE))
        assert not line or line.startswith("-- ") or known, line
    ranges = [position for position, line in enumerate(show.account) if RANGE.fullmatch(line)]
    assert ranges
    assert all(TICK.fullmatch(show.account[position - 1]) for position in ranges), "a range stands below its tick"


def test_its_account_shows_jobs_that_run_fail_and_take_long(show: Show) -> None:
    jobs = [match.groups() for line in show.account if (match := JOB.fullmatch(line))]
    assert {job[1] for job in jobs if job[0] == "catch-up"} >= {"completed"}
    assert all(int(job[2]) >= 1_900 for job in jobs if job[:2] == ("catch-up", "completed")), "one is slow"
    assert {(job[1], job[3]) for job in jobs if job[0] == "every-3s"} >= {("failed", "1"), ("completed", "2")}
    assert not any(job[0] == "poison" for job in jobs), "what is barred does not run"
    assert ("(by hand)", "completed") in {job[:2] for job in jobs}, "the curl line made one"


def test_ctrl_c_ends_it_with_a_goodbye(show: Show) -> None:
    assert show.code == 0
    assert not show.left_a_server
    assert len(commands_in(show.goodbye, "curl")) >= 1


def test_its_time_is_up_when_it_says_so_and_the_printed_command_goes_on(folder: Path, program: tuple[str, ...]) -> None:
    with Command(
        "demo", "--port", "0", "--seconds", "0.1", "--data-dir", "my data", cwd=folder, program=program
    ) as demo:
        assert demo.wait() == 0
        lines = [*demo.lines]
    assert not server_lives(folder / "my data")
    goodbye = lines[lines.index(next(line for line in lines if line.startswith("Ended; "))) :]
    (line,) = [line for line in goodbye if " serve " in line]
    with Command("--port", "0", cwd=folder, program=shlex.split(line)) as serve:
        address = serve.address
        curls = commands_in(goodbye, "curl")
        assert curls
        for curl in curls:
            assert run_curl(curl.replace(address_in(goodbye), address)).status == 200
        listed = call("GET", f"{address}/api/v1/periodic").body
        assert {schedule["id"] for schedule in listed["schedules"]} >= {"every-3s", "poison", "on-hold"}
        wait_for(lambda: call("GET", f"{address}/readyz").status == 200)
        enqueued = call("POST", f"{address}/api/v1/periodic/on-hold/run", headers={"Idempotency-Key": "k"}).body
        wait_for(lambda: call("GET", f"{address}/api/v1/jobs/{enqueued['job_id']}").body["state"] == "completed")
        assert serve.end() == 0


def test_it_takes_another_port_if_its_own_is_taken(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        demo = start("demo", "--port", str(port))
        demo.line(READY)
        address = address_in(demo.lines)
        assert not address.endswith(f":{port}")
        assert call("GET", f"{address}/healthz").status == 200
        assert demo.end() == 0


def test_it_takes_the_port_it_was_given(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    demo = start("demo", "--port", str(port))
    demo.line(READY)
    assert address_in(demo.lines) == f"http://127.0.0.1:{port}"
    assert demo.end() == 0


def test_it_runs_again_on_what_the_last_one_left(start: Start, folder: Path) -> None:
    for _ in range(2):
        demo = start("demo", "--port", "0")
        demo.line(READY)
        for line in commands_in(demo.lines, "curl"):
            assert run_curl(line).status in (200, 202)
        assert demo.end() == 0
    assert [entry.name for entry in folder.iterdir()] == [".headgate-demo"]


def test_a_reader_that_goes_away_is_no_failure_of_its_own(folder: Path) -> None:
    with subprocess.Popen(
        [*HEADGATE, "demo", "--port", "0"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        demo.stdout.readline()
        demo.stdout.close()
        demo.send_signal(signal.SIGINT)
        assert demo.stderr.read() == ""
