"""Which due ticks fire, which are discarded, what is next: none is lost, none comes twice, none is enumerated."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.missed import (
    Plan,
    marker_life_ms,
    passed_over,
    plan_catch_up,
    plan_due,
    plan_resumption,
    plan_unwritten,
)
from headgate.models import MissedPolicy, TickRange
from headgate.settings import MAX_INSTANT_MS
from headgate.spec import Spec, parse_spec

SKIP, RUN_ONCE, BACKFILL = MissedPolicy
DAY = 86_400_000
EVERY_10 = parse_spec("@every:10")

specs = st.one_of(
    st.integers(1, 100_000).map(lambda ms: parse_spec(f"@every:{ms}")),
    st.sampled_from(
        [
            parse_spec("*/7 * * * * *"),
            parse_spec("0 9 * * 1-5"),
            parse_spec("0 0 29 2 *"),
            parse_spec("CRON_TZ=America/New_York 30 1,2 * * *"),
            parse_spec("CRON_TZ=Europe/Berlin 30 2 * 3,10 *"),
        ]
    ),
)


def ticks_from(spec: Spec, tick: int | None) -> list[int]:
    """At most sixty ticks, from this one on."""
    found: list[int] = []
    while tick is not None and len(found) < 60:
        found.append(tick)
        tick = spec.next_after(tick)
    return found


@st.composite
def outages(draw: st.DrawFn) -> tuple[Spec, int, int, list[int]]:
    """A spec, the first tick after an anchor, store time somewhat later, and every due tick in between."""
    spec = draw(specs)
    first = spec.next_after(draw(st.integers(0, 4_000_000_000_000)))
    assert first is not None
    ticks = ticks_from(spec, first)
    count = draw(st.integers(1, len(ticks) - 1))
    now = draw(st.integers(ticks[count - 1], ticks[count] - 1))
    return spec, first, now, ticks[:count]


policies = st.sampled_from(list(MissedPolicy))


@settings(deadline=None)
@given(outages(), policies, st.integers(1, 70), st.integers(1, 70))
def test_discarded_planned_and_next_part_the_due_ticks(
    outage: tuple[Spec, int, int, list[int]], policy: MissedPolicy, backfill: int, limit: int
) -> None:
    """Each due tick is discarded, planned or still to come: in this order, exactly one of them, within the limit."""
    spec, first, now, due = outage
    plan = plan_due(spec, policy, backfill, first, now, limit)
    wanted = min(len(due), backfill if policy is BACKFILL else 1)
    discarded = due[:-wanted]
    assert plan.ticks == tuple(due[-wanted:][:limit])
    assert plan.discarded == (TickRange(from_ms=discarded[0], until_ms=discarded[-1]) if discarded else None)
    assert plan.next_run_ms == (due[limit - wanted] if wanted > limit else spec.next_after(due[-1]))


@settings(deadline=None)
@given(outages(), policies, st.integers(1, 70), st.integers(1, 20))
def test_plans_in_a_row_fire_what_one_unlimited_plan_fires(
    outage: tuple[Spec, int, int, list[int]], policy: MissedPolicy, backfill: int, limit: int
) -> None:
    """A schedule that spans several calls goes on where it stopped and discards nothing more."""
    spec, first, now, due = outage
    whole = plan_due(spec, policy, backfill, first, now, len(due))
    fired: list[int] = []
    at: int | None = first
    while (plan := plan_due(spec, policy, backfill, at, now, limit)).ticks:
        assert plan.discarded == (None if fired else whole.discarded)
        fired += plan.ticks
        at = plan.next_run_ms
    assert tuple(fired) == whole.ticks
    assert at == whole.next_run_ms


@settings(deadline=None)
@given(outages(), policies, st.integers(1, 70))
def test_an_unwritten_tick_is_planned_with_what_its_event_will_say(
    outage: tuple[Spec, int, int, list[int]], policy: MissedPolicy, backfill: int
) -> None:
    """The event missing after a fault gets the range it would have had, whatever became due since."""
    spec, first, now, due = outage
    planned = plan_due(spec, policy, backfill, first, now, 1)
    again = plan_unwritten(spec, first - 1, planned.ticks[0])
    assert (again.ticks, again.discarded) == (planned.ticks, planned.discarded)
    assert again.next_run_ms == next((tick for tick in due if tick > planned.ticks[0]), spec.next_after(due[-1]))


@pytest.mark.parametrize(
    ("policy", "backfill", "now", "limit", "expected"),
    [
        (SKIP, 5, 9, 9, Plan((), None, 10)),
        (SKIP, 5, 10, 9, Plan((10,), None, 20)),
        (SKIP, 5, 19, 9, Plan((10,), None, 20)),
        (SKIP, 5, 20, 9, Plan((20,), TickRange(from_ms=10, until_ms=10), 30)),
        (RUN_ONCE, 5, 59, 9, Plan((50,), TickRange(from_ms=10, until_ms=40), 60)),
        (BACKFILL, 1, 59, 9, Plan((50,), TickRange(from_ms=10, until_ms=40), 60)),
        (BACKFILL, 3, 59, 9, Plan((30, 40, 50), TickRange(from_ms=10, until_ms=20), 60)),
        (BACKFILL, 5, 59, 9, Plan((10, 20, 30, 40, 50), None, 60)),
        (BACKFILL, 9, 59, 9, Plan((10, 20, 30, 40, 50), None, 60)),
        (BACKFILL, 4, 59, 2, Plan((20, 30), TickRange(from_ms=10, until_ms=10), 40)),
        (BACKFILL, 5, 59, 1, Plan((10,), None, 20)),
    ],
)
def test_policies(policy: MissedPolicy, backfill: int, now: int, limit: int, expected: Plan) -> None:
    """A tick every ten milliseconds, the first one due at 10."""
    assert plan_due(EVERY_10, policy, backfill, 10, now, limit) == expected


@pytest.mark.parametrize("policy", list(MissedPolicy))
def test_nothing_due_is_an_empty_plan(policy: MissedPolicy) -> None:
    """Before the first tick, and when there is no further one at all."""
    assert plan_due(EVERY_10, policy, 5, 30, 29, 9) == Plan((), None, 30)
    assert plan_due(EVERY_10, policy, 5, None, 29, 9) == Plan((), None, None)


@pytest.mark.parametrize("policy", list(MissedPolicy))
def test_the_last_tick_of_the_calendar_is_followed_by_none(policy: MissedPolicy) -> None:
    """After the end of the year 9999 there is nothing to wait for."""
    spec = parse_spec(f"@every:{MAX_INSTANT_MS}")
    plan = plan_due(spec, policy, 5, MAX_INSTANT_MS, MAX_INSTANT_MS + DAY, 9)
    assert plan == Plan((MAX_INSTANT_MS,), None, None)


@pytest.mark.parametrize(
    ("first", "chosen", "expected"),
    [
        (10, 10, None),
        (20, 10, None),
        (10, 20, TickRange(from_ms=10, until_ms=10)),
        (10, 50, TickRange(from_ms=10, until_ms=40)),
    ],
)
def test_a_range_passed_over_ends_before_the_chosen_tick(first: int, chosen: int, expected: TickRange | None) -> None:
    """Both ends are ticks and belong to it; without ticks there is no range."""
    assert passed_over(EVERY_10, first, chosen) == expected


@pytest.mark.parametrize(
    ("gap_ms", "life_ms"),
    [(1, 600_000), (37_500, 600_000), (37_501, 600_016), (3_600_000, 57_600_000), (5_400_000, DAY), (31 * DAY, DAY)],
)
def test_a_marker_lives_for_sixteen_gaps_within_bounds(gap_ms: int, life_ms: int) -> None:
    """At least ten minutes, at most a day; measured from the last tick of the plan to what follows it."""
    assert marker_life_ms(Plan((5, 1000), None, 1000 + gap_ms)) == life_ms


def test_the_marker_of_a_last_tick_lives_for_a_day() -> None:
    """Nothing follows it that could say how long."""
    assert marker_life_ms(Plan((5,), None, None)) == DAY


class CountingSpec(Spec):
    """Counts what it is asked."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec.text)
        self.spec = spec
        self.asked = 0

    def next_after(self, ms: int) -> int | None:
        self.asked += 1
        return self.spec.next_after(ms)

    def latest_at_or_before(self, ms: int) -> int | None:
        self.asked += 1
        return self.spec.latest_at_or_before(ms)

    def describe(self) -> str:
        return self.spec.describe()


