"""From due rows to batches: bounded by ticks and bytes, herds planned once, a damaged record its own trouble."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.missed import Plan
from headgate.models import MissedPolicy, Reason, TickRange
from headgate.planning import Sweep
from headgate.settings import MAX_CALL_BYTES, MAX_CALL_TICKS
from headgate.spec import Spec, parse_spec
from headgate.store.ticks import DuePage, DueRow, PlannedFire, Unrecorded

NOW = 1_800_000_000_000
MINUTE = 60_000


def row(schedule_id: str = "a", missed: int = 1, **fields: str | None) -> DueRow:
    """A minutely schedule of which so many ticks are due, the last of them now."""
    values: dict[str, str | None] = {
        "id": schedule_id,
        "spec": "@every:60000",
        "on_missed": "skip",
        "backfill_limit": "100",
        "next_run_ms": str(NOW - (missed - 1) * MINUTE),
        "anchor_ms": str(NOW - missed * MINUTE),
        "last_tick_ms": "",
        "revision": "1",
        "payload_bytes": "10",
    }
    return DueRow(**(values | fields))  # type: ignore[arg-type]  # a damaged record has None where text should be


def sweep_of(*rows: DueRow, due_next_ms: int | None = None) -> Sweep:
    return Sweep(DuePage(NOW, due_next_ms, [], list(rows)), {})


def only(sweep: Sweep) -> PlannedFire:
    [[planned]] = sweep.batches()
    return planned


def size(batch: list[PlannedFire]) -> tuple[int, int]:
    """Ticks and bytes of payload."""
    counts = [(len(it.plan.ticks), int(it.row.payload_bytes)) for it in batch]
    return sum(ticks for ticks, _ in counts), sum(ticks * each for ticks, each in counts)


due_rows = st.builds(
    row,
    missed=st.integers(1, 500),
    on_missed=st.sampled_from(list(MissedPolicy)),
    backfill_limit=st.integers(1, 1000).map(str),
    payload_bytes=st.one_of(st.integers(2, 2000), st.integers(2, MAX_CALL_BYTES)).map(str),
)


@given(st.lists(due_rows, max_size=60))
def test_batches_are_bounded_by_ticks_and_by_bytes(rows: list[DueRow]) -> None:
    """At most 200 ticks and 1 MiB of payload a call, or one job."""
    for batch in sweep_of(*rows).batches():
        ticks, total = size(batch)
        assert 1 <= ticks <= MAX_CALL_TICKS
        assert total <= MAX_CALL_BYTES or ticks == 1


@given(st.lists(due_rows, max_size=60))
def test_every_row_is_planned_once_in_the_order_of_the_page(rows: list[DueRow]) -> None:
    """The oldest due come first, whatever the borders of the batches."""
    numbered = [it._replace(id=str(number)) for number, it in enumerate(rows)]
    planned = [it for batch in sweep_of(*numbered).batches() for it in batch]
    assert [it.row.id for it in planned] == [it.id for it in numbered]


@given(st.lists(due_rows, min_size=2, max_size=20))
def test_a_batch_ends_only_where_the_next_share_would_not_fit(rows: list[DueRow]) -> None:
    """No call is left half empty."""
    batches = list(sweep_of(*rows).batches())
    for batch, following in pairwise(batches):
        ticks, total = (a + b for a, b in zip(size(batch), size(following[:1]), strict=True))
        assert ticks > MAX_CALL_TICKS or total > MAX_CALL_BYTES


@pytest.mark.parametrize(
    ("payload_bytes", "planned"),
    [
        *((2, 200), (MAX_CALL_BYTES // 200, 200), (MAX_CALL_BYTES // 100, 100)),
        *((MAX_CALL_BYTES // 2 + 1, 1), (MAX_CALL_BYTES, 1), (MAX_CALL_BYTES * 2, 1)),
    ],
)
def test_a_wide_backfill_plans_what_fits_one_call_and_goes_on_later(payload_bytes: int, planned: int) -> None:
    """The rest stays due: the next run is the first tick left out, and no tick is discarded for want of room."""
    wide = row(missed=300, on_missed="backfill", backfill_limit="300", payload_bytes=str(payload_bytes))
    sweep = sweep_of(wide)
    plan = only(sweep).plan
    first = NOW - 299 * MINUTE
    assert plan.ticks == tuple(first + number * MINUTE for number in range(planned))
    assert plan.discarded is None
    assert plan.next_run_ms == first + planned * MINUTE
    assert sweep.due_next_ms == plan.next_run_ms, "the sweep says that there is more to do now"


class CountingSpec(Spec):
    """Counts how often ticks are searched for."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.spec = parse_spec(text)
        self.latest_calls = 0
        self.next_calls = 0

    def next_after(self, ms: int) -> int | None:
        self.next_calls += 1
        return self.spec.next_after(ms)

    def latest_at_or_before(self, ms: int) -> int | None:
        self.latest_calls += 1
        return self.spec.latest_at_or_before(ms)

    def describe(self) -> str:
        return self.spec.describe()


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingSpec]:
    spec = CountingSpec("@every:60000")
    monkeypatch.setattr("headgate.planning.parse_spec", lambda _text: spec)
    return iter([spec])


