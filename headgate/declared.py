"""What an application declares of its schedules. No I/O: nothing is written before it runs.

A schedule may be declared before its actor, whose queue and parameters it takes; so what was declared is put together
anew each time it is asked for, and judged at its declaration as far as its actor is known by then.
"""

from __future__ import annotations

from typing import Any

from headgate.errors import InvalidRequest
from headgate.models import JobRequest, ScheduleDefinition
from headgate.names import check_schedule_id
from headgate.reconcile import check_definition
from headgate.registry import Registry


class Declared:
    """The declared schedules of one application, and what its actors add to schedules and jobs."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._schedules: dict[str, tuple[str, str, dict[str, Any]]] = {}

    def add(self, schedule_id: str, spec: str, kind: str, options: dict[str, Any]) -> None:
        """Declare a schedule.

        Raises:
            InvalidRequest: a value breaks its rule, the id is declared twice, or the payload does not fit its actor.
        """
        if check_schedule_id(schedule_id) in self._schedules:
            raise InvalidRequest(f"schedule {schedule_id} is declared twice", field="id")
        if "owner" in options:
            raise InvalidRequest("owner is the application's: Headgate(owner=…)", field="owner")
        definition = self.definition(spec, kind, options)
        check_definition(schedule_id, definition)
        self.check_payload(definition)
        self._schedules[schedule_id] = (spec, kind, options)

    def definitions(self) -> dict[str, ScheduleDefinition]:
        """All of them by id, with the actors known by now.

        Raises:
            InvalidRequest: a payload does not fit its actor.
        """
        definitions = {name: self.definition(*declared) for name, declared in self._schedules.items()}
        for definition in definitions.values():
            self.check_payload(definition)
        return definitions

    def definition(self, spec: str, kind: str, options: dict[str, Any]) -> ScheduleDefinition:
        """A schedule's definition; the queue is the actor's own unless given."""
        return ScheduleDefinition(spec=spec, kind=kind, **self.with_queue(kind, options))

    def request(self, kind: str, payload: Any, options: dict[str, Any]) -> JobRequest:
        """A job to ask for, its queue the actor's own unless given; raises `InvalidRequest` for an unknown option."""
        for name in options:
            if name not in JobRequest.__struct_fields__:
                raise InvalidRequest(f"{name} is no option of a job", field=name)
        return JobRequest(kind=kind, payload=payload, **self.with_queue(kind, options))

    def with_queue(self, kind: str, options: dict[str, Any]) -> dict[str, Any]:
        """`options` with the queue of the kind's actor, unless they name one."""
        actor = self._registry.get(kind)
        return options if actor is None or "queue" in options else options | {"queue": actor.queue}

    def check_payload(self, job: ScheduleDefinition | JobRequest) -> None:
        """Raise `InvalidRequest` if the payload does not fit the kind's actor; one that is not known fits anything."""
        actor = self._registry.get(job.kind)
        if actor is not None:
            actor.check(job.payload)
