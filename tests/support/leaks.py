"""Keys without an owner or a lifetime, and counts that differ from what is there: looked for from the outside."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pytest

from headgate.models import FINAL_STATES, Gap, JobState
from headgate.settings import MAX_CHANGES, MAX_EVENTS, MAX_GAPS, MAX_MANUAL
from headgate.store import Store
from headgate.store.keys import PATTERNS, Keys

if TYPE_CHECKING:
    from tests.support.worlds import World

TYPES: Final = {
    "hash": ("meta", "schedule", "job", "queue", "quarantine", "process"),
    "zset": (
        *("schedules", "due", "paused", "resumes", "failing", "gaps", "queues", "state", "deadlines"),
        *("barred", "quarantined", "releasing", "processes", "workers"),
    ),
    "list": ("events", "manual", "changes"),
    "string": ("duty", "epoch", "tick", "unique", "idem_run", "idem_backfill", "idem_jobs"),
}
WITH_A_LIFETIME: Final = ("duty", "tick", "idem_run", "idem_backfill", "idem_jobs", "process")
OF_A_SCHEDULE: Final = ("events", "gaps", "manual", "changes")
"""Have a lifetime once their schedule is deleted."""
CAPS: Final = {"events": MAX_EVENTS, "gaps": MAX_GAPS, "manual": MAX_MANUAL, "changes": MAX_CHANGES}
PAUSE_FIELDS: Final = ("pause_reason", "paused_by", "paused_at_ms", "paused_until_ms")
EITHER: Final = (*OF_A_SCHEDULE, "unique")
CHANNELS: Final = ("wake", "ready", "hints")
TEST_CLOCK: Final = "test-clock"
TEST_TOKENS: Final = ("p/t", "tok", "t")
"""Tests make themselves holders of a duty with these, for as long as they like."""

PASSED: Final = pytest.StashKey[bool]()
"""Of a test that is over: whether it passed."""

_SCHEDULE_AND_KEY: Final = ["([^/]+)", "(.+)"]
_PARTS: Final = {
    "tick": ["(.+)", r"(\d+)"],
    "idem_run": _SCHEDULE_AND_KEY,
    "idem_backfill": _SCHEDULE_AND_KEY,
    "queue": ["([^:]+)"],
    "duty": ["([^:]+)"],
}


class Key(NamedTuple):
    name: str
    family: str
    parts: tuple[str, ...]
    type: str
    pttl: int
    value: Any
    """Hashes as dicts, zsets as dicts of scores, lists and strings as themselves; None for a foreign type."""


def _pattern(family: str) -> re.Pattern[str]:
    pieces = PATTERNS[family].split("%s")
    groups = _PARTS.get(family, ["(.+)"] * (len(pieces) - 1))
    text = re.escape(pieces[0])
    for group, piece in zip(groups, pieces[1:], strict=True):
        text += group + re.escape(piece)
    return re.compile(text, re.DOTALL)


_FAMILIES: Final = {family: _pattern(family) for family in PATTERNS if family not in CHANNELS}


def family_of(rest: str) -> tuple[str, tuple[str, ...]]:
    """The family of a key, spelt without the namespace's root, and its parts; ('', ()) of none."""
    for family, pattern in _FAMILIES.items():
        if match := pattern.fullmatch(rest):
            return family, match.groups()
    return "", ()