@pytest.mark.parametrize("on_missed", list(MissedPolicy))
def test_a_herd_is_planned_once(counting: Iterator[CountingSpec], on_missed: str) -> None:
    """A thousand schedules with one spec, policy and first due tick share a plan; each asks for its first tick only."""
    [spec] = counting
    [[alone]] = sweep_of(row(missed=5, on_missed=on_missed)).batches()
    next_calls, latest_calls = spec.next_calls, spec.latest_calls
    herd = [row(str(number), missed=5, on_missed=on_missed) for number in range(1000)]
    planned = [it for batch in sweep_of(*herd).batches() for it in batch]
    assert len(planned) == 1000
    assert all(it.plan is planned[0].plan for it in planned)
    assert planned[0].plan == alone.plan
    assert spec.latest_calls == 2 * latest_calls
    assert spec.next_calls == 2 * next_calls + 999


@pytest.mark.parametrize(
    "other",
    [
        {"spec": "@every:30000"},
        {"on_missed": "skip"},
        {"backfill_limit": "2"},
        {"anchor_ms": str(NOW - 4 * MINUTE)},
    ],
    ids=lambda it: next(iter(it)),
)
def test_what_decides_a_plan_keeps_schedules_apart(other: dict[str, str]) -> None:
    """Schedules that differ in it do not share a plan."""
    rows = [row("a", 5, on_missed="backfill"), row("b", 5, **({"on_missed": "backfill"} | other))]
    [[first, second]] = sweep_of(*rows).batches()
    assert first.plan != second.plan


@pytest.mark.parametrize("sizes", [("2", str(MAX_CALL_BYTES)), (str(MAX_CALL_BYTES), "2")])
def test_a_plan_is_not_shared_with_a_schedule_it_does_not_fit(sizes: tuple[str, str]) -> None:
    """Of two equal backfills the one with the large payload fires tick by tick, whoever comes first."""
    rows = [
        row(str(at), 3, on_missed="backfill", payload_bytes=payload_bytes) for at, payload_bytes in enumerate(sizes)
    ]
    counts = {it.row.payload_bytes: len(it.plan.ticks) for batch in sweep_of(*rows).batches() for it in batch}
    assert counts == {"2": 3, str(MAX_CALL_BYTES): 1}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ({"spec": ""}, Reason.INVALID_SPEC),
        ({"spec": "61 * * * *"}, Reason.INVALID_SPEC),
        ({"spec": "CRON_TZ=Mars/Olympus 0 9 * * *"}, Reason.INVALID_SPEC),
        ({"anchor_ms": None}, Reason.INVALID_REQUEST),
        ({"anchor_ms": "soon"}, Reason.INVALID_REQUEST),
        ({"anchor_ms": "9" * 5000}, Reason.INVALID_REQUEST),
        ({"last_tick_ms": "x"}, Reason.INVALID_REQUEST),
        ({"on_missed": "sometimes"}, Reason.INVALID_REQUEST),
        ({"on_missed": None}, Reason.INVALID_REQUEST),
        ({"backfill_limit": None}, Reason.INVALID_REQUEST),
        ({"backfill_limit": "many"}, Reason.INVALID_REQUEST),
        ({"payload_bytes": None}, Reason.INVALID_REQUEST),
        ({"payload_bytes": "1e3"}, Reason.INVALID_REQUEST),
    ],
)
def test_a_damaged_record_is_unplannable_and_alone_in_it(damage: dict[str, str | None], reason: Reason) -> None:
    """It is reported with a stable reason; the schedules before and after it are planned."""
    broken = row("b", 5, **({"on_missed": "backfill"} | damage))
    sweep = sweep_of(row("a"), broken, row("c"))
    [batch] = sweep.batches()
    assert [it.row.id for it in batch] == ["a", "c"]
    assert sweep.unplannable == [(broken, reason)]
    assert sweep.empty == []


