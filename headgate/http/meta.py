"""What this is: versions, limits, how it may be used, and the contract itself."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate import __version__, settings
from headgate.http.body import answer
from headgate.http.context import CONTEXT, store_of
from headgate.http.query import Query
from headgate.http.route import reading


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a request may hold; the same everywhere.

    Attributes:
        body_bytes: of a request.
        payload_bytes: of a job or a schedule, as JSON.
        json_levels: how deep a payload may be nested.
        page: most entries of a list's page; some lists keep less.
        batch: most jobs of one request, and most schedules of one.
        backfill_ticks: most ticks of one backfill.
        events: of a schedule that are kept.
    """

    body_bytes: int = settings.MAX_BODY_BYTES
    payload_bytes: int = settings.MAX_PAYLOAD_BYTES
    json_levels: int = settings.MAX_JSON_DEPTH
    page: int = settings.MAX_PAGE
    batch: int = settings.MAX_BATCH
    backfill_ticks: int = settings.MAX_RANGE
    events: int = settings.MAX_EVENTS


class StoreInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the store is.

    Attributes:
        kind: ``redis`` or ``valkey``.
        version: as the server spells it.
        warnings: what about its set-up weakens Headgate's promises, in sentences.
    """

    kind: str
    version: str
    warnings: list[str]


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """What answers here.

    Attributes:
        version: of Headgate.
        namespace: whose schedules and jobs.
        environment: a name for people, as ``production``; '' for none.
        read_only: every write is refused here.
        store_time_ms: the store's now.
        lease_ttl_ms: how long nobody may schedule before it counts as trouble, a duration.
    """

    version: str
    namespace: str
    environment: str
    read_only: bool
    store: StoreInfo
    store_time_ms: int
    lease_ttl_ms: int
    limits: Limits


async def get_meta(request: web.Request) -> web.Response:
    """Versions, limits, and how this server may be used."""
    Query(request)
    context, store = request.app[CONTEXT], store_of(request)
    server = await store.server()
    return answer(
        Meta(
            version=__version__,
            namespace=store.keys.namespace,
            environment=context.environment,
            read_only=context.access.read_only,
            store=StoreInfo(kind=server.kind, version=server.version, warnings=list(server.warnings)),
            store_time_ms=await store.time_ms(),
            lease_ttl_ms=store.settings.lease_ttl_ms,
            limits=Limits(),
        )
    )


ROUTES: Final = (reading("/api/v1/meta", get_meta, Meta),)
