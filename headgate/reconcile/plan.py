"""What an owner declares, compared with what is stored. Nothing here writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from headgate.errors import Conflict, ScheduleNotFound
from headgate.models import Schedule, ScheduleDefinition
from headgate.names import fingerprint
from headgate.reconcile.rules import check_definition, check_owner
from headgate.settings import MAX_PAGE
from headgate.store import Store

UNTOLD: Final = ("payload", "headers")
"""Fields whose values no list, log or plan shows."""
_NAMED: Final = 5
"""Schedules of others that a refusal names."""


class FieldChange(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a schedule; of those in `UNTOLD` only that it changes."""

    name: str
    before: Any = None
    after: Any = None


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule that is not as declared, as it was read."""

    schedule_id: str
    revision: int
    fields: Sequence[FieldChange]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What `apply` is to do.

    Attributes:
        owner: who declares.
        wanted: what is declared, by id.
        adopt: whether schedules of other owners are taken over; then they are among the changes.
        creates: ids that are not there.
        changes: schedules that are not as declared.
        unchanged: ids of those that are.
        deletes: what the owner once declared and no longer does: id and revision as read.
        foreign: wanted ids that belong to another owner: id and owner. Any of them forbids the whole plan.
    """

    owner: str
    wanted: Mapping[str, ScheduleDefinition]
    adopt: bool
    creates: Sequence[str]
    changes: Sequence[Edit]
    unchanged: Sequence[str]
    deletes: Mapping[str, int]
    foreign: Mapping[str, str]

    def check(self) -> None:
        """Raise `Conflict` if it would take schedules from another owner, naming both."""
        refuse(self.owner, self.foreign)


async def make_plan(
    store: Store, owner: str, wanted: Mapping[str, ScheduleDefinition], *, adopt: bool = False, leftovers: bool = True
) -> Plan:
    """Compare what an owner declares with what is stored; writes nothing.

    Args:
        store: where.
        owner: who declares.
        wanted: what, by id.
        adopt: take over schedules of other owners; those without one may always be.
        leftovers: look for what the owner declares no longer, which reads all schedules by page.

    Raises:
        InvalidRequest: a declaration or the owner's name breaks its rule.
        StoreError: the store does not answer.
    """
    check_owner(owner)
    for schedule_id, definition in wanted.items():
        check_definition(schedule_id, definition)
    wanted = {name: msgspec.structs.replace(definition, owner=owner) for name, definition in wanted.items()}
    creates, edits, foreign = list[str](), list[Edit](), dict[str, str]()
    for schedule_id, definition in wanted.items():
        stored = await _stored(store, schedule_id)
        if stored is None:
            creates.append(schedule_id)
        elif stored.owner in ("", owner) or adopt:
            fields = differences(stored, definition)
            edits.append(Edit(schedule_id=schedule_id, revision=stored.revision, fields=fields))
        else:
            foreign[schedule_id] = stored.owner
    others = [each async for each in _all(store) if each.owner == owner and each.id not in wanted] if leftovers else []
    return Plan(
        owner=owner,
        wanted=wanted,
        adopt=adopt,
        creates=creates,
        changes=[edit for edit in edits if edit.fields],
        unchanged=[edit.schedule_id for edit in edits if not edit.fields],
        deletes={each.id: each.revision for each in others},
        foreign=foreign,
    )


def differences(stored: Schedule, wanted: ScheduleDefinition) -> list[FieldChange]:
    """The fields in which a schedule, read with its payload and headers, is not as declared."""
    text, _ = wanted.content()
    differs = {name: getattr(stored, name) != getattr(wanted, name) for name in wanted.__struct_fields__}
    differs["payload"] = fingerprint(stored.kind, text) != stored.fingerprint  # 1 and 1.0 are equal, and not the same
    return [
        FieldChange(name=name)
        if name in UNTOLD
        else FieldChange(name=name, before=getattr(stored, name), after=getattr(wanted, name))
        for name in wanted.__struct_fields__
        if differs[name]
    ]


def refuse(owner: str, foreign: Mapping[str, str]) -> None:
    """Raise `Conflict` if there are ids here that belong to others, naming them."""
    if not foreign:
        return
    named = [f"{name} belongs to {whose!r}" for name, whose in [*foreign.items()][:_NAMED]]
    more = f" and {len(foreign) - _NAMED} more to others" if len(foreign) > _NAMED else ""
    raise Conflict(
        f"schedule {', '.join(named)}{more}, not to {owner!r}; give it another id, or adopt it", field="owner"
    )


async def _all(store: Store) -> AsyncIterator[Schedule]:
    cursor = None
    while True:
        page = await store.schedules.list(limit=MAX_PAGE, cursor=cursor)
        for schedule in page.schedules:
            yield schedule
        cursor = page.next_cursor
        if cursor is None:
            return


async def _stored(store: Store, schedule_id: str) -> Schedule | None:
    try:
        return await store.schedules.get(schedule_id)
    except ScheduleNotFound:
        return None
