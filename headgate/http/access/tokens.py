"""The tokens in force: that of ``HEADGATE_TOKEN``, those of a file, or both.

The file is looked at again while it is used, at most once a second. An entry that is removed is out of force within
that second; a file that cannot be read any more, or not understood, leaves those in force that it had before, and says
so once. So a slip of an editor locks nobody out, and deleting the file revokes nothing.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from headgate.errors import InvalidRequest
from headgate.http.access.callers import MAX_TOKEN, MIN_TOKEN, Caller, Role, Token, check_token, digest_of
from headgate.http.access.token_file import FileState, parse_tokens, read_text, state_of
from headgate.log import log_event

LOOK_EVERY_S: Final = 1.0
"""How long a token may outlive its entry; a look is one `stat`."""

OWN_NAME: Final = "operator"
"""Who shows the token of ``HEADGATE_TOKEN``."""


class Tokens:
    """Finds whose a token is.

    Args:
        token: one operator's, as ``HEADGATE_TOKEN`` gives it.
        file: named tokens with roles, see `headgate.http.access.token_file`.
        clock: seconds that only go forward.

    Raises:
        InvalidRequest: the token is too short, or the file cannot be used; the message quotes neither.
    """

    def __init__(
        self, token: str | None = None, file: Path | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._own: tuple[Token, ...] = ()
        if token is not None:
            self._own = (Token(Caller(OWN_NAME, Role.OPERATOR), digest_of(check_token(token))),)
        self._file = file
        self._clock = clock
        self._all: tuple[Token, ...] = self._own
        self._looked_at = clock()
        self._state: FileState | None = None
        self._in_trouble = False
        if file is not None:
            self._read(file)

    def find(self, presented: str) -> Token | None:
        """The token that was presented, if it is in force. How long it takes tells nothing of those that are."""
        self._look()
        if not MIN_TOKEN <= len(presented) <= MAX_TOKEN:
            return None
        digest, found = digest_of(presented), None
        for token in self._all:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found

    def named(self, name: str) -> Token | None:
        """The token of this name, if it is in force."""
        self._look()
        return next((token for token in self._all if token.caller.name == name), None)

    def _look(self) -> None:
        now = self._clock()
        if self._file is None or now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        try:
            if self._in_trouble or state_of(self._file) != self._state:
                self._read(self._file)  # also as it was before the trouble, to say that this is over
        except InvalidRequest as error:
            # The state is kept as it was, so that the next look tries again whatever the trouble is.
            if not self._in_trouble:
                log_event(logging.ERROR, "tokens.unreadable", detail=error.message)
            self._in_trouble = True
        else:
            self._in_trouble = False

    def _read(self, file: Path) -> None:
        text, state = read_text(file)
        self._all = parse_tokens(text, str(file), beside=self._own)
        self._state = state
        log_event(logging.INFO, "tokens.loaded", file=file, tokens=len(self._all) - len(self._own))
