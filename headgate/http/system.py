"""How the whole stands: duties, liveness, readiness. Reads alone, so that a full store answers too."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate.errors import StoreError
from headgate.http.body import answer
from headgate.http.problems import RETRY_AFTER
from headgate.http.query import STORE, Query


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what was found.

    Attributes:
        ready: every check is well.
        checks: ``store`` is ``ok`` or the code of its error; ``scheduler`` is ``held``, ``vacant``, or ``unknown``
            while the store does not answer.
    """

    ready: bool
    checks: dict[str, str]


async def get_duties(request: web.Request) -> web.Response:
    """Who is on duty, and how far scheduling is behind."""
    Query(request)
    return answer(await request.app[STORE].leases.overview())


async def get_health(_request: web.Request) -> web.Response:
    """200 for as long as the process answers."""
    return answer({"status": "ok"})


async def get_readiness(request: web.Request) -> web.Response:
    """200 when the store answers within its deadline and somebody holds the scheduler duty, else 503."""
    checks = {"store": "ok", "scheduler": "unknown"}
    try:
        overview = await request.app[STORE].leases.overview()
    except StoreError as error:
        checks["store"] = error.code
    else:
        held = any(duty.name == "scheduler" and duty.lease_left_ms is not None for duty in overview.duties)
        checks["scheduler"] = "held" if held else "vacant"
    ready = checks["scheduler"] == "held"
    found = Readiness(ready=ready, checks=checks)
    return answer(found) if ready else answer(found, status=503, headers=RETRY_AFTER)


ROUTES: Final = (
    web.get("/api/v1/duties", get_duties),
    web.get("/healthz", get_health),
    web.get("/readyz", get_readiness),
)