class Snapshot:
    """All keys of a namespace, by family and parts."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys = list(keys)
        self._by_place = {(key.family, key.parts): key.value or {} for key in self.keys}

    def get(self, family: str, *parts: str) -> Any:
        return self._by_place.get((family, parts), {})

    def all(self, family: str) -> Iterator[tuple[tuple[str, ...], Any]]:
        return ((parts, value) for (its, parts), value in self._by_place.items() if its == family)


async def read_all(client: Any, keys: Keys) -> Snapshot:
    names = sorted([name async for name in client.scan_iter(match=keys.root + "*", count=1000)])
    pipe = client.pipeline(transaction=False)
    for name in names:
        pipe.type(name)
        pipe.pttl(name)
    about = await pipe.execute()
    pipe = client.pipeline(transaction=False)
    for name, kind in zip(names, about[::2], strict=True):
        match kind:
            case "hash":
                pipe.hgetall(name)
            case "zset":
                pipe.zrange(name, 0, -1, withscores=True)
            case "list":
                pipe.lrange(name, 0, -1)
            case _:
                pipe.get(name) if kind == "string" else pipe.echo("")
    values = await pipe.execute()
    found = []
    for name, kind, pttl, value in zip(names, about[::2], about[1::2], values, strict=True):
        rest = name.removeprefix(keys.root)
        if kind == "none" or pttl == -2 or rest == TEST_CLOCK:
            continue  # its life ended between two looks, or it is the tests' own
        family, parts = family_of(rest)
        usable = kind if family and family in TYPES.get(kind, ()) else ""
        found.append(
            Key(rest, family, parts, kind, pttl, (dict(value) if usable == "zset" else value) if usable else None)
        )
    return Snapshot(found)


async def check_after(world: World, node: pytest.Item) -> None:
    """Whatever a test that passed did, it left no key without an owner or a lifetime, and right counts."""
    if node.stash.get(PASSED, False) and node.get_closest_marker("damages_store") is None:
        await check_store(world)


async def check_store(world: World) -> None:
    """No key is without an owner or a lifetime, and the counts are those of a scan."""
    for_ever = world.settings.history_retention_ms == 0
    wrong = await find_leaks(world.client, world.keys, history_for_ever=for_ever)
    wrong += await find_miscounts(world.store, world.client)
    assert not wrong, "\n".join([f"what is wrong in the store of {world.namespace}:", *wrong])


async def find_leaks(client: Any, keys: Keys, *, history_for_ever: bool = False) -> list[str]:
    """What is wrong with the keys of a namespace, a line each; nothing while every rule of its families holds."""
    it = await read_all(client, keys)
    of_schedules = (_schedules(it), _pauses(it), _gaps(it), _caps(it))
    of_jobs = (_jobs(it), _deadlines(it), _unique(it), _quarantine(it), _workers(it))
    rules = (_shapes(it, history_for_ever), *of_schedules, *of_jobs)
    return [line for rule in rules for line in rule]


async def find_miscounts(store: Store, client: Any) -> list[str]:
    """Where the counts that the store tells differ from a count of all job records."""
    it = await read_all(client, store.keys)
    counted = Counter((job.get("queue"), job.get("state")) for _, job in it.all("job"))
    told: Counter[Any] = Counter()
    cursor = None
    while True:
        page = await store.queues.list(limit=200, cursor=cursor)
        for queue in page.queues:
            told.update({(queue.name, state): count for state, count in queue.counts.items()})
        if (cursor := page.next_cursor) is None:
            break
    return [
        f"queue {place[0]} tells {told[place]} {place[1]} jobs, and there are {counted[place]}"
        for place in sorted({*+told, *counted}, key=str)
        if told[place] != counted[place]
    ]


def _shapes(it: Snapshot, history_for_ever: bool) -> Iterator[str]:
    """Each key is of a family, of its type, and has a lifetime or an owner that outlives it."""
    schedules = {id_ for (id_,), _ in it.all("schedule")}

    def for_ever(key: Key) -> bool:
        return history_for_ever and key.family != "gaps"

    for key in it.keys:
        if not key.family:
            yield f"{key.name} is of no family"
        elif key.value is None:
            yield f"{key.name} is of the foreign type {key.type}"
        elif key.family in WITH_A_LIFETIME:
            if key.pttl < 0 and not (key.family == "duty" and key.value in TEST_TOKENS):
                yield f"{key.name} has no lifetime"
        elif key.family not in EITHER and key.pttl >= 0:
            yield f"{key.name} is a record and has a lifetime"
        elif key.family in OF_A_SCHEDULE and key.parts[0] in schedules and key.pttl >= 0:
            yield f"{key.name} belongs to a schedule and has a lifetime"
        elif key.family in OF_A_SCHEDULE and key.parts[0] not in schedules and key.pttl < 0:
            yield from () if for_ever(key) else (f"{key.name} has neither a schedule nor a lifetime",)


def _schedules(it: Snapshot) -> Iterator[str]:
    """Each is listed, and stands in one of the indexes; each index names schedules."""
    records = {id_: record for (id_,), record in it.all("schedule")}
    for index in ("schedules", "due", "paused", "resumes", "failing"):
        yield from (f"{index} names {id_}, which is no schedule" for id_ in it.get(index) if id_ not in records)
    for id_, record in records.items():
        if id_ not in it.get("schedules"):
            yield f"schedule {id_} is not listed"
        stands_in = [index for index in ("due", "paused") if id_ in it.get(index)]
        if stands_in != (["paused"] if record.get("paused") == "1" else ["due"]):
            yield f"schedule {id_} stands in {stands_in} and is paused={record.get('paused')}"


def _pauses(it: Snapshot) -> Iterator[str]:
    """A schedule that is to resume by itself is paused, and stands where its record says; no other says when."""
    for (id_,), record in it.all("schedule"):
        until_ms = record.get("paused_until_ms") or None
        stands_at = it.get("resumes").get(id_)
        if (None if stands_at is None else f"{stands_at:.0f}") != until_ms:
            yield f"schedule {id_} is to resume at {until_ms}, and stands at {stands_at} in resumes"
        kept = [name for name in PAUSE_FIELDS if record.get(name)]
        if record.get("paused") != "1" and kept:
            yield f"schedule {id_} is not paused, and has {kept}"


def _gaps(it: Snapshot) -> Iterator[str]:
    """Each stands at its end, says whose ticks it has, lies behind its schedule's anchor, and shares no tick."""
    for (id_,), entries in it.all("gaps"):
        anchor_ms, end_ms = int(it.get("schedule", id_).get("anchor_ms") or 0), -1
        for text, score in sorted(entries.items(), key=lambda entry: entry[1]):
            try:
                gap = msgspec.json.decode(text, type=Gap)
            except msgspec.MsgspecError:
                yield f"gaps of {id_} hold {text}, which is none"
                continue
            if not (end_ms < gap.from_ms <= gap.until_ms == score and gap.reason and gap.spec):
                yield f"gaps of {id_} hold {text} at {score:.0f}, after one that ends at {end_ms}"
            if gap.until_ms > anchor_ms:
                yield f"gaps of {id_} hold {text}, and its anchor is {anchor_ms}"
            end_ms = gap.until_ms


