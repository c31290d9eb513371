"""The filtered list: by label, pause, trouble and the beginning of the id; bounded in what it looks at."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import InvalidCursor, InvalidRequest
from headgate.models import QueueLimits
from headgate.settings import MAX_EXAMINED
from headgate.store.paging import write_cursor
from tests.control.acts import MINUTE, sweep
from tests.support.worlds import World


async def listed(world: World, *, limit: int = 50, **filters: Any) -> list[str]:
    """The ids of all pages."""
    ids: list[str] = []
    cursor = None
    while True:
        page = await world.store.schedules.list(limit=limit, cursor=cursor, **filters)
        assert len(page.schedules) <= limit
        assert page.examined >= len(page.schedules)
        ids += [schedule.id for schedule in page.schedules]
        if (cursor := page.next_cursor) is None:
            return ids


async def several(world: World) -> None:
    labels = [{"team": "red"}, {"team": "blue", "tier": "1"}, {"tier": "team"}, {"a team": "red"}, {}]
    for name, each in zip("abcde", labels, strict=True):
        await world.put(name, labels=each)
    for name in "bd":
        await world.store.control.pause(name)


@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, "abcde"),
        ({"label": "team"}, "ab"),
        ({"label": "team=red"}, "a"),
        ({"label": "team=r"}, ""),
        ({"label": "tea"}, ""),
        ({"label": "eam"}, ""),
        ({"label": "team=red2"}, ""),
        ({"label": "tier"}, "bc"),
        ({"label": "red"}, ""),
        ({"paused": True}, "bd"),
        ({"paused": False}, "ace"),
        ({"label": "team", "paused": True}, "b"),
        ({"failing": True}, ""),
        ({"failing": False}, "abcde"),
    ],
)
async def test_a_filter_lists_just_what_passes_it_on_pages_of_any_size(
    moved: World, filters: dict[str, Any], ids: str, limit: int
) -> None:
    await several(moved)
    assert await listed(moved, limit=limit, **filters) == list(ids)


@pytest.mark.parametrize("value", ['"', '","team":"x', "\\", "ä", "%a", "[", "a=b"])
async def test_a_label_of_odd_characters_is_found_and_no_other(moved: World, value: str) -> None:
    await moved.put("a", labels={"name": value})
    await moved.put("b", labels={value.replace("=", "-"): "name"})
    assert await listed(moved, label=f"name={value}") == ["a"]
    assert await listed(moved, label="team=x") == []
    assert await listed(moved, label="name") == ["a"]


@pytest.mark.parametrize("label", ["=x", "x=", "x" * 64, "a\nb"])
async def test_a_label_that_cannot_be_one_is_refused(moved: World, label: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await moved.store.schedules.list(label=label)
    assert refused.value.field == "label"


async def test_failing_schedules_are_found_while_they_fail(moved: World) -> None:
    await moved.put("bad", queue="full")
    await moved.put("good")
    await moved.store.queues.set_limits("full", QueueLimits(max_unfinished=0))
    await moved.advance(MINUTE)
    await sweep(moved)
    assert await listed(moved, failing=True) == ["bad"]
    assert await listed(moved, failing=False) == ["good"]
    await moved.store.queues.set_limits("full", QueueLimits())
    await moved.advance(MINUTE)
    await sweep(moved)
    assert await listed(moved, failing=True) == []


@pytest.mark.parametrize("limit", [1, 3, 50])
async def test_a_prefix_is_the_beginning_of_an_id(moved: World, limit: int) -> None:
    for name in ("a", "ab", "ab:1", "ab:2", "aa", "b", "AB", "ab~".replace("~", "-")):
        await moved.put(name)
    assert await listed(moved, prefix="ab", limit=limit) == ["ab", "ab-", "ab:1", "ab:2"]
    assert await listed(moved, prefix="ab:", limit=limit) == ["ab:1", "ab:2"]
    assert await listed(moved, prefix="c", limit=limit) == []
    with pytest.raises(InvalidRequest):
        await moved.store.schedules.list(prefix="a b")


async def test_a_cursor_from_before_or_after_the_prefix_leads_nowhere_else(moved: World) -> None:
    for name in ("a", "ba", "bb", "c"):
        await moved.put(name)
    before, after = write_cursor("schedules", "a"), write_cursor("schedules", "c")
    assert [it.id for it in (await moved.store.schedules.list(prefix="b", cursor=before)).schedules] == ["ba", "bb"]
    assert all(it.id.startswith("b") for it in (await moved.store.schedules.list(prefix="b", cursor=after)).schedules)
    with pytest.raises(InvalidCursor):
        await moved.store.schedules.list(prefix="b", cursor="x")


async def test_a_page_looks_at_a_thousand_and_says_so(moved: World) -> None:
    """It may be empty and not the last; the pages together look at each once."""
    await moved.put("a")
    record = await moved.record("a")
    pipe = moved.client.pipeline(transaction=False)
    for number in range(MAX_EXAMINED + 200):
        name = f"s{number:05}"
        pipe.hset(moved.keys("schedule", name), mapping=record | {"id": name})
        pipe.zadd(moved.keys("schedules"), {name: 0})
        pipe.zadd(moved.keys("due"), {name: record["next_run_ms"]})
    await pipe.execute()
    await moved.put("z", labels={"team": "red"})
    first = await moved.store.schedules.list(label="team=red")
    assert (first.schedules, first.examined) == ([], MAX_EXAMINED)
    second = await moved.store.schedules.list(label="team=red", cursor=first.next_cursor)
    assert ([it.id for it in second.schedules], second.next_cursor) == (["z"], None)
    assert first.examined + second.examined == MAX_EXAMINED + 202
    unfiltered = await moved.store.schedules.list(limit=7)
    assert unfiltered.examined == 7


async def test_a_damaged_record_hides_no_other(moved: World) -> None:
    await several(moved)
    await moved.client.hset(moved.keys("schedule", "a"), "labels", "nonsense")
    await moved.client.hset(moved.keys("schedule", "c"), "paused", "nonsense")
    assert await listed(moved, label="team") == ["b"]
    assert await listed(moved, paused=False) == ["c", "e"]
