"""When a schedule fires: the spec language, as pure functions of a text and an instant.

A spec is ``@every:<milliseconds>``, or cron with five fields, or six with seconds first, optionally after
``CRON_TZ=<zone>``. `parse_spec` refuses everything else, including what can never fire, so that nothing is
left to go wrong at fire time. No answer costs more because more time, or more ticks, lie in between.
"""

from __future__ import annotations

from headgate.spec.base import Spec
from headgate.spec.parse import parse_spec

__all__ = ["Spec", "parse_spec"]
