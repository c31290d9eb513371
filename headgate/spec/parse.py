"""From text to compiled spec, once per text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from headgate.spec.cron import CronSpec
from headgate.spec.grammar import INTERVAL_PREFIX, checked_text, parse_fields, parse_interval
from headgate.spec.interval import IntervalSpec
from headgate.spec.zones import split_zone

if TYPE_CHECKING:
    from headgate.spec.base import Spec

CACHED_SPECS: Final = 4096
"""Compiled specs kept; a few kilobytes each, and far more texts than an installation tends to have."""


def parse_spec(text: str) -> Spec:
    """The compiled form of a spec; the same text gives the same object for as long as it is cached.

    Raises:
        InvalidSpec: `text` is no spec, or one that can never fire; the message names field, value and rule.
    """
    return _compiled(checked_text(text))


@lru_cache(maxsize=CACHED_SPECS)
def _compiled(text: str) -> Spec:
    if text.startswith(INTERVAL_PREFIX):
        return IntervalSpec(text, parse_interval(text))
    zone, cron = split_zone(text)
    return CronSpec(text, parse_fields(cron), zone)
