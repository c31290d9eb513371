"""How many ticks a gap has is worked out when it is read, from the spec whose ticks they are."""

from __future__ import annotations

import pytest

from tests.support.worlds import START_MS, World

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("spec", "days", "count"),
    [
        ("@every:60000", 14, 20_160),
        ("0 9 * * *", 14, 14),
        # On 14 March 2027 New York's clocks pass over 02:30.
        ("CRON_TZ=America/New_York 30 2 * * *", 90, 89),
    ],
)
async def test_a_gap_knows_its_count_after_the_spec_has_changed_too(
    moved: World, spec: str, days: int, count: int
) -> None:
    await moved.put("a", spec)
    await moved.store.control.pause("a")
    await moved.advance(days * DAY_MS)
    await moved.store.control.resume("a")
    await moved.put("a", "@every:7777")
    [gap] = (await moved.store.backfills.gaps("a")).gaps
    assert (gap.count, gap.spec) == (count, spec)
    assert START_MS < gap.from_ms <= gap.until_ms


@pytest.mark.damages_store("a gap whose spec is refused")
async def test_a_gap_whose_spec_cannot_be_read_any_more_has_no_count(moved: World) -> None:
    await moved.put("a")
    text = '{"from_ms":60000,"until_ms":120000,"reason":"paused","spec":"no spec"}'
    await moved.client.zadd(moved.keys("gaps", "a"), {text: 120_000})
    [gap] = (await moved.store.backfills.gaps("a")).gaps
    assert gap.count is None
