"""Any spec, any instant, and the clock changes where both are put to the test."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import assume, settings
from hypothesis import strategies as st

from headgate.errors import InvalidSpec
from headgate.settings import MAX_INSTANT_MS
from headgate.spec import parse_spec

MINUTE = 60_000
YEAR = 366 * 86_400_000
LAWS = settings(derandomize=True, database=None, deadline=None, max_examples=200)


def utc_ms(text: str) -> int:
    """The instant of an ISO time in UTC, in milliseconds."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


CHANGES = (
    ("America/New_York", utc_ms("2024-03-10T07:00")),
    ("America/New_York", utc_ms("2024-11-03T06:00")),
    ("Australia/Lord_Howe", utc_ms("2024-10-05T15:30")),
    ("Australia/Lord_Howe", utc_ms("2024-04-06T15:00")),
    ("America/Sao_Paulo", utc_ms("2018-11-04T03:00")),
    ("America/Sao_Paulo", utc_ms("2018-02-18T02:00")),
    ("Pacific/Apia", utc_ms("2011-12-30T10:00")),
    ("Antarctica/Troll", utc_ms("2024-03-31T01:00")),
    ("Antarctica/Troll", utc_ms("2024-10-27T01:00")),
    ("Europe/London", utc_ms("2026-03-29T01:00")),
    ("Europe/London", utc_ms("2026-10-25T01:00")),
    ("Europe/Dublin", utc_ms("2024-10-27T01:00")),
    ("Africa/Casablanca", utc_ms("2024-03-10T02:00")),
)
"""Gaps and repeats of 30, 60 and 120 minutes, at midnight and across it, and a day that never was."""


def _items(first: int, last: int) -> st.SearchStrategy[str]:
    number = st.integers(first, last)
    ranges = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    stepped = st.tuples(st.one_of(st.just("*"), number.map(str), ranges), st.integers(1, last)).map(
        lambda pair: f"{pair[0]}/{pair[1]}"
    )
    return st.one_of(number.map(str), ranges, stepped)


def _field(first: int, last: int) -> st.SearchStrategy[str]:
    return st.one_of(st.just("*"), st.lists(_items(first, last), min_size=1, max_size=3).map(",".join))


@st.composite
def cron_texts(draw: st.DrawFn, *, zoned: bool = False) -> str:
    """Any cron spec that can fire, in any zone of `CHANGES` or none, unless `zoned`."""
    second = draw(st.one_of(st.just(""), _field(0, 59)))
    day = draw(_field(1, 31))
    month = "*" if day[0] not in "*12" else draw(_field(1, 12))
    fields = [second, draw(_field(0, 59)), draw(_field(0, 23)), day, month, draw(_field(0, 7))]
    zones = st.sampled_from(CHANGES).map(lambda change: f"CRON_TZ={change[0]} ")
    zone = draw(zones if zoned else st.one_of(st.just(""), zones))
    text = zone + " ".join(filter(None, fields))
    refusal = refusal_of(text)
    assume(refusal is None or "never fire" not in refusal)
    assert refusal is None, refusal
    return text


def refusal_of(text: str) -> str | None:
    """Why a text is no spec; None if it is one."""
    try:
        parse_spec(text)
    except InvalidSpec as refusal:
        return refusal.message
    return None


INTERVALS = st.one_of(st.integers(1, 100_000), st.integers(1, MAX_INSTANT_MS)).map(lambda ms: f"@every:{ms}")
SPECS = st.one_of(cron_texts(), INTERVALS).map(parse_spec)
INSTANTS = st.one_of(
    st.tuples(st.sampled_from(CHANGES), st.integers(-2 * 86_400_000, 2 * 86_400_000)).map(
        lambda pair: pair[0][1] + pair[1]
    ),
    st.integers(0, MAX_INSTANT_MS),
)
