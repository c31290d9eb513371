"""What an application declares: actors, hooks, middleware and schedules. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, Unpack

from headgate.declared import Declared
from headgate.hooks import AfterHook, BeforeHook, Hooks
from headgate.models import JobRequest, ScheduleDefinition
from headgate.options import JobOptions, ScheduleOptions
from headgate.registry import Registry
from headgate.runner import Middleware

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Declaring:
    """The half of an application that is said before it runs."""

    def __init__(self) -> None:
        self._registry = Registry()
        self._declared = Declared(self._registry)
        self._middleware: list[Middleware] = []
        self._hooks = Hooks()

    def actor(self, kind: str, *, queue: str = "default") -> Callable[[_Function], _Function]:
        """Make a function the actor of a kind; async ones are awaited, plain ones run in a thread.

        Its parameters are the fields of the payload, decoded by their annotations; a first one called ``job`` is given
        the `headgate.Job`.

        Raises:
            InvalidRequest: the kind has an actor already, or a parameter cannot be decoded from JSON.
        """

        def register(function: _Function) -> _Function:
            self._registry.register(function, kind, queue)
            return function

        return register

    def middleware(self, function: Middleware) -> Middleware:
        """Wrap every attempt: ``async def mw(job, call_next)``, the first declared outermost."""
        self._middleware.append(function)
        return function

    def before_enqueue(self, function: BeforeHook) -> BeforeHook:
        """See each tick before it becomes a job: ``async def hook(job: headgate.Enqueueing)``.

        It may set ``job.payload``, add to ``job.headers``, or raise `headgate.SkipTick`. It has a second; one that
        raises or takes longer fails the tick, which stays due. It runs at least once for a tick.
        """
        self._hooks.before.append(function)
        return function

    def after_enqueue(self, function: AfterHook) -> AfterHook:
        """See what became of each tick: ``async def hook(job, outcome, reason)``. It runs at most once for a tick."""
        self._hooks.after.append(function)
        return function

    def periodic(self, schedule_id: str, spec: str, *, kind: str, **options: Unpack[ScheduleOptions]) -> None:
        """Declare a schedule; it is written when the application starts.

        Args:
            schedule_id: unique in the namespace.
            spec: when, see `headgate.spec`.
            kind: which actor.
            options: the other fields of `ScheduleDefinition` but for ``owner``, which is the application's; ``queue``
                is the actor's own unless given.

        Raises:
            InvalidRequest: a value breaks its rule, the id is declared twice, or the payload does not fit its actor.
        """
        self._declared.add(schedule_id, spec, kind, dict(options))

    def definition(self, spec: str, *, kind: str, **options: Unpack[ScheduleOptions]) -> ScheduleDefinition:
        """A schedule as `periodic` would declare it, without declaring it; arguments as there. No I/O.

        Raises:
            InvalidRequest: the payload does not fit its actor; other rules are for whoever writes it to check.
        """
        definition = self._declared.definition(spec, kind, dict(options))
        self._declared.check_payload(definition)
        return definition

    def request(self, kind: str, payload: Any = None, **options: Unpack[JobOptions]) -> JobRequest:
        """A job to ask for with `enqueue_many`; arguments and errors as for `enqueue`. No I/O."""
        request = self._declared.request(kind, payload, dict(options))
        self._declared.check_payload(request)
        return request
