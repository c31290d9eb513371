"""Actors: functions registered for a job kind, with the types of what they take.

A function's parameters are the fields of its payload. They are looked at once, when it is registered: an annotation
that cannot be decoded is an error there and not at three in the morning.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, get_type_hints

import msgspec

from headgate.errors import InvalidRequest
from headgate.jsontext import parse_json
from headgate.names import check_kind, check_queue

CONTEXT: Final = "job"
"""The name of the first parameter that is given the job itself and not a field of the payload."""


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
            fields = msgspec.convert(msgspec.to_builtins({} if payload is None else payload), self.parameters)
        except (msgspec.ValidationError, TypeError) as error:
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
    def queues(self) -> list[str]:
        """The queues that actors were declared for, each once."""
        return sorted({actor.queue for actor in self._actors.values()})


def _actor(function: Callable[..., Any], kind: str, queue: str) -> Actor:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidRequest(f"actor {kind}: annotation {error.name!r} is not defined", field="kind") from None
    parameters = list(inspect.signature(function).parameters.values())
    wants_job = bool(parameters) and parameters[0].name == CONTEXT
    fields = [_field(kind, parameter, hints) for parameter in parameters[1 if wants_job else 0 :]]
    struct = msgspec.defstruct("Payload", fields, kw_only=True, forbid_unknown_fields=True)
    try:
        msgspec.json.Decoder(struct)  # builds the decoder of each annotation, and refuses what has none
        msgspec.json.schema(struct)
    except TypeError as error:
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
    default = parameter.default
    if isinstance(default, list | dict | set) or (hasattr(default, "__dict__") and not callable(default)):
        return parameter.name, annotation, msgspec.field(default_factory=lambda: default)
    return parameter.name, annotation, default


def _rule(error: Exception) -> str:
    """What msgspec says, which names types and places and quotes no value; an unknown field's name is one."""
    text = str(error)
    return "it has a field that is no parameter" if "unknown field" in text else text