def test_no_due_tick_after_all_is_no_plan_but_a_next_run() -> None:
    """As after a change of zone rules; and when the spec has no further tick at all."""
    sweep = sweep_of(row("a", anchor_ms=str(NOW)), row("b", anchor_ms="253402300799999"))
    assert list(sweep.batches()) == []
    assert [(it.id, following) for it, following in sweep.empty] == [("a", NOW + MINUTE), ("b", None)]
    assert sweep.due_next_ms == NOW + MINUTE


@pytest.mark.parametrize(
    ("known", "expected"), [(None, NOW + MINUTE), (NOW + 5, NOW + 5), (NOW + 90_000, NOW + MINUTE)]
)
def test_the_earliest_tick_that_follows_is_known_afterwards(known: int | None, expected: int) -> None:
    """What the page saw coming and what the plans lead to, whichever is first."""
    sweep = sweep_of(row(), due_next_ms=known)
    assert list(sweep.batches())
    assert sweep.due_next_ms == expected


def test_a_queued_tick_without_an_event_is_planned_alone() -> None:
    """`last_tick_ms` ahead of the anchor: its event comes first, with the range it owes, before anything newer."""
    plan = only(sweep_of(row(missed=5, on_missed="backfill", last_tick_ms=str(NOW - 3 * MINUTE)))).plan
    older = TickRange(from_ms=NOW - 4 * MINUTE, until_ms=NOW - 4 * MINUTE)
    assert plan == Plan((NOW - 3 * MINUTE,), older, NOW - 2 * MINUTE)


def test_attempts_that_nobody_could_record_go_with_the_tick_they_were_made_at() -> None:
    """Matched by schedule and by the first tick of the plan."""
    remembered = {"a": Unrecorded(NOW, 3, NOW), "b": Unrecorded(NOW - MINUTE, 9, NOW)}
    sweep = Sweep(DuePage(NOW, None, [], [row("a"), row("b")]), remembered)
    [batch] = sweep.batches()
    assert [it.unrecorded for it in batch] == [Unrecorded(NOW, 3, NOW), None]


def test_plans_are_made_as_batches_are_taken() -> None:
    """The first call need not wait for the planning of the last."""
    sweep = sweep_of(*(row(str(number)) for number in range(500)), row("z", spec="nonsense"))
    batches = sweep.batches()
    assert len(next(batches)) == MAX_CALL_TICKS
    assert sweep.unplannable == []
    assert [len(batch) for batch in batches] == [200, 100]
    assert len(sweep.unplannable) == 1


def test_an_empty_page_has_no_batches() -> None:
    """Nothing is called for nothing."""
    assert list(sweep_of().batches()) == []


@pytest.mark.parametrize("payload_bytes", ["10", "100000"])
@pytest.mark.parametrize("policy", MissedPolicy)
def test_a_catch_up_comes_before_the_policy_and_ends_with_its_last_tick(
    policy: MissedPolicy, payload_bytes: str
) -> None:
    """Every tick up to it, in order, however large the payload; what came due since is left to the policy."""
    due = row(
        missed=8, on_missed=policy, backfill_limit="2", catch_up_ms=str(NOW - 3 * MINUTE), payload_bytes=payload_bytes
    )
    plan = only(sweep_of(due)).plan
    assert plan == Plan(tuple(NOW - back * MINUTE for back in (7, 6, 5, 4, 3)), None, NOW - 2 * MINUTE)
    after = row(missed=3, on_missed=policy, backfill_limit="2", catch_up_ms=str(NOW - 3 * MINUTE))
    assert only(sweep_of(after)).plan.ticks == ((NOW - MINUTE, NOW) if policy is MissedPolicy.BACKFILL else (NOW,))


def test_a_catch_up_is_bounded_like_any_plan() -> None:
    by_ticks = only(sweep_of(row(missed=1000, catch_up_ms=str(NOW)))).plan
    by_bytes = only(sweep_of(row(missed=1000, catch_up_ms=str(NOW), payload_bytes="100000"))).plan
    assert (len(by_ticks.ticks), len(by_bytes.ticks)) == (MAX_CALL_TICKS, MAX_CALL_BYTES // 100_000)


def test_bounds_are_part_of_what_a_herd_shares() -> None:
    """One that has ended is not planned as its neighbour that has not."""
    rows = [row("a", missed=3), row("b", missed=3, ends_at_ms=str(NOW - MINUTE))]
    [batch] = sweep_of(*rows).batches()
    assert [planned.plan.ticks for planned in batch] == [(NOW,), (NOW - MINUTE,)]
    assert [planned.plan.next_run_ms for planned in batch] == [NOW + MINUTE, None]
