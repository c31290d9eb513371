"""Actors: functions registered for a job kind, with the types of what they take.

A function's parameters are the fields of its payload. They are looked at once, when it is registered: an annotation
that cannot be decoded is an error there and not at three in the morning.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, get_type_hints

import msgspec

from headgate.errors import InvalidRequest
from headgate.jsontext import parse_json
from headgate.names import check_kind, check_queue

CONTEXT: Final = "job"
"""The name of the first parameter that is given the job itself and not a field of the payload."""

_MUTABLE: Final = (list, dict, set, bytearray, msgspec.Struct)
"""Defaults of these types are copied for each job: what one does to them is not the next one's to see."""
_PLACE: Final = re.compile(r" - at `[^`]*`(?: in `[^`]*`)?\Z")
_NO_VALUE: Final = re.compile(
    r"(?:Expected `[\w| ]+`(?:, got `\w+`)?|Object missing required field `\w+`|Invalid (?:RFC3339 encoded \w+|UUID))"
    rf"(?:{_PLACE.pattern})?"
)


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """A registered function.

    Attributes:
        kind: the job kind it runs.
        queue: where its jobs go unless told otherwise.
        function: what is called; plain functions run in a thread.
        asynchronous: whether it is awaited.
        wants_job: whether its first parameter is ``job``.
        parameters: what a payload must be: one field a parameter, defaults as declared.
    """

    kind: str
    queue: str
    function: Callable[..., Any]
    asynchronous: bool
    wants_job: bool
    parameters: type[msgspec.Struct]

    def decode(self, payload: str) -> dict[str, Any]:
        """The arguments that a payload stands for.

        Raises:
            InvalidRequest: the payload does not fit the parameters; the message names the one that does not, no value.
        """
        value = parse_json(payload.encode(), field="payload")
        return self.check({} if value is None else value)

    def check(self, payload: Any) -> dict[str, Any]:
        """As `decode`, for a payload that is not text yet."""
        try:
            plain = msgspec.to_builtins({} if payload is None else payload, str_keys=True)
            fields = msgspec.convert(plain, self.parameters, str_keys=True)
        except (ValueError, TypeError, RecursionError) as error:
            raise InvalidRequest(f"payload does not fit actor {self.kind}: {_rule(error)}", field="payload") from None
        return {name: getattr(fields, name) for name in self.parameters.__struct_fields__}


class Registry:
    """The actors of one application, by kind."""

    def __init__(self) -> None:
        self._actors: dict[str, Actor] = {}

    def register(self, function: Callable[..., Any], kind: str, queue: str) -> Actor:
        """Make `function` the actor of `kind`.

        Raises:
            InvalidRequest: the kind has an actor, a name breaks its rule, or a parameter cannot be decoded from JSON.
        """
        check_kind(kind)
        check_queue(queue)
        if kind in self._actors:
            raise InvalidRequest(f"kind {kind} has an actor already", field="kind")
        actor = self._actors[kind] = _actor(function, kind, queue)
        return actor

    def get(self, kind: str) -> Actor | None:
        """The actor of a kind, or None."""
        return self._actors.get(kind)

    @property
    def kinds(self) -> list[str]:
        """The kinds that have an actor."""
        return sorted(self._actors)

    @property
    def queues(self) -> list[str]:
        """The queues that actors were declared for, each once."""
        return sorted({actor.queue for actor in self._actors.values()})


def _actor(function: Callable[..., Any], kind: str, queue: str) -> Actor:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidRequest(f"actor {kind}: a generator cannot be run", field="kind")
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise InvalidRequest(f"actor {kind}: its annotations cannot be read: {error}", field="kind") from None
    parameters = list(inspect.signature(function).parameters.values())
    wants_job = bool(parameters) and parameters[0].name == CONTEXT
    fields = [_field(kind, parameter, hints) for parameter in parameters[1 if wants_job else 0 :]]
    struct = msgspec.defstruct("Payload", fields, kw_only=True, forbid_unknown_fields=True)
    try:
        msgspec.json.Decoder(struct)  # builds the decoder of each annotation, and refuses what has none
        msgspec.json.schema(struct)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"actor {kind}: {error}", field="kind") from None
    return Actor(
        kind=kind,
        queue=queue,
        function=function,
        asynchronous=inspect.iscoroutinefunction(function),
        wants_job=wants_job,
        parameters=struct,
    )


def _field(kind: str, parameter: inspect.Parameter, hints: dict[str, Any]) -> tuple[str, Any] | tuple[str, Any, Any]:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise InvalidRequest(f"actor {kind}: parameter {parameter.name} must be a plain named one", field="kind")
    annotation = hints.get(parameter.name, Any)
    if parameter.default is parameter.empty:
        return parameter.name, annotation
    make = partial(copy.deepcopy if isinstance(parameter.default, _MUTABLE) else _itself, parameter.default)
    return parameter.name, annotation, msgspec.field(default_factory=make)


def _itself(default: Any) -> Any:
    return default


def _rule(error: Exception) -> str:
    """What msgspec says, where that names types and places alone.

    Some of its messages, and those of a type's own checks, quote the value: of them only the place is told. An unknown
    field's name is a value too.
    """
    text = str(error)
    if "unknown field" in text:
        return "it has a field that is no parameter"
    if _NO_VALUE.fullmatch(text):
        return text
    place = _PLACE.search(text)
    return "a value is not allowed" + (place[0] if place else "")
