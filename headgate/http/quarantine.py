"""Quarantine: ``/api/v1/quarantine``, by fingerprint of kind and payload."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from headgate.errors import Code
from headgate.http.body import answer, read_options
from headgate.http.context import store_of
from headgate.http.query import Query
from headgate.http.route import CURSOR, limit_of, reading, writing
from headgate.models import QuarantinePage


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
    query = Query(request)
    return answer(await store_of(request).quarantine.list(limit=query.integer("limit"), cursor=query.cursor()))


async def put_quarantine(request: web.Request) -> web.Response:
    """Bar a fingerprint (201), or change the note of one that is barred (200)."""
    Query(request)
    fingerprint = _fingerprint(request)
    body = await read_options(request, QuarantinePut)
    new = await store_of(request).quarantine.add(fingerprint, note=body.note)
    return answer(Barred(fingerprint), status=201 if new else 200)


async def delete_quarantine(request: web.Request) -> web.Response:
    """Let a fingerprint be enqueued and run again; the answer says how many jobs were put back."""
    Query(request)
    return answer(Released(await store_of(request).quarantine.release(_fingerprint(request))))


def _fingerprint(request: web.Request) -> str:
    return request.match_info["fingerprint"]


_ITEM: Final = "/api/v1/quarantine/{fingerprint}"

ROUTES: Final = (
    reading("/api/v1/quarantine", list_quarantine, QuarantinePage, query=(limit_of(50), CURSOR)),
    writing("PUT", _ITEM, put_quarantine, {200: Barred, 201: Barred}, body=QuarantinePut),
    writing("DELETE", _ITEM, delete_quarantine, {200: Released}, errors=(Code.QUARANTINE_NOT_FOUND,)),
)
