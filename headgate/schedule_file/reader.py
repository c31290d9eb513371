"""From the text of a file to its schedules, or to all of its problems.

Each field is judged for itself, then those that have rules about each other, then the schedule as its application
defines it; so one run tells of everything.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

import msgspec

from headgate.errors import InvalidRequest
from headgate.models import ScheduleDefinition
from headgate.reconcile import check_owner
from headgate.schedule_file.lines import Lines, Path
from headgate.schedule_file.values import check_fields, read_value

Define: TypeAlias = Callable[[str, str, dict[str, Any]], ScheduleDefinition]

_TOP: Final = ("owner", "defaults", "schedule")
_NEEDED: Final = ("id", "spec", "kind")
_FIELDS: Final = ("id", *(name for name in ScheduleDefinition.__struct_fields__ if name != "owner"))
_TOGETHER: Final = (("on_missed", "overlap"), ("starts_at_ms", "ends_at_ms"), ("spec", "jitter_ms"))
"""Fields with a rule about both; every other rule is about one."""
_PLACE: Final = re.compile(r" \(at (?:line ([0-9]+), column [0-9]+|end of document)\)\Z")


class ScheduleFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a file declares.

    Attributes:
        owner: what it says, or else its name without the suffix.
        schedules: by id, in its order.
        problems: one line each, ``schedules.toml:12: spec: …``; with any of them nothing of the file is to be used.
    """

    owner: str
    schedules: dict[str, ScheduleDefinition]
    problems: list[str]


def parse_file(text: str, name: str, owner: str, define: Define | None = None) -> ScheduleFile:
    """What a file declares, and all that is wrong with it.

    Args:
        text: what it contains.
        name: how problems call it.
        owner: who declares its schedules, unless it says so itself.
        define: makes a definition of spec, kind and the other fields, as an application would; may raise
            `InvalidRequest`.
    """
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return ScheduleFile(owner=owner, schedules={}, problems=[_syntax(text, name, error)])
    reader = _Reader(Lines(text), define or _plainly)
    owner = tables.get("owner", owner)
    try:
        check_owner(owner)
    except InvalidRequest as error:
        reader.refused(("owner",), error)
    reader.read(tables)
    problems = [f"{name}:{line}: {field}: {rule}" for line, field, rule in sorted(reader.problems)]
    return ScheduleFile(owner=owner, schedules=reader.schedules, problems=problems)


class _Reader:
    def __init__(self, lines: Lines, define: Define) -> None:
        self.problems: list[tuple[int, str, str]] = []
        self.schedules: dict[str, ScheduleDefinition] = {}
        self._lines = lines
        self._define = define
        self._numbers: dict[str, int] = {}

    def read(self, tables: dict[str, Any]) -> None:
        """Take everything in, except who the owner is."""
        for key in tables:
            if key not in _TOP:
                self._unknown((key,), _TOP, "of the file")
        defaults, schedules = tables.get("defaults", {}), tables.get("schedule", [])
        if not isinstance(defaults, dict):
            self.problem(("defaults",), "must be a table: [defaults]")
            defaults = {}
        sound = self._fields(("defaults",), defaults)
        if not isinstance(schedules, list) or not all(isinstance(each, dict) for each in schedules):
            self.problem(("schedule",), "must be tables of an array: [[schedule]]")
            schedules = []
        for number, table in enumerate(schedules):
            self._schedule(number, table, defaults, sound)

    def problem(self, path: Path, rule: str) -> None:
        """Note what is wrong with a field."""
        field = str(path[-1])
        self.problems.append((self._lines.of(*path), field if field.isprintable() else ascii(field), rule))

    def refused(self, path: Path, error: InvalidRequest) -> None:
        """The same in the words of a refusal, which begins with the field's name again."""
        self.problem(path, error.message.removeprefix(f"{path[-1]} "))

    def _schedule(self, number: int, table: dict[str, Any], defaults: dict[str, Any], sound: dict[str, Any]) -> None:
        at = ("schedule", number)
        own = self._fields(at, table)
        for name in _NEEDED:
            if name not in table and name not in defaults:
                self.problem((*at, name), "is missing")
        fields = sound | own
        schedule_id = fields.pop("id", None)
        if schedule_id is not None and (first := self._numbers.setdefault(schedule_id, number)) != number:
            line = self._lines.of("schedule", first, "id")
            self.problem((*at, "id"), f"{schedule_id} is declared twice, first in line {line}")
        errors = [*_contradictions(fields)]
        refused = (defaults | table).keys() - fields.keys()
        if fields.keys() >= {"spec", "kind"} and not refused & {"spec", "kind", "payload"}:
            try:
                self.schedules[schedule_id or ""] = _defined(fields, self._define)
            except InvalidRequest as error:
                errors.append(error)
        for each in errors:
            self.refused((*at, each.field or ""), each)

    def _fields(self, at: Path, table: dict[str, Any]) -> dict[str, Any]:
        """The fields of a table that are sound, each for itself."""
        sound = {}
        for name, value in table.items():
            if name == "owner":
                self.problem((*at, name), "stands once, at the top of the file")
            elif name == "id" and at == ("defaults",):
                self.problem((*at, name), "is each schedule's own")
            elif name not in _FIELDS:
                self._unknown((*at, name), _FIELDS, "of a schedule")
            else:
                try:
                    sound[name] = read_value(name, value)
                except InvalidRequest as error:
                    self.refused((*at, name), error)
        return sound

    def _unknown(self, path: Path, known: tuple[str, ...], whose: str) -> None:
        near = get_close_matches(str(path[-1]), known, 1)
        self.problem(path, f"is no field {whose}" + (f"; is {near[0]} meant?" if near else ""))


def _contradictions(fields: dict[str, Any]) -> Iterator[InvalidRequest]:
    for names in _TOGETHER:
        if fields.keys() >= set(names):
            try:
                check_fields({name: fields[name] for name in names})
            except InvalidRequest as error:
                yield error


def _defined(fields: dict[str, Any], define: Define) -> ScheduleDefinition:
    options = dict(fields)
    return define(options.pop("spec"), options.pop("kind"), options)


def _plainly(spec: str, kind: str, options: dict[str, Any]) -> ScheduleDefinition:
    return ScheduleDefinition(spec=spec, kind=kind, **options)


def _syntax(text: str, name: str, error: Exception) -> str:
    """What is no TOML, and where."""
    if isinstance(error, RecursionError):
        return f"{name}:1: syntax: is nested too deeply"
    place = _PLACE.search(str(error))
    line = int(place[1]) if place and place[1] else text.rstrip("\n").count("\n") + 1 if place else 1
    return f"{name}:{line}: syntax: {_PLACE.sub('', str(error))}"
