"""From a page of due schedules to batches for the fire script. No I/O and no clock: store time came with the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headgate.errors import InvalidSpec
from headgate.missed import Plan, plan_catch_up, plan_due, plan_unwritten
from headgate.models import MissedPolicy, Reason
from headgate.settings import MAX_BACKFILL, MAX_CALL_BYTES, MAX_CALL_TICKS
from headgate.spec import Spec, bounded, parse_spec
from headgate.store.ticks import DuePage, DueRow, PlannedFire, Unrecorded


class Sweep:
    """The plans for one page.

    Herds are planned once: schedules with one spec, one policy and one first due tick share the plan.

    Attributes:
        unplannable: schedules whose record does not allow a plan, with the reason.
        empty: schedules with no due tick after all, with their next one; the zone rules changed meanwhile.
        due_next_ms: the earliest tick known to follow; None when there is none.
    """

    def __init__(self, page: DuePage, unrecorded: Mapping[str, Unrecorded]) -> None:
        self.unplannable: list[tuple[DueRow, Reason]] = []
        self.empty: list[tuple[DueRow, int | None]] = []
        self.due_next_ms = page.due_next_ms
        self._page = page
        self._unrecorded = unrecorded
        self._plans: dict[tuple[str | int | None, ...], Plan] = {}

    def batches(self) -> Iterator[list[PlannedFire]]:
        """Plan as the batches are taken, each at most 200 ticks and 1 MiB of payload, or one job."""
        batch: list[PlannedFire] = []
        ticks = size = 0
        for planned in self._planned():
            count = len(planned.plan.ticks)
            job_bytes = int(planned.row.payload_bytes) * count
            if batch and (ticks + count > MAX_CALL_TICKS or size + job_bytes > MAX_CALL_BYTES):
                yield batch
                batch, ticks, size = [], 0, 0
            batch.append(planned)
            ticks += count
            size += job_bytes
        if batch:
            yield batch

    def _planned(self) -> Iterator[PlannedFire]:
        for row in self._page.rows:
            try:
                plan = self._plan(row)
            except InvalidSpec:
                self.unplannable.append((row, Reason.INVALID_SPEC))
                continue
            except (
                ValueError,
                TypeError,
            ):  # a field that is missing or no number: the record was written by others
                self.unplannable.append((row, Reason.INVALID_REQUEST))
                continue
            self._expect(plan.next_run_ms)
            if plan.ticks:
                earlier = self._unrecorded.get(row.id)
                yield PlannedFire(row, plan, earlier if earlier and earlier.tick_ms == plan.ticks[0] else None)
            else:
                self.empty.append((row, plan.next_run_ms))

    def _plan(self, row: DueRow) -> Plan:
        spec = bounded(parse_spec(row.spec), _number(row.starts_at_ms), _number(row.ends_at_ms))
        anchor_ms, payload_bytes, backfill_limit = int(row.anchor_ms), int(row.payload_bytes), int(row.backfill_limit)
        if payload_bytes < 0 or not 1 <= backfill_limit <= MAX_BACKFILL:
            raise ValueError
        if row.last_tick_ms and (last_tick_ms := int(row.last_tick_ms)) > anchor_ms:
            return plan_unwritten(spec, anchor_ms, last_tick_ms)
        first_ms = spec.next_after(anchor_ms)
        # The room for ticks depends on the payload, so a plan is shared only where all of a policy's ticks fit anyway.
        room = max(1, min(MAX_CALL_TICKS, MAX_CALL_BYTES // max(1, payload_bytes)))
        if row.catch_up_ms and first_ms is not None and first_ms <= (until_ms := int(row.catch_up_ms)):
            return plan_catch_up(spec, first_ms, min(until_ms, self._page.now_ms), room)
        if row.on_missed == MissedPolicy.BACKFILL and room < MAX_CALL_TICKS:
            return self._due_plan(spec, row, first_ms, room)
        key = (row.spec, row.starts_at_ms, row.ends_at_ms, row.on_missed, row.backfill_limit, first_ms)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._due_plan(spec, row, first_ms, MAX_CALL_TICKS)
        return plan

    def _due_plan(self, spec: Spec, row: DueRow, first_ms: int | None, room: int) -> Plan:
        policy = MissedPolicy(row.on_missed)
        return plan_due(spec, policy, int(row.backfill_limit), first_ms, self._page.now_ms, room)

    def _expect(self, next_run_ms: int | None) -> None:
        if next_run_ms is not None and (self.due_next_ms is None or next_run_ms < self.due_next_ms):
            self.due_next_ms = next_run_ms


def _number(text: str) -> int | None:
    return int(text) if text else None
