"""Quarantine: fingerprints of kind and payload that may neither be enqueued nor run, and what was set aside for it."""

from __future__ import annotations

from typing import Any

import msgspec

from headgate.errors import InvalidRequest, QuarantineNotFound, StoreError
from headgate.jsontext import canonical
from headgate.models import Quarantine as Entry
from headgate.models import QuarantinePage
from headgate.names import check_fingerprint
from headgate.settings import MAX_PAGE, MAX_TEXT
from headgate.store.paging import check_limit, foreign_cursor, read_cursor, write_cursor
from headgate.store.scripts import Scripts


class Quarantine:
    """The quarantine of one namespace; the scripts that enqueue and admit look into it themselves."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def list(self, *, limit: int = 50, cursor: str | None = None) -> QuarantinePage:
        """A page of 1 to 200 quarantined fingerprints.

        Raises:
            InvalidRequest: the limit breaks its rule.
            InvalidCursor: the cursor is not of this list.
        """
        check_limit(limit, MAX_PAGE)
        after = _position(cursor) if cursor is not None else ""
        last, *rows = await self._scripts.call("quarantine_list", after, limit)
        following = write_cursor("quarantine", last) if last else None
        return QuarantinePage(quarantines=[_entry(*row) for row in rows], next_cursor=following)

    async def add(self, fingerprint: str, *, note: str = "") -> bool:
        """Bar a fingerprint (see `headgate.names.fingerprint`); False when it was barred before: the new note counts.

        Waiting jobs with that content are set aside when the gate meets them; what runs goes on. Atomic.

        Raises:
            InvalidRequest: the fingerprint or the note breaks its rule.
        """
        check_fingerprint(fingerprint)
        if not isinstance(note, str):
            raise InvalidRequest("note must be text", field="note")
        if len(note) > MAX_TEXT:
            raise InvalidRequest(f"note must be text of at most {MAX_TEXT} characters", field="note")
        return bool(await self._scripts.call("quarantine_add", fingerprint, canonical(note, field="note")))

    async def release(self, fingerprint: str) -> int:
        """Let a fingerprint be enqueued and run again, and put the jobs set aside for it back; how many.

        In steps of 200 jobs, each atomic; should this end between two of them, the reclaimer goes on. Should somebody
        bar it again in between, what is not back yet stays set aside.

        Raises:
            InvalidRequest: it is no fingerprint.
            QuarantineNotFound: it is not barred.
        """
        check_fingerprint(fingerprint)
        freed, left = await self._scripts.call("quarantine_release", fingerprint, "begin")
        if freed < 0:
            raise QuarantineNotFound(f"fingerprint {fingerprint} is not quarantined")
        total: int = freed
        while left and freed > 0:  # what cannot be moved is left to the reclaimer
            freed, left = await self._scripts.call("quarantine_release", fingerprint, "go on")
            total += max(0, freed)
        return total


def _position(cursor: str) -> str:
    try:
        return check_fingerprint(read_cursor("quarantine", cursor))
    except InvalidRequest:
        raise foreign_cursor() from None


def _entry(fingerprint: str, text: str, set_aside: int) -> Entry:
    try:
        fields: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
        return msgspec.convert(fields | {"fingerprint": fingerprint, "set_aside": set_aside}, Entry)
    except msgspec.MsgspecError:
        raise StoreError("the quarantine holds an entry that headgate did not write") from None
