"""When a schedule fires: its spec within its bounds, from a definition or from a record."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.errors import InvalidRequest
from headgate.models import Schedule, ScheduleDefinition
from headgate.spec import Spec, bounded, parse_spec


def timing_of(schedule: ScheduleDefinition | Schedule) -> Spec:
    """The ticks of a schedule; raises `InvalidSpec`."""
    return bounded(parse_spec(schedule.spec), schedule.starts_at_ms, schedule.ends_at_ms)


def timing_from(record: Mapping[str, str | None]) -> Spec:
    """The ticks of a stored schedule.

    Raises:
        InvalidSpec: the spec is refused now, for instance because its zone left the zone database.
        ValueError: a bound is no number.
    """
    starts_at, ends_at = record.get("starts_at_ms"), record.get("ends_at_ms")
    spec = parse_spec(record.get("spec") or "")
    return bounded(spec, int(starts_at) if starts_at else None, int(ends_at) if ends_at else None)


def check_jitter(jitter_ms: int, spec: Spec) -> None:
    """Raise `InvalidRequest` if the jitter is as long as the interval; other specs have none of one length."""
    if spec.interval_ms is not None and jitter_ms >= spec.interval_ms:
        raise InvalidRequest(
            f"jitter_ms {jitter_ms} is not shorter than the interval {spec.interval_ms}", field="jitter_ms"
        )
