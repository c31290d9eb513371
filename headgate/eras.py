"""Which spec a schedule had at an instant, from its log of changes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from headgate.errors import InvalidSpec
from headgate.models import Change, Schedule
from headgate.settings import MAX_CHANGES
from headgate.spec import Spec, bounded, parse_spec

_TIMING: Final = ("spec", "starts_at_ms", "ends_at_ms")


class Era(NamedTuple):
    """A stretch of a schedule's life with one spec and one pair of bounds.

    Attributes:
        after_ms: its ticks come after this instant (milliseconds), up to that of the next era.
        text: the spec as written; None where the log of changes does not go back so far.
        spec: compiled, within its bounds; None where it is not known or is refused now.
    """

    after_ms: int
    text: str | None
    spec: Spec | None


def eras_of(schedule: Schedule, changes: Sequence[Change]) -> list[Era]:
    """The eras of a schedule, newest first, back to its creation.

    Args:
        schedule: as it stands.
        changes: newest first.
    """
    values: dict[str, Any] = {name: getattr(schedule, name) for name in _TIMING}
    eras = []
    for change in changes:
        if change.what in {"created", "deleted"}:
            break
        if change.anchor_ms is not None:
            eras.append(_era(change.anchor_ms, values))
            values |= {name: change.fields[name][0] for name in _TIMING if name in change.fields}
    else:
        if len(changes) >= MAX_CHANGES:  # older ones are forgotten, and with them what they changed
            return [*eras, _era(changes[-1].at_ms, values), Era(schedule.created_at_ms, None, None)]
    return [*eras, _era(schedule.created_at_ms, values)]


def era_at(eras: Sequence[Era], ms: int) -> Era | None:
    """The era that the instant `ms` (milliseconds) belongs to; None before the first."""
    return next((era for era in eras if era.after_ms < ms), None)


def has_tick(spec: Spec, ms: int) -> bool:
    """Whether the instant `ms` (milliseconds) is a tick."""
    return spec.latest_at_or_before(ms) == ms


def spec_or_none(text: str | None) -> Spec | None:
    """The compiled spec; None for none, and for one that is refused now."""
    try:
        return parse_spec(text) if text else None
    except InvalidSpec:
        return None


def _era(after_ms: int, values: Mapping[str, Any]) -> Era:
    text: str = values["spec"]
    spec = spec_or_none(text)
    starts, ends = (int(values[name]) if values[name] else None for name in _TIMING[1:])
    return Era(after_ms, text, bounded(spec, starts, ends) if spec else None)
