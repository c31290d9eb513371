"""What a write of a schedule sends to the store: its record, where it will stand, and who changes what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headgate.errors import InvalidSpec, StoreError
from headgate.jsontext import canonical
from headgate.missed import passed_over
from headgate.models import Overlap, ScheduleDefinition, TickRange
from headgate.spec import Spec, parse_spec
from headgate.store.changes import change_text
from headgate.store.timing import timing_from

_OPTIONS: Final = (
    *("kind", "spec", "queue", "priority", "max_attempts", "timeout_ms", "retention_ms", "on_missed", "backfill_limit"),
    *(
        "description",
        "overlap",
        "max_lateness_ms",
        "starts_at_ms",
        "ends_at_ms",
        "jitter_ms",
        "unique_key",
        "deadline_ms",
    ),
    "owner",
)
_TIMING: Final = ("spec", "starts_at_ms", "ends_at_ms")
_RULES: Final = ("max_lateness_ms", "jitter_ms", "unique_key", "deadline_ms", "headers")


def stored_fields(definition: ScheduleDefinition) -> dict[str, str]:
    """A definition as the fields of its record."""
    fields = {name: _text(getattr(definition, name)) for name in _OPTIONS}
    payload, fingerprint = definition.content()
    maps = {name: canonical(getattr(definition, name), field=name) for name in ("labels", "headers")}
    ruled = definition.overlap != Overlap.ALLOW or any(getattr(definition, name) for name in _RULES)
    return (
        fields
        | maps
        | {
            "payload": payload,
            "payload_bytes": str(len(payload.encode())),
            "fingerprint": fingerprint,
            "zone": parse_spec(definition.spec).zone,
            "rules": "1" if ruled else "",
        }
    )


def put_arguments(
    schedule_id: str,
    record: dict[str, str],
    now_ms: int,
    spec: Spec,
    fields: dict[str, str],
    *,
    by: str,
    paused: bool,
) -> list[str | int]:
    """What the put script compares, where the schedule will stand, who changes what, and the record.

    Args:
        schedule_id: which.
        record: as read; empty where there is none.
        now_ms: store time when it was read.
        spec: the new ticks.
        fields: the new record.
        by: who writes.
        paused: whether a new schedule starts paused.

    Raises:
        StoreError: a queued tick still lacks its event.
    """
    standing = _standing(schedule_id, record, now_ms, spec, fields, paused=paused)
    return [*standing, _change(record, fields, by, standing), *_flat(fields)]


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _change(record: dict[str, str], fields: dict[str, str], by: str, standing: Sequence[str | int]) -> str:
    if not record:
        return change_text("created", by, {})
    _id, _revision, as_read, _next, anchor_ms, *_ = standing
    return change_text("updated", by, _moved(record, fields), None if as_read == "keep" else int(anchor_ms))


def _moved(record: dict[str, str], fields: dict[str, str]) -> dict[str, list[str | None]]:
    """From what to what, of the fields that a write moves."""
    derived = {"payload_bytes", "fingerprint", "zone", "rules"}
    return {
        name: [record.get(name), value]
        for name, value in fields.items()
        if name not in derived and record.get(name, "") != value
    }


def _flat(fields: dict[str, str]) -> list[str]:
    return [text for pair in fields.items() for text in pair]


def _standing(
    schedule_id: str, record: dict[str, str], now_ms: int, spec: Spec, fields: dict[str, str], *, paused: bool
) -> list[str | int]:
    """What the put script compares, and where the schedule will stand."""
    if record and all((record.get(name) or "") == fields[name] for name in _TIMING):
        return [schedule_id, record["revision"], "keep", "", "", "", "", ""]
    last_tick_ms = int(record.get("last_tick_ms") or 0)
    if record and last_tick_ms > int(record["anchor_ms"]):
        raise StoreError(
            f"tick {last_tick_ms} of schedule {schedule_id} is queued and still lacks its event; mend its history first"
        )
    passed_ms, older = _passed(record, now_ms)
    # Never behind a decided tick, should the store's clock have gone back: the ledger would swallow what lies between.
    anchor_ms = max(now_ms, last_tick_ms)
    next_ms = spec.next_after(anchor_ms)
    return [
        schedule_id,
        record.get("revision", ""),
        f"{record.get('next_run_ms', '')},{record.get('last_tick_ms', '')}" if record else "",
        "" if next_ms is None else next_ms,
        anchor_ms,
        "1" if paused else "0",
        "" if passed_ms is None else passed_ms,
        "" if older is None else f"{older.from_ms},{older.until_ms}",
    ]


def _passed(record: dict[str, str], now_ms: int) -> tuple[int | None, TickRange | None]:
    """The latest tick that is due under the old spec, paused or not, and the older due ones: a new spec passes them."""
    if not record:
        return None, None
    try:
        old = timing_from(record)
    except InvalidSpec:
        return None, None
    first_ms, latest_ms = old.next_after(int(record["anchor_ms"])), old.latest_at_or_before(now_ms)
    if first_ms is None or latest_ms is None or first_ms > latest_ms:
        return None, None
    return latest_ms, passed_over(old, first_ms, latest_ms)
