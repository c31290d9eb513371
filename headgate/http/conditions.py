"""Writers that insist on the schedule they read: ``ETag``, ``If-Match`` and ``If-None-Match``, all of its revision.

A revision moves with every write and never by firing, so the tag says nothing of where a schedule stands.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from aiohttp import hdrs, web

from headgate.errors import InvalidRequest, RevisionMismatch, ScheduleNotFound
from headgate.http.body import answer
from headgate.http.query import header
from headgate.models import Schedule
from headgate.names import shown
from headgate.store import Store

_MATCH: Final = "If-Match"
_NONE_MATCH: Final = "If-None-Match"
_ANY: Final = "*"
_REVISION: Final = re.compile(r'[1-9][0-9]{0,14}|"[1-9][0-9]{0,14}"')


def etag(revision: int) -> dict[str, str]:
    """The header of an answer that carries a schedule."""
    return {hdrs.ETAG: f'"{revision}"'}


def brief(schedule: Schedule) -> Schedule:
    """A schedule without payload and headers, where nobody asked for them."""
    return msgspec.structs.replace(schedule, payload=msgspec.UNSET, headers=msgspec.UNSET)


def answer_schedule(schedule: Schedule, *, status: int = 200) -> web.Response:
    """A schedule as JSON, and its revision as the tag."""
    return answer(schedule, status=status, headers=etag(schedule.revision))


def expected_revision(request: web.Request) -> int | None:
    """The revision that the schedule must have; None where any will do, as with ``*``: without one there is a 404.

    Raises:
        InvalidRequest: `If-Match` is no revision, or `If-None-Match` came to a route that creates nothing.
    """
    if _NONE_MATCH in request.headers:
        raise InvalidRequest("If-None-Match goes with a PUT only", field=_NONE_MATCH)
    return _revision(request)


async def expected_by_put(request: web.Request, store: Store, schedule_id: str) -> int | None:
    """The revision that the schedule must have for a PUT; 0 where there must be none, None where all is well.

    Raises:
        InvalidRequest: a condition cannot be read, or two contradict each other.
        RevisionMismatch: it must exist and does not.
    """
    if (given := header(request, _NONE_MATCH)) is not None:
        if given != _ANY or _MATCH in request.headers:
            raise InvalidRequest(
                "If-None-Match must be *: no schedule may be there; and not with If-Match", field=_NONE_MATCH
            )
        return 0
    if header(request, _MATCH) != _ANY:
        return _revision(request)
    try:
        # One that is deleted after this look is not created again: it has no such revision any more.
        return (await store.schedules.get(schedule_id)).revision
    except ScheduleNotFound as error:
        raise RevisionMismatch(error.message, field="revision") from None


def _revision(request: web.Request) -> int | None:
    given = header(request, _MATCH)
    if given is None or given == _ANY:
        return None
    if not _REVISION.fullmatch(given):
        raise InvalidRequest(f'If-Match {shown(given)} must be one revision, as in "7", or *', field=_MATCH)
    return int(given.strip('"'))