def _caps(it: Snapshot) -> Iterator[str]:
    """No list grows without an end."""
    for family, most in CAPS.items():
        for (id_,), entries in it.all(family):
            if len(entries) > most:
                yield f"{family} of {id_} has {len(entries)} entries, and {most} are kept"


def _jobs(it: Snapshot) -> Iterator[str]:
    """Each stands in the set of its state, and in no other; each set names such jobs; each queue is listed."""
    stands_in: dict[str, list[tuple[str, ...]]] = {}
    for place, entries in it.all("state"):
        if place[1] not in tuple(JobState):
            yield f"{place[1]} of queue {place[0]} is no state"
        for id_ in entries:
            stands_in.setdefault(id_, []).append(place)
    jobs = {id_: job for (id_,), job in it.all("job")}
    for id_, job in jobs.items():
        places, expected = stands_in.pop(id_, []), (job.get("queue", ""), job.get("state", ""))
        if places != [expected]:
            yield f"job {id_} is {expected[1]!r} in queue {expected[0]!r} and stands in {places}"
        if job.get("id") != id_:
            yield f"job {id_} calls itself {job.get('id')}"
        if "cancel_requested" in job and job.get("state") not in ("running", *FINAL_STATES):
            yield f"job {id_} was cancelled while it ran, and is {job.get('state')}"
    yield from (f"{places} name {id_}, which is no job" for id_, places in stands_in.items())
    named = {parts[0] for family in ("queue", "state", "deadlines") for parts, _ in it.all(family)}
    yield from (f"queue {queue} is not listed" for queue in sorted(named) if queue not in it.get("queues"))


def _deadlines(it: Snapshot) -> Iterator[str]:
    """Each unfinished job with a deadline is named by it, unless it runs; finished ones are not."""
    for (queue,), entries in it.all("deadlines"):
        for id_, score in entries.items():
            job = it.get("job", id_)
            if job.get("state", FINAL_STATES[0]) in FINAL_STATES or job.get("queue") != queue:
                yield f"deadlines of queue {queue} name {id_}, which is no unfinished job of it"
            elif job.get("deadline_ms") != f"{score:.0f}":
                yield f"job {id_} stands at {score} in deadlines, and has {job.get('deadline_ms')}"
    for (id_,), job in it.all("job"):
        waits = job.get("state") not in (*FINAL_STATES, "running")
        if "deadline_ms" in job and waits and id_ not in it.get("deadlines", job.get("queue", "")):
            yield f"job {id_} has a deadline that nobody watches"


def _unique(it: Snapshot) -> Iterator[str]:
    """A unique key has an end, or is one of an unfinished job that knows of it."""
    for key in it.keys:
        if key.family == "unique" and key.value is not None:
            job = it.get("job", key.value)
            owned = job.get("state", FINAL_STATES[0]) not in FINAL_STATES and job.get("unique_key") == key.parts[0]
            if key.pttl < 0 and not owned:
                yield f"unique key {key.parts[0]} is held by {key.value}, which is no unfinished job that has it"


def _quarantine(it: Snapshot) -> Iterator[str]:
    """The index names what is barred; jobs are set aside for fingerprints that are barred or being released."""
    barred, index = set(it.get("quarantine")), set(it.get("barred"))
    if barred != index:
        yield f"of {sorted(barred ^ index)}, quarantine and its index know different things"
    yield from (f"{it_} is barred and being released" for it_ in sorted(barred & set(it.get("releasing"))))
    for (fingerprint,), entries in it.all("quarantined"):
        if fingerprint not in barred and fingerprint not in it.get("releasing"):
            yield f"jobs are set aside for {fingerprint}, which is neither barred nor being released"
        for id_ in entries:
            job = it.get("job", id_)
            if (job.get("state"), job.get("fingerprint")) != ("quarantined", fingerprint):
                yield f"{id_} is set aside for {fingerprint}, and is no such job"
    for (id_,), job in it.all("job"):
        if job.get("state") == "quarantined" and id_ not in it.get("quarantined", job.get("fingerprint", "")):
            yield f"job {id_} is quarantined, and no release would find it"


def _workers(it: Snapshot) -> Iterator[str]:
    """Each worker is a process, and counts as alive for as long as that."""
    for id_, until in it.get("workers").items():
        if it.get("processes").get(id_) != until:
            yield f"worker {id_} counts as alive until {until}, and is no such process"
