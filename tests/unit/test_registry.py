"""Actors: what may be one is decided when it is declared, what fits one before it runs. No message carries a value."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest

from headgate.errors import InvalidRequest
from headgate.registry import Actor, Registry
from headgate.runner import Job


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(msgspec.Struct):
    street: str
    number: int = 1


@dataclass
class Point:
    x: int
    y: int


class Picky(msgspec.Struct):
    name: str

    def __post_init__(self) -> None:
        if self.name != "right":
            raise ValueError(f"not {self.name}")


class NotJson:
    pass


def actor_of(function: Callable[..., Any]) -> Actor:
    return Registry().register(function, "test", "default")


def every(
    *,
    when: datetime,
    day: date,
    gap: timedelta,
    colour: Colour,
    address: Address,
    point: Point,
    ids: list[UUID],
    price: Decimal,
    by_number: dict[int, str],
    pair: tuple[int, str],
    tags: set[str],
    raw: bytes,
    either: int | None,
    anything: Any,
) -> None: ...


ID = "12345678-1234-5678-1234-567812345678"
PLAIN = {
    "when": "2027-03-28T09:00:00+02:00",
    "day": "2027-03-28",
    "gap": "PT90S",
    "colour": "blue",
    "address": {"street": "Main"},
    "point": {"x": 1, "y": 2},
    "ids": [ID],
    "price": "1.10",
    "by_number": {"1": "one"},
    "pair": [1, "a"],
    "tags": ["a"],
    "raw": "aGk=",
    "either": None,
    "anything": {"n": [12345678901234567890]},
}
DECODED = {
    "when": datetime(2027, 3, 28, 7, tzinfo=UTC),
    "day": date(2027, 3, 28),
    "gap": timedelta(seconds=90),
    "colour": Colour.BLUE,
    "address": Address("Main"),
    "point": Point(1, 2),
    "ids": [UUID(ID)],
    "price": Decimal("1.10"),
    "by_number": {1: "one"},
    "pair": (1, "a"),
    "tags": {"a"},
    "raw": b"hi",
    "either": None,
    "anything": {"n": [12345678901234567890]},
}


def test_parameters_are_decoded_by_their_annotations() -> None:
    assert actor_of(every).decode(json.dumps(PLAIN)) == DECODED


def test_a_payload_of_python_values_is_judged_as_the_text_it_will_be() -> None:
    assert actor_of(every).check(DECODED) == DECODED
    assert actor_of(every).check(PLAIN) == DECODED


def test_defaults_fill_in_and_no_payload_is_an_empty_one() -> None:
    sentinel = object()

    def function(
        *,
        team: str = "eu",
        colour: Colour = Colour.RED,
        key: Callable[..., Any] | Any = len,
        mark: Any = sentinel,
        none: str | None = None,
    ) -> None: ...

    function.__annotations__.update(
        {"team": str, "colour": Colour, "key": Any, "mark": Any, "none": str | None, "return": None}
    )
    actor = actor_of(function)
    expected = {"team": "eu", "colour": Colour.RED, "key": len, "mark": sentinel, "none": None}
    assert actor.decode("null") == actor.decode("{}") == actor.check(None) == expected
    assert actor.decode('{"team": "us", "colour": "blue"}') == expected | {"team": "us", "colour": Colour.BLUE}


def test_what_one_job_does_to_a_mutable_default_the_next_does_not_see() -> None:
    def function(
        to: list[str] = ["a"],  # noqa: B006 - the rule is about these
        nested: dict[str, list[int]] = {"n": [1]},  # noqa: B006
        address: Address = Address("Main"),  # noqa: B008
    ) -> None: ...

    actor = actor_of(function)
    first = actor.decode("{}")
    first["to"].append("b")
    first["nested"]["n"].append(2)
    first["address"].street = "Side"
    assert actor.decode("{}") == {"to": ["a"], "nested": {"n": [1]}, "address": Address("Main")}


def test_without_an_annotation_anything_goes() -> None:
    def function(value: Any, other: Any = 3) -> None: ...

    function.__annotations__.clear()
    assert actor_of(function).decode('{"value": [1]}') == {"value": [1], "other": 3}


def test_only_a_first_parameter_called_job_is_the_context() -> None:
    def first(job: Job, team: str) -> None: ...
    def second(team: str, job: int) -> None: ...
    def alone(job: Job) -> None: ...
    def none() -> None: ...

    assert actor_of(first).wants_job
    assert actor_of(first).decode('{"team": "eu"}') == {"team": "eu"}
    assert not actor_of(second).wants_job
    assert actor_of(second).decode('{"team": "eu", "job": 1}') == {"team": "eu", "job": 1}
    assert actor_of(alone).decode("{}") == {}
    assert actor_of(none).decode("{}") == {}


def some(
    team: str,
    *,
    count: int = 0,
    colour: Colour = Colour.RED,
    when: datetime | None = None,
    mode: Literal["fast", "slow"] = "fast",
    address: Address | None = None,
    picky: Picky | None = None,
    small: Annotated[int, msgspec.Meta(le=10)] = 0,
    short: Annotated[str, msgspec.Meta(max_length=3)] = "",
    by_number: dict[int, str] | None = None,
    ids: list[UUID] | None = None,
) -> None: ...


SECRET = "hunter2"
WRONG = [
    ({}, "team"),
    ({"team": 7654321}, "team"),
    ({"team": None}, "team"),
    ({"team": "a", "count": SECRET}, "count"),
    ({"team": "a", "count": 1.5}, "count"),
    ({"team": "a", "colour": SECRET}, "colour"),
    ({"team": "a", "when": SECRET}, "when"),
    ({"team": "a", "mode": SECRET}, "mode"),
    ({"team": "a", "address": {"street": SECRET, "number": SECRET}}, "number"),
    ({"team": "a", "address": {"number": 7654321}}, "street"),
    ({"team": "a", "picky": {"name": SECRET}}, "picky"),
    ({"team": "a", "small": 7654321}, "small"),
    ({"team": "a", "short": SECRET}, "short"),
    ({"team": "a", "by_number": {SECRET: "x"}}, "by_number"),
    ({"team": "a", "ids": [SECRET]}, "ids"),
]


@pytest.mark.parametrize(("payload", "field"), WRONG, ids=[str(number) for number in range(len(WRONG))])
def test_a_wrong_payload_is_refused_naming_the_field_and_no_value(payload: dict[str, Any], field: str) -> None:
    actor = actor_of(some)
    ways: tuple[Callable[[], object], ...] = (lambda: actor.check(payload), lambda: actor.decode(json.dumps(payload)))
    for refuse in ways:
        with pytest.raises(InvalidRequest) as refused:
            refuse()
        assert refused.value.field == "payload"
        assert field in refused.value.message
        assert "test" in refused.value.message
        assert SECRET not in refused.value.message
        assert "7654321" not in refused.value.message
        assert refused.value.__cause__ is None


@pytest.mark.parametrize("payload", [[], "text", 3, True, {"team": "a", SECRET: 1}])
def test_what_is_no_object_or_has_an_unknown_field_is_refused_without_being_quoted(payload: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        actor_of(some).check(payload)
    assert refused.value.field == "payload"
    assert SECRET not in refused.value.message


@pytest.mark.parametrize("text", ["", "{", '{"team": NaN}', '{"team": "a"} x'])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        actor_of(some).decode(text)
    assert refused.value.field == "payload"


def test_a_value_that_json_cannot_carry_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    for value in (circle, NotJson(), {"team": NotJson()}):
        with pytest.raises(InvalidRequest):
            actor_of(some).check(value)


def test_a_kind_has_one_actor() -> None:
    registry = Registry()
    registry.register(some, "a", "default")
    with pytest.raises(InvalidRequest, match="kind a has an actor already") as refused:
        registry.register(some, "a", "other")
    assert refused.value.field == "kind"
    found = registry.get("a")
    assert found is not None
    assert found.queue == "default"


@pytest.mark.parametrize("annotation", [NotJson, "Nowhere", "datetime.Nothing", "1 +", list[NotJson], complex])
def test_an_annotation_that_cannot_be_decoded_is_refused_at_declaration(annotation: Any) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation
    registry = Registry()
    with pytest.raises(InvalidRequest, match="actor test") as refused:
        registry.register(function, "test", "default")
    assert refused.value.field == "kind"
    assert registry.get("test") is None


def test_parameters_that_no_field_can_fill_are_refused() -> None:
    def star(*values: int) -> None: ...
    def double_star(**values: int) -> None: ...
    def positional(value: int, /) -> None: ...

    for function, name in ((star, "values"), (double_star, "values"), (positional, "value")):
        with pytest.raises(InvalidRequest, match=f"parameter {name} must be"):
            actor_of(function)


def test_what_a_worker_could_not_run_is_refused() -> None:
    """A generator would be made and never run, and the job be called complete."""

    def generator() -> Iterator[int]:
        yield 1

    async def async_generator() -> AsyncIterator[int]:
        yield 1

    for function in (generator, async_generator):
        with pytest.raises(InvalidRequest, match="generator"):
            actor_of(function)
    with pytest.raises(InvalidRequest, match="annotations cannot be read"):
        actor_of(partial(some))


@pytest.mark.parametrize(("kind", "queue", "field"), [("", "q", "kind"), ("a b", "q", "kind"), ("a", "q/", "queue")])
def test_names_are_checked(kind: str, queue: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Registry().register(some, kind, queue)
    assert refused.value.field == field


def test_queues_are_those_of_the_actors_each_once() -> None:
    registry = Registry()
    assert registry.queues == []
    for kind, queue in (("a", "mail"), ("b", "default"), ("c", "mail")):
        registry.register(some, kind, queue)
    assert registry.queues == ["default", "mail"]
    assert registry.get("nobody") is None
