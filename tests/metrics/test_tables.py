"""The tables of docs/metrics.md and docs/logs.md are true: every metric, every event, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headgate.exposition import exposition
from headgate.metrics import REGISTRY
from tests.jobs.acts import enqueue
from tests.support.worlds import World

ROOT = Path(__file__).parents[2]
LEVELS = {"DEBUG", "INFO", "WARNING", "ERROR"}


def table_of(name: str) -> Iterator[list[str]]:
    """The rows of all tables of a page, cell by cell, without their heads."""
    for line in (ROOT / "docs" / name).read_text("utf-8").splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" |")]


# metrics


async def test_the_table_of_metrics_is_true(world: World) -> None:
    text = (await exposition(world.store)).decode()
    told = {}
    for family in text_string_to_metric_families(text):
        name = family.name + ("_total" if family.type == "counter" else "")
        told[name] = family.type
    said = {row[0].strip("`"): row[1] for row in table_of("metrics.md")}
    assert said == told


async def test_the_labels_in_the_table_are_true(world: World) -> None:
    await enqueue(world)
    said = {row[0].strip("`"): re.findall(r"`(\w+)`", row[2]) for row in table_of("metrics.md")}
    for family in REGISTRY.collect():
        collector = REGISTRY._names_to_collectors[family.name]
        name = family.name + ("_total" if family.type == "counter" else "")
        assert said[name] == list(collector._labelnames), name  # type: ignore[attr-defined]
    for family in text_string_to_metric_families((await exposition(world.store)).decode()):
        for sample in family.samples:
            if family.type == "gauge":
                assert set(said[family.name]) == set(sample.labels)


def test_alerts_name_metrics_that_exist() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    rules = page.partition("## Three alerts")[2]
    named = set(re.findall(r"headgate_\w+", rules))
    assert named
    assert named <= {row[0].strip("`") for row in table_of("metrics.md")}


# events


class Told(NamedTuple):
    """What the calls of one event say."""

    levels: set[str]
    fields: set[str]
    open: bool


def events() -> dict[str, Told]:
    """Every event of the source, by its calls of `log_event`."""
    found: dict[str, Told] = {}
    for path in sorted((ROOT / "headgate").rglob("*.py")):
        module = ast.parse(path.read_text("utf-8"))
        for function in ast.walk(module):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name != "log_event":
                for call in calls_of("log_event", function):
                    for name in names_in(call.args[1], function, module):
                        told = found.setdefault(name, Told(set(), set(), open=False))
                        told.levels.update(levels_in(call.args[0], function))
                        told.fields.update(each.arg for each in call.keywords if each.arg)
                        if not all(each.arg for each in call.keywords):
                            found[name] = told._replace(open=True)
    return found


def calls_of(name: str, tree: ast.AST) -> list[ast.Call]:
    """Each once: those of a function within belong to that one."""
    calls: list[ast.Call] = []
    waiting = [*ast.iter_child_nodes(tree)]
    while waiting:
        node = waiting.pop()
        if isinstance(tree, ast.Module) or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            calls.append(node)
    return calls


def names_in(node: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef, module: ast.Module) -> list[str]:
    """The event's name; where it is a parameter, the names that callers in the module give."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    assert isinstance(node, ast.Name), ast.unparse(node)
    place = [each.arg for each in function.args.args].index(node.id)
    given = [call.args[place] for call in calls_of(function.name, module)]
    assert given
    return [str(each.value) for each in given if isinstance(each, ast.Constant)]


def levels_in(node: ast.expr, function: ast.AST) -> set[str]:
    """The level; where it is worked out, all that the function names."""
    where = node if isinstance(node, ast.Attribute) else function
    return {each.attr for each in ast.walk(where) if isinstance(each, ast.Attribute) and each.attr in LEVELS}


def test_the_table_of_events_is_true() -> None:
    """Names, levels and fields; `and more` where the fields differ from call to call."""
    found, said = events(), {row[0].strip("`"): row for row in table_of("logs.md")}
    assert list(said) == sorted(said)
    assert set(said) == set(found)
    for name, told in found.items():
        _, levels, fields, _ = said[name]
        assert set(levels.split(", ")) == told.levels, name
        named = set(re.findall(r"`(\w+)`", fields))
        assert named >= told.fields if told.open else named == told.fields, name
        assert ("and more" in fields) == told.open, name


@pytest.mark.parametrize("taken", ["time", "level", "event", "logger", "message"])
def test_no_field_takes_the_place_of_what_each_json_line_has(taken: str) -> None:
    assert [name for name, told in events().items() if taken in told.fields] == []