@pytest.mark.parametrize("policy", list(MissedPolicy))
def test_a_plan_costs_the_same_whatever_the_outage(policy: MissedPolicy) -> None:
    """An hour and a century of missed seconds ask the spec equally often."""
    asked = []
    for outage_ms in (3_600_000, 36_525 * DAY):
        spec = CountingSpec(parse_spec("@every:1000"))
        assert plan_due(spec, policy, 10, 1000, outage_ms, 200).ticks
        asked.append(spec.asked)
    assert asked[0] == asked[1] <= 14


def in_range(ticks: list[int], found: TickRange | None) -> list[int]:
    return [] if found is None else [tick for tick in ticks if found.from_ms <= tick <= found.until_ms]


@settings(deadline=None)
@given(outages(), st.integers(0, 70), st.integers(1, 70))
def test_unrun_made_up_for_and_next_part_the_ticks_of_a_pause(
    outage: tuple[Spec, int, int, list[int]], wanted: int, limit: int
) -> None:
    """Each is on record as unrun, or fires in its turn: the latest `wanted`; and the next tick follows them."""
    spec, first, now, ticks = outage
    it = plan_resumption(spec, first - 1, now, wanted)
    unrun = in_range(ticks, it.older) + ([] if it.unrun_ms is None else [it.unrun_ms])
    fired: list[int] = []
    following = it.next_run_ms
    while following is not None and it.catch_up_ms is not None and following <= it.catch_up_ms:
        plan = plan_catch_up(spec, following, it.catch_up_ms, limit)
        assert 1 <= len(plan.ticks) <= limit
        assert plan.discarded is None
        fired += plan.ticks
        following = plan.next_run_ms
    assert unrun + fired == ticks
    assert len(fired) == min(wanted, len(ticks))
    assert following == spec.next_after(now)
    assert it.next_run_ms == spec.next_after(it.anchor_ms), "where it goes on from and what comes next agree"


@settings(deadline=None)
@given(outages(), st.integers(0, 70))
def test_a_pause_without_a_tick_leaves_nothing_and_no_clock_gone_back_an_earlier_anchor(
    outage: tuple[Spec, int, int, list[int]], wanted: int
) -> None:
    spec, first, now, _ = outage
    for anchor, at in ((first - 1, first - 1), (now, now), (now, first - 1)):
        it = plan_resumption(spec, anchor, at, wanted)
        assert (it.unrun_ms, it.older, it.catch_up_ms) == (None, None, None)
        assert (it.anchor_ms, it.next_run_ms) == (anchor, spec.next_after(anchor))
