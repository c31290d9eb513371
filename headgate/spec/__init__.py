"""When a schedule fires: the spec language, as pure functions of a text and an instant.

A spec is ``@every:<milliseconds>``, or cron with five fields, or six with seconds first, optionally after
``CRON_TZ=<zone>``. `parse_spec` refuses everything else, including what can never fire, so that nothing is
left to go wrong at fire time. No answer costs more because more time, or more ticks, lie in between.
"""

from __future__ import annotations

from headgate.spec.base import Spec
from headgate.spec.bounds import bounded
from headgate.spec.interval import IntervalSpec
from headgate.spec.near import InstantFacts, InstantKind, explain_instant
from headgate.spec.parse import parse_spec
from headgate.spec.surprise import SpecWarning, warnings

__all__ = [
    "InstantFacts",
    "InstantKind",
    "IntervalSpec",
    "Spec",
    "SpecWarning",
    "bounded",
    "explain_instant",
    "parse_spec",
    "warnings",
]
