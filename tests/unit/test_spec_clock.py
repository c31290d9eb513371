"""Clock changes are found by search; what the zone files list says whether all of them are."""

from __future__ import annotations

import struct
from datetime import datetime, timedelta
from importlib.resources import files
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from headgate.settings import MAX_INSTANT_MS
from headgate.spec import clock
from headgate.spec.clock import Change, Clock

ZONES = files("tzdata").joinpath("zones").read_text().split()
HEADER = struct.Struct(">20x6l")


def _wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _listed(data: bytes) -> list[tuple[int, int, bool]]:
    """Instant, length (both in milliseconds) and direction of the changes since 1970 in a zone file, RFC 9636."""
    utc, standard, leaps, times, types, letters = HEADER.unpack_from(data)
    second = HEADER.size + 5 * times + 6 * types + letters + 8 * leaps + standard + utc
    *_, times, types, _letters = HEADER.unpack_from(data, second)
    at = second + HEADER.size
    instants = struct.unpack_from(f">{times}q", data, at)
    kinds = data[at + 8 * times : at + 9 * times]
    offsets = [struct.unpack_from(">l", data, at + 9 * times + 6 * number)[0] for number in kinds]
    return [
        (instant * 1000, abs(new - old) * 1000, new > old)
        for instant, (old, new) in zip(instants[1:], pairwise(offsets), strict=True)
        if new != old and instant >= 0
    ]


def test_the_changes_of_every_zone_are_found() -> None:
    """Wherever in a stride they lie; also that no two lie closer together than the search relies on."""
    total = 0
    for name in ZONES:
        path = files("tzdata").joinpath("zoneinfo", *name.split("/"))
        if not (listed := _listed(path.read_bytes())):
            continue
        with path.open("rb") as file:
            zone = ZoneInfo.from_file(file, key=name)
        found = Clock(zone).changes(-1, listed[-1][0])
        assert [(change.at_ms, change.length_ms, change.skips) for change in found] == listed, name
        assert all(after[0] - before[0] > 6 * 86_400_000 for before, after in pairwise(listed)), name
        assert listed[-1][0] < 4_102_444_800_000, f"{name} is not settled by 2100"
        total += len(found)
    assert total > 10_000


def test_a_change_has_wall_times() -> None:
    """The first that is skipped or repeated, and the first that is not."""
    spring, autumn = Clock(ZoneInfo("Europe/London")).changes(1_767_225_600_000, 1_798_761_600_000)
    assert spring == Change(1_774_746_000_000, _wall("2026-03-29T01:00"), _wall("2026-03-29T02:00"), skips=True)
    assert autumn == Change(1_792_890_000_000, _wall("2026-10-25T01:00"), _wall("2026-10-25T02:00"), skips=False)
    assert spring.length_ms == autumn.length_ms == 3_600_000


def test_a_range_excludes_its_start_and_includes_its_end() -> None:
    london = Clock(ZoneInfo("Europe/London"))
    at = 1_774_746_000_000
    assert [change.at_ms for change in london.changes(at - 1, at)] == [at]
    assert london.changes(at, at + 1) == london.changes(at - 2, at - 1) == london.changes(at, at - 1) == []


@pytest.mark.parametrize("name", ["Africa/Casablanca", "America/Santiago", "Asia/Gaza", "Australia/Lord_Howe"])
def test_far_years_are_like_those_of_their_cycle(name: str) -> None:
    """The zone itself, asked on both sides of every change, agrees to the end of the calendar."""
    zone = ZoneInfo(name)
    found = Clock(zone).changes(252_455_616_000_000, MAX_INSTANT_MS)
    assert len(found) == (60 if name != "Africa/Casablanca" else 0)
    for change in found:
        before, after = (Clock(zone).shown(change.at_ms + ms) for ms in (-1, 0))
        edges = before.replace(tzinfo=None) + timedelta(milliseconds=1), after.replace(tzinfo=None)
        assert edges == ((change.start, change.end) if change.skips else (change.end, change.start))


def test_a_year_is_searched_once() -> None:
    """However often and by whomever it is asked about."""
    clock._searched.cache_clear()
    for _ in range(3):
        Clock(ZoneInfo("Europe/London")).changes(1_767_225_600_000, 1_798_761_599_999)
    assert clock._searched.cache_info().misses == 1


def test_utc_never_changes() -> None:
    assert Clock().changes(-1, MAX_INSTANT_MS) == []
    assert Clock().shown(1_250).isoformat() == "1970-01-01T00:00:01.250000+00:00"
