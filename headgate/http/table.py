"""Every route of the API, one resource a module."""

from __future__ import annotations

from typing import Final

from headgate.http import (
    bulk,
    contract,
    control,
    history,
    jobs,
    meta,
    metrics,
    periodic,
    quarantine,
    queues,
    session,
    specs,
    stream,
    system,
    workers,
)
from headgate.http.route import Route

# The first one that fits serves a request: `bulk` before the schedules, one of which may be called so.
_SCHEDULES: Final = (bulk, periodic, control, history, specs)
_REST: Final = (jobs, queues, quarantine, workers, system, stream, metrics, meta, session, contract)

ROUTES: Final[tuple[Route, ...]] = tuple(route for resource in (*_SCHEDULES, *_REST) for route in resource.ROUTES)
