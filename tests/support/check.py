"""The invariants, checked from the outside: raw keys against an enumeration of the spec."""

from __future__ import annotations

from collections.abc import Iterable

from headgate.settings import MAX_EVENTS
from headgate.spec import parse_spec
from tests.support.worlds import World


async def check_trail(world: World, schedule_id: str, *, since_ms: int, until_ms: int) -> None:
    """Every expected tick has its event or lies in a recorded range; one job for each; event ids have no holes.

    Of a trail that has got longer than what is kept, jobs nobody has taken yet speak for the ticks before it.
    """
    record = await world.record(schedule_id)
    events = await world.events(schedule_id)
    gaps = await world.gaps(schedule_id)
    expected = parse_spec(record["spec"]).latest_n(10_000, since_ms, until_ms)
    decided = [event for event in reversed(events) if event["outcome"] != "failed"]
    ran = [event["tick_ms"] for event in decided if event["outcome"] == "enqueued"]
    skipped = [event["tick_ms"] for event in decided if event["outcome"] == "skipped"]

    ids = [event["event_id"] for event in reversed(events)]
    last = int(record["event_seq"])
    assert ids == list(range(last - len(ids) + 1, last + 1)), "event ids have holes"
    assert len(ids) == min(last, MAX_EVENTS), "the record counts other events than were kept"
    assert len(set(ran)) == len(ran), "a tick ran twice by the trail"
    jobs = {job for job in await world.queued() if job.startswith(f"sched-{schedule_id}-")}
    if last > MAX_EVENTS:
        begins_ms = min(event["tick_ms"] for event in events)
        ran += [tick for tick in (int(job.rpartition("-")[2]) for job in jobs) if tick < begins_ms]
    assert set(ran) <= set(expected), "a tick fired that the spec does not have"
    for tick in expected:
        in_gap = any(gap["from_ms"] <= tick <= gap["until_ms"] for gap in gaps)
        assert (tick in ran) != in_gap, f"tick {tick} ran: {tick in ran}, in a gap: {in_gap}"
    for tick in skipped:
        assert any(gap["from_ms"] <= tick <= gap["until_ms"] for gap in gaps), "a skipped tick is in no gap"
    for event in decided:
        if "discarded" in event:
            assert event["discarded"]["until_ms"] < event["tick_ms"]
    assert int(record["anchor_ms"]) >= max([*ran, *skipped, 0]), "a recorded tick was not passed"
    assert jobs == {f"sched-{schedule_id}-{tick}" for tick in ran}, "jobs and events differ"


async def commands(world: World, names: Iterable[str] = ()) -> int:
    """How many commands the server has run, scripts' own included; of these names only, if any are given.

    What clients do when they connect is not counted, nor calls of scripts: a script's first is two, since it is loaded.
    """
    stats = await world.client.info("commandstats")
    wanted = {f"cmdstat_{name}" for name in names}
    return sum(
        row["calls"]
        for name, row in stats.items()
        if (
            name in wanted
            if wanted
            else not name.startswith(("cmdstat_client", "cmdstat_select", "cmdstat_info", "cmdstat_eval"))
        )
    )
