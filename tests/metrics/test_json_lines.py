"""`--log-json`: one JSON object a line, whoever logs; the fields of an event are values."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import StoreUnavailable
from headgate.log import JsonLines, log_event
from headgate.models import JobState
from tests.jobs.acts import enqueue
from tests.support.commands import Command, short_folder
from tests.support.servers import PrivateServer
from tests.support.worlds import World

SECRET = "words-of-a-payload"
APP = """
import logging
import headgate

app = headgate.Headgate()
logging.basicConfig(format="plain %(message)s")

@app.actor("greet")
async def greet(job: headgate.Job, note: str = "") -> None:
    job.logger.info("hello %s", "you")
    logging.getLogger("theirs").warning("two\\nlines")
    raise RuntimeError(note)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as made:
        (made / "jobs.py").write_text(APP)
        yield made


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Command]]:
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(Command(*arguments, "--log-json", cwd=folder))


def on(world: World) -> tuple[str, ...]:
    return ("--redis", world.url, "--namespace", world.namespace)


def parsed(command: Command) -> list[dict[str, Any]]:
    """All it printed; each line is one object with what every line has."""
    lines = [json.loads(line) for line in command.lines]
    for line in lines:
        assert list(line)[:3] == ["time", "level", "event"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
        assert line["level"] in {"DEBUG", "INFO", "WARNING", "ERROR"}
    assert lines
    return lines


def of_event(lines: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["event"] == event]


def test_a_scheduler_logs_json(world: World, server: PrivateServer, start: Callable[..., Command]) -> None:
    command = start("scheduler", *on(world))
    command.line(r'"duty\.acquired".*"scheduler"')
    assert command.end() == 0
    lines = parsed(command)
    [ready] = of_event(lines, "store.ready")
    assert (ready["level"], ready["kind"]) == ("INFO", server.kind)
    acquired = {line["duty"]: line["epoch"] for line in of_event(lines, "duty.acquired")}
    assert acquired == {"scheduler": 1, "reclaimer": 1}, "a number stays one"


async def test_a_worker_logs_json_whoever_logs(world: World, start: Callable[..., Command]) -> None:
    """Its own events, what actors log, and what others do, though the application set its own handler up."""
    command = start("worker", "--app", "jobs:app", *on(world))
    job_id = await enqueue(world, kind="greet", payload={"note": SECRET}, max_attempts=1)
    command.line(r'"job\.failed"')
    assert command.end() == 0
    lines = parsed(command)
    own, theirs = of_event(lines, "log")
    assert (own["logger"], own["message"], own["job"], own["kind"]) == ("headgate.job", "hello you", job_id, "greet")
    assert (theirs["level"], theirs["logger"], theirs["message"]) == ("WARNING", "theirs", "two\nlines")
    [failed] = of_event(lines, "job.failed")
    assert failed["job"] == job_id
    assert "RuntimeError" in failed["error"]
    assert SECRET not in command.output


def test_serving_logs_json(world: World, start: Callable[..., Command]) -> None:
    command = start("serve", "--port", "0", *on(world))
    command.line(r'"api\.listening"')
    assert command.end() == 0
    [listening] = of_event(parsed(command), "api.listening")
    assert listening["address"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize("command", ["serve", "scheduler", "worker"])
def test_without_it_lines_are_for_people(world: World, folder: Path, command: str) -> None:
    (folder / "jobs.py").write_text(APP.replace("logging.basicConfig", "dict"))
    with Command(command, "--app", "jobs:app", *on(world), *(["--port=0"] * (command == "serve")), cwd=folder) as it:
        it.line(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ INFO    app\.running namespace=")
        assert it.end() == 0


# the formatter


@pytest.fixture
def log() -> Iterator[Callable[[], dict[str, Any]]]:
    """What the last record became."""
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(handler.format(record))  # type: ignore[method-assign]
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.addHandler(handler)

    def last() -> dict[str, Any]:
        assert "\n" not in records[-1]
        found: dict[str, Any] = json.loads(records[-1], parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
        return found

    yield last
    root.removeHandler(handler)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (7, 7),
        (True, True),
        (None, None),
        (0.5, 0.5),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        ("text\nof two lines", "text\nof two lines"),
        (["a", 1, (2, None)], ["a", 1, [2, None]]),
        (JobState.RUNNING, "running"),
        (Path("a/b"), "a/b"),
        (StoreUnavailable("no answer"), "no answer"),
    ],
)
def test_fields_are_values(log: Callable[[], dict[str, Any]], value: object, told: object) -> None:
    """What JSON has no value for is the text of a plain line."""
    log_event(logging.WARNING, "test.event", field=value)
    line = log()
    assert (line["event"], line["field"]) == ("test.event", told)


def test_half_of_a_character_is_no_broken_line() -> None:
    """Formatted alone: whatever else captures a log may not bear it."""
    record = logging.makeLogRecord(
        {"levelname": "WARNING", "headgate_event": "e", "headgate_fields": {"field": "\ud800"}}
    )
    assert json.loads(JsonLines().format(record))["field"] == "\ud800"


def test_a_traceback_that_others_log_stands_in_their_line(log: Callable[[], dict[str, Any]]) -> None:
    try:
        raise RuntimeError("theirs")  # noqa: TRY301 - an exception to log
    except RuntimeError:
        logging.getLogger("theirs").exception("it failed")
    line = log()
    assert (line["event"], line["message"]) == ("log", "it failed")
    assert line["traceback"].endswith("RuntimeError: theirs")
