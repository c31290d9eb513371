"""What a declaration must be before anything is written."""

from __future__ import annotations

from headgate.errors import InvalidRequest
from headgate.models import ScheduleDefinition, check_text
from headgate.names import check_schedule_id
from headgate.settings import MAX_WHO
from headgate.store.timing import check_jitter, timing_of


def check_owner(owner: str) -> str:
    """`owner`, if it may be one: 1 to 200 printable characters; raises `InvalidRequest`."""
    check_text("owner", owner, MAX_WHO)
    if not owner or not owner.isprintable():
        raise InvalidRequest(f"owner must be 1 to {MAX_WHO} printable characters", field="owner")
    return owner


def check_definition(schedule_id: str, definition: ScheduleDefinition) -> None:
    """Raise `InvalidRequest` for the first thing for which a put would refuse it."""
    check_schedule_id(schedule_id)
    definition.check()
    definition.content()
    check_jitter(definition.jitter_ms, timing_of(definition))
