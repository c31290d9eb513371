"""How the whole stands: duties, liveness, readiness. Neither writes, so that a full store answers too."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate.health import holds, judge, refused_writes
from headgate.http.body import answer
from headgate.http.context import CONTEXT, store_of
from headgate.http.problems import RETRY_AFTER
from headgate.http.query import Query
from headgate.http.route import Route, reading
from headgate.models import HealthProblem, HealthStatus, Overview


class Duties(Overview, frozen=True, kw_only=True):
    """What is seen, and what to make of it, as in `Health`."""

    status: HealthStatus
    store: str
    problems: list[HealthProblem]


class Alive(msgspec.Struct, frozen=True):
    """The process answers."""

    status: str = "ok"


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what was found.

    Attributes:
        ready: every check is well.
        checks: ``store`` is ``ok`` when it answers and takes writes, or the code of its error; ``scheduler`` is
            ``held``, ``vacant``, or ``unknown`` while the store does not answer.
    """

    ready: bool
    checks: dict[str, str]


async def get_duties(request: web.Request) -> web.Response:
    """Who is on duty, how far scheduling is behind, and what is wrong."""
    Query(request)
    store = store_of(request)
    overview = await store.leases.overview()
    health = judge(overview, await refused_writes(store))
    seen = msgspec.structs.asdict(overview)
    return answer(Duties(**seen, status=health.status, store=health.store, problems=health.problems))


async def get_health(request: web.Request) -> web.Response:
    """200 for as long as the process answers."""
    Query(request)
    return answer(Alive())


async def get_readiness(request: web.Request) -> web.Response:
    """200 when the store takes writes and somebody holds the scheduler duty, else 503; within the time of a call."""
    health = await request.app[CONTEXT].look()
    scheduler = "unknown"
    if health.overview:
        scheduler = "held" if holds(health.overview, "scheduler") else "vacant"
    checks = {"store": health.store, "scheduler": scheduler}
    ready = checks == {"store": "ok", "scheduler": "held"}
    found = Readiness(ready=ready, checks=checks)
    return answer(found) if ready else answer(found, status=503, headers=RETRY_AFTER)


ROUTES: Final = (
    reading("/api/v1/duties", get_duties, Duties),
    reading("/healthz", get_health, Alive, role=None, store=False, urgent=True),
    Route(
        method="GET",
        path="/readyz",
        handler=get_readiness,
        answers={200: Readiness, 503: Readiness},
        role=None,
        store=False,  # what it says of the store is its answer
        urgent=True,
    ),
)
