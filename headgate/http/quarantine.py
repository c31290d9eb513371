"""Quarantine: ``/api/v1/quarantine``, by fingerprint of kind and payload."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate.http.body import answer, read_options
from headgate.http.query import STORE, Query


class QuarantinePut(msgspec.Struct, frozen=True):
    """The body of a PUT.

    Attributes:
        note: why, in up to 1,000 characters.
    """

    note: str = ""


class Barred(msgspec.Struct, frozen=True):
    """The answer to a PUT."""

    fingerprint: str


class Released(msgspec.Struct, frozen=True):
    """How many jobs that were set aside may run again."""

    released: int


async def list_quarantine(request: web.Request) -> web.Response:
    """A page of quarantined fingerprints in their own order."""
    query = Query(request, "limit", "cursor")
    return answer(await request.app[STORE].quarantine.list(limit=query.integer("limit", 50), cursor=query.cursor()))


async def put_quarantine(request: web.Request) -> web.Response:
    """Bar a fingerprint (201), or change the note of one that is barred (200)."""
    Query(request)
    fingerprint = _fingerprint(request)
    body = await read_options(request, QuarantinePut)
    new = await request.app[STORE].quarantine.add(fingerprint, note=body.note)
    return answer(Barred(fingerprint), status=201 if new else 200)


async def delete_quarantine(request: web.Request) -> web.Response:
    """Let a fingerprint be enqueued and run again; the answer says how many jobs were put back."""
    Query(request)
    return answer(Released(await request.app[STORE].quarantine.release(_fingerprint(request))))


def _fingerprint(request: web.Request) -> str:
    return request.match_info["fingerprint"]


# Not the default pattern of a segment: a fingerprint that breaks its rule is to be told so.
_ITEM: Final = "/api/v1/quarantine/{fingerprint:[^/]+}"

ROUTES: Final = (
    web.get("/api/v1/quarantine", list_quarantine),
    web.put(_ITEM, put_quarantine),
    web.delete(_ITEM, delete_quarantine),
)
