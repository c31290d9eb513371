"""Schedules in TOML: every field, defaults, durations and instants as text; every problem by file, line and field."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import InvalidRequest
from headgate.models import MissedPolicy, Overlap, ScheduleDefinition
from headgate.schedule_file import ScheduleFile, parse_file

FULL = """
owner = "reports"  # whose they are

[defaults]
queue = "reports"
timeout_ms = "15m"
labels = {team = "eu", "on call" = "ada"}

[[schedule]]
id = "digest:{eu}@x.y"
spec = "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI"
kind = "digest.send"
priority = -3
max_attempts = 7
retention_ms = "7d"
on_missed = "backfill"
backfill_limit = 9
description = "Für alle"
max_lateness_ms = "2h"
starts_at_ms = 2027-01-01T01:00:00+01:00
ends_at_ms = 4_000_000_000_000
jitter_ms = "500ms"
unique_key = "digest"
headers = {trace = "1"}
deadline_ms = 86_400_000

[schedule.payload]
team = "eu"
days = [1, 2.5, {a = true}]
since = 2027-01-01

[[schedule]]
id = "sweep"
spec = "@every:60000"
kind = "sweep"
queue = "default"
timeout_ms = "30s"
overlap = "skip"
labels = {}
payload = [1]
"""


def parse(text: str, **options: Any) -> ScheduleFile:
    return parse_file(text, "schedules.toml", "schedules", **options)


def problems(text: str, **options: Any) -> list[str]:
    """Each without the file's name."""
    found = parse(text, **options).problems
    assert all(line.startswith("schedules.toml:") for line in found)
    assert all(line.isprintable() for line in found)
    return [line.removeprefix("schedules.toml:") for line in found]


def entry(more: str = "", *, id_: str = "a") -> str:
    """A sound schedule of four lines, and what follows."""
    return f'[[schedule]]\nid = "{id_}"\nspec = "@every:60000"\nkind = "k"\n{more}\n'


def test_every_field_can_be_said() -> None:
    file = parse(FULL)
    assert file.problems == []
    assert file.owner == "reports"
    digest, sweep = file.schedules["digest:{eu}@x.y"], file.schedules["sweep"]
    assert digest.payload == {"team": "eu", "days": [1, 2.5, {"a": True}], "since": digest.payload["since"]}
    assert digest.content()[0] == '{"days":[1,2.5,{"a":true}],"since":"2027-01-01","team":"eu"}'
    assert (digest.queue, digest.timeout_ms, digest.labels) == ("reports", 900_000, {"team": "eu", "on call": "ada"})
    assert (digest.retention_ms, digest.max_lateness_ms, digest.jitter_ms) == (604_800_000, 7_200_000, 500)
    assert (digest.starts_at_ms, digest.ends_at_ms) == (1_798_761_600_000, 4_000_000_000_000)
    assert (digest.on_missed, digest.backfill_limit, digest.priority) == (MissedPolicy.BACKFILL, 9, -3)
    assert (digest.headers, digest.deadline_ms, digest.unique_key) == ({"trace": "1"}, 86_400_000, "digest")
    assert (sweep.queue, sweep.timeout_ms, sweep.labels, sweep.payload) == ("default", 30_000, {}, [1])
    assert sweep.overlap is Overlap.SKIP


def test_the_owner_is_the_files_name_unless_said() -> None:
    assert parse(entry()).owner == "schedules"
    assert parse("") == ScheduleFile(owner="schedules", schedules={}, problems=[])


def test_all_problems_of_a_file_are_told_in_its_order() -> None:
    text = """ownr = "x"
[defaults]
queue = "a b"
[[schedule]]
id = "a"
spec = "61 * * * *"
kind = "k"
timeot_ms = 3
priority = "3"
on_missed = "skp"
[schedule.payload]
spec = "not the spec"

[[schedule]]
id = "a"
spec = "@every:1000"
jitter_ms = "1s"
overlap = "skip"
on_missed = "backfill"
starts_at_ms = 2
ends_at_ms = 1
"""
    found = [line.split(": ")[:2] for line in problems(text)]
    assert found == [
        ["1", "ownr"],
        ["3", "queue"],
        ["6", "spec"],
        ["8", "timeot_ms"],
        ["9", "priority"],
        ["10", "on_missed"],
        ["14", "kind"],
        ["15", "id"],
        ["17", "jitter_ms"],
        ["18", "overlap"],
        ["21", "ends_at_ms"],
    ]
    assert parse(text).problems[3] == "schedules.toml:8: timeot_ms: is no field of a schedule; is timeout_ms meant?"
    assert "15: id: a is declared twice, first in line 5" in problems(text)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("paused = true", "5: paused: is no field of a schedule"),
        ('owner = "x"', "5: owner: stands once, at the top of the file"),
        ('timeout_ms = "1w"', '5: timeout_ms: must be milliseconds or text such as "30s", "15m", "2h" or "7d"'),
        ('timeout_ms = "-1s"', '5: timeout_ms: must be milliseconds or text such as "30s", "15m", "2h" or "7d"'),
        ('timeout_ms = "٣s"', '5: timeout_ms: must be milliseconds or text such as "30s", "15m", "2h" or "7d"'),
        ('timeout_ms = "999d"', "5: timeout_ms: 86313600000 is outside 1 to 31622400000"),
        ("timeout_ms = 1.5", "5: timeout_ms: must be a whole number"),
        ("max_attempts = true", "5: max_attempts: must be a whole number"),
        ("max_attempts = 2027-01-01", "5: max_attempts: must be a whole number"),
        ("starts_at_ms = 2027-01-01T00:00:00", "5: starts_at_ms: must have an offset, as in 2027-01-01T00:00:00Z"),
        ("starts_at_ms = 2027-01-01", "5: starts_at_ms: must be a whole number"),
        ('starts_at_ms = "2h"', "5: starts_at_ms: must be a whole number"),
        ("labels = [1]", "5: labels: must be at most 16 pairs of text"),
        ("labels = {a = 1}", "5: labels: must have names and values of 1 to 63 printable characters"),
        ("headers = {a = 1}", "5: headers: must be text by name"),
        ("payload = nan", "5: payload: has a value that JSON cannot carry"),
        ('unique_key = ""', "5: unique_key: is 0 bytes; the rule is 1 to 255"),
    ],
)
def test_the_line_and_the_field_are_named(more: str, problem: str) -> None:
    assert problems(entry(more)) == [problem]


