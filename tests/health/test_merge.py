"""The merge of all schedules against every tick of every spec; and its bounds, whatever there is to merge."""

from __future__ import annotations

import time
from collections import defaultdict
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InvalidSpec
from headgate.spec import Spec, parse_spec
from headgate.upcoming import HERD, MAX_NAMED, MAX_UPCOMING, Entry, UpcomingInstant, merge
from tests.support.worlds import START_MS

SPECS = (
    *("@every:700", "@every:1000", "@every:60000", "@every:86400000"),
    *("* * * * * *", "*/5 * * * *", "0 9 * * *", "CRON_TZ=Europe/Berlin 0 10 * * *", "0 0 29 2 *"),
)
SPAN_MS = 120_000


def entry(schedule_id: str, text: str) -> Entry:
    spec = parse_spec(text)
    first_ms = spec.next_after(START_MS)
    assert first_ms is not None
    return Entry(first_ms, schedule_id, lambda: spec)


def all_ticks(specs: list[str], until_ms: int) -> dict[int, list[str]]:
    """By stepping through each spec alone."""
    found: dict[int, list[str]] = defaultdict(list)
    for number, text in enumerate(specs):
        tick = parse_spec(text).next_after(START_MS)
        while tick is not None and tick <= until_ms:
            found[tick].append(f"s{number:04}")
            tick = parse_spec(text).next_after(tick)
    return dict(sorted(found.items()))


@settings(max_examples=60, deadline=None)
@given(
    specs=st.lists(st.sampled_from(SPECS), max_size=30),
    span_ms=st.integers(1, SPAN_MS),
    limit=st.integers(1, MAX_UPCOMING),
)
def test_it_agrees_with_brute_force_up_to_where_it_says(specs: list[str], span_ms: int, limit: int) -> None:
    """Complete until there, nothing behind it, whole instants, no more ticks than the limit but for the first."""
    until_ms = START_MS + span_ms
    entries = [entry(f"s{number:04}", text) for number, text in enumerate(specs)]
    instants, complete_until_ms = merge(reversed(entries), until_ms, limit)
    expected = all_ticks(specs, until_ms)
    assert START_MS <= complete_until_ms <= until_ms
    assert [(instant.tick_ms, instant.count, instant.schedule_ids) for instant in instants] == [
        (tick, len(ids), ids[:MAX_NAMED]) for tick, ids in expected.items() if tick <= complete_until_ms
    ]
    assert len(instants) <= 1 or sum(instant.count for instant in instants) <= limit
    if complete_until_ms < until_ms:
        ticks = sum(len(ids) for tick, ids in expected.items() if tick <= complete_until_ms + 1)
        assert ticks > limit, "cut although there was room"
    assert all((instant.herd is not None) == (instant.count >= HERD) for instant in instants)


def test_a_herd_is_named_in_a_sentence() -> None:
    instants, _ = merge([entry(f"s{number:04}", "0 9 * * *") for number in range(412)], START_MS + 86_400_000, 1000)
    assert instants == [
        UpcomingInstant(
            tick_ms=START_MS + 3_600_000,
            count=412,
            schedule_ids=[f"s{number:04}" for number in range(10)],
            herd="412 schedules at 09:00:00",
        )
    ]


def test_the_first_instant_is_there_whatever_the_limit() -> None:
    """Else nobody would learn of the herd that is too large for it."""
    entries = [entry(f"s{number:04}", "@every:1000") for number in range(50)]
    instants, complete_until_ms = merge(entries, START_MS + 60_000, 1)
    assert [instant.count for instant in instants] == [50]
    assert complete_until_ms == START_MS + 1_999


def test_specs_are_compiled_only_where_a_second_tick_is_wanted() -> None:
    compiled = []

    def timing(name: str) -> Spec:
        compiled.append(name)
        return parse_spec("@every:1000")

    entries = [Entry(START_MS + 1_000 * number, f"s{number}", partial(timing, f"s{number}")) for number in (1, 9)]
    merge(entries, START_MS + 3_000, 1000)
    assert set(compiled) == {"s1"}


@pytest.mark.parametrize("error", [InvalidSpec("zone left"), ValueError("foreign")])
def test_a_spec_that_cannot_be_compiled_has_its_first_tick_alone(error: Exception) -> None:
    def timing() -> Spec:
        raise error

    instants, complete_until_ms = merge([Entry(START_MS + 1, "s", timing)], START_MS + 60_000, 1000)
    assert [instant.tick_ms for instant in instants] == [START_MS + 1]
    assert complete_until_ms == START_MS + 60_000


def test_its_work_is_bounded_however_dense_and_far() -> None:
    """A thousand schedules every second until the end of the calendar: about two thousand steps."""
    steps = 0

    class Counted(Spec):
        def next_after(self, ms: int) -> int | None:
            nonlocal steps
            steps += 1
            return ms + 1_000

        def latest_at_or_before(self, ms: int) -> int | None:
            return ms

        def describe(self) -> str:
            return ""

    spec = Counted("")
    entries = [Entry(START_MS + number, f"s{number}", lambda: spec) for number in range(MAX_UPCOMING)]
    started = time.perf_counter()
    instants, _ = merge(entries, 250_000_000_000_000, MAX_UPCOMING)
    assert sum(instant.count for instant in instants) == MAX_UPCOMING
    assert steps <= 2 * MAX_UPCOMING
    assert time.perf_counter() - started < 0.5
