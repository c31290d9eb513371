"""Periodic jobs on Redis for async Python: durable, exactly once per tick, with a trail that explains itself.

The facade's names are loaded when they are first asked for: whoever imports a pure part gets no server code with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headgate.errors import Backpressure, Discard, HeadgateError, Quarantined, SkipTick

if TYPE_CHECKING:
    from headgate.app import Headgate
    from headgate.hooks import Enqueueing
    from headgate.models import Enqueued, JobRequest, MissedPolicy, QueueLimits, RateLimit
    from headgate.runner import CallNext, Job
    from headgate.settings import Settings

__all__ = [
    "Backpressure",
    "CallNext",
    "Discard",
    "Enqueued",
    "Enqueueing",
    "Headgate",
    "HeadgateError",
    "Job",
    "JobRequest",
    "MissedPolicy",
    "Quarantined",
    "QueueLimits",
    "RateLimit",
    "Settings",
    "SkipTick",
    "__version__",
]

__version__ = "0.1.0"

_HOMES = {
    "CallNext": "headgate.runner",
    "Enqueued": "headgate.models",
    "Enqueueing": "headgate.hooks",
    "Headgate": "headgate.app",
    "Job": "headgate.runner",
    "JobRequest": "headgate.models",
    "MissedPolicy": "headgate.models",
    "QueueLimits": "headgate.models",
    "RateLimit": "headgate.models",
    "Settings": "headgate.settings",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