def test_a_key_that_is_written_with_escapes_is_told_at_its_table() -> None:
    assert problems("\n" + entry('"no\\u001bsuch" = 1')) == ["2: 'no\\x1bsuch': is no field of a schedule"]
    assert problems("# \u2028 is no new line\n" + entry("x = 1")) == ["6: x: is no field of a schedule"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = = 1", "1: syntax: Invalid value"),
        ("\n\n[[schedule]", "3: syntax: Expected ']]' at the end of an array declaration"),
        ("a = 1\n\na = 2", "3: syntax: Cannot overwrite a value"),
        ('a = """', "1: syntax: "),
        ("a = " + "[" * 100_000, "1: syntax: is nested too deeply"),
        ("a = " + "9" * 5_000, "1: syntax: "),
        ("[schedule]\nid = 'a'", "1: schedule: must be tables of an array: [[schedule]]"),
        ("schedule = [1]", "1: schedule: must be tables of an array: [[schedule]]"),
        ("[[schedules]]\nid = 'a'", "1: schedules: is no field of the file; is schedule meant?"),
        ("[[defaults]]", "1: defaults: must be a table: [defaults]"),
        ("\n[defaults]\nid = 'a'", "3: id: is each schedule's own"),
        ("owner = ''", "1: owner: must be 1 to 200 printable characters"),
        ("owner = 3", "1: owner: must be text"),
        ("[[schedule]]\nid = 'a b'\nspec='@every:1'\nkind='k'", "2: id: schedule id 'a b' has a character outside"),
    ],
)
def test_what_is_no_such_file_is_said(text: str, problem: str) -> None:
    [found] = problems(text)
    assert found.startswith(problem)


def test_a_bad_default_is_told_once() -> None:
    text = '[defaults]\npriority = 101\nkind = "k k"\n' + "".join(
        f'[[schedule]]\nid = "{n}"\nspec = "@every:1"\n' for n in range(5)
    )
    assert [line.split(": ")[1] for line in problems(text)] == ["priority", "kind"]


def test_a_contradiction_with_a_default_is_told_where_the_schedule_is() -> None:
    text = '[defaults]\njitter_ms = "1m"\n' + entry() + entry(id_="b")
    assert problems(text) == [
        "3: jitter_ms: 60000 is not shorter than the interval 60000",
        "8: jitter_ms: 60000 is not shorter than the interval 60000",
    ]


def test_a_payload_is_judged_as_the_application_would() -> None:
    def define(spec: str, kind: str, options: dict[str, Any]) -> ScheduleDefinition:
        if options.get("payload") == {"n": "x"}:
            raise InvalidRequest("payload does not fit actor k: Expected `int`, got `str`", field="payload")
        return ScheduleDefinition(spec=spec, kind=kind, **{"queue": "of-the-actor"} | options)

    text = entry("[schedule.payload]\nn = 1") + entry('[schedule.payload]\nn = "x"', id_="b")
    assert problems(text, define=define) == ["11: payload: does not fit actor k: Expected `int`, got `str`"]
    assert [line[0] for line in problems(entry('priority = 101\npayload = {n = "x"}'), define=define)] == ["5", "6"]
    refused = entry('payload = {n = "x"}').replace('"k"', '"k k"')
    assert [line[0] for line in problems(refused, define=define)] == ["4"], "nobody knows whose payload it is"
    assert parse(entry(), define=define).schedules["a"].queue == "of-the-actor"


def test_there_may_be_many() -> None:
    file = parse("".join(entry(id_=f"s{number}") for number in range(2_000)))
    assert (len(file.schedules), file.problems) == (2_000, [])
