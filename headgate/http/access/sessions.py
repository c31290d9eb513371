"""Sessions of the console: a signed cookie that says whose token was shown, and until when that counts.

A server keeps nothing of a session. What the cookie names is looked up at each request, so a session ends at once when
its token is removed or replaced, and has the role that the token has now. Logging out makes the browser forget the
cookie; a copy that somebody took of it is good until it expires.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable
from typing import Final, Literal, TypedDict

import msgspec
from itsdangerous import BadData, URLSafeSerializer

from headgate.errors import InvalidRequest
from headgate.http.access.callers import Token
from headgate.http.access.tokens import Tokens

COOKIE: Final = "headgate_session"
"""Without a ``__Host-`` prefix, which a cookie of a root path or of plain HTTP on loopback cannot have."""

SESSION_S: Final = 12 * 3_600
MIN_KEY: Final = 32
"""Characters of ``HEADGATE_SESSION_KEY``."""


class Cookie(TypedDict):
    """What `aiohttp.web.Response.set_cookie` takes."""

    name: str
    value: str
    path: str
    max_age: int
    secure: bool
    httponly: Literal[True]
    samesite: Literal["Strict"]


class _Content(msgspec.Struct, frozen=True, array_like=True):
    name: str
    mark: str
    until_s: int


class Sessions:
    """Makes and reads the cookies of sessions.

    Args:
        key: what they are signed with, the same in all processes behind one address; a new one, which ends with this
            process and its sessions with it, unless given.
        secure: the cookie is for HTTPS only, whatever a request looks like from here.
        clock: seconds since the epoch. Instants of the store are not needed: nothing but expiry is judged by it.

    Raises:
        InvalidRequest: the key is shorter than 32 characters.
    """

    def __init__(
        self,
        key: str | None = None,
        *,
        secure: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if key is not None and len(key) < MIN_KEY:
            raise InvalidRequest(
                f"HEADGATE_SESSION_KEY must have at least {MIN_KEY} characters", field="HEADGATE_SESSION_KEY"
            )
        self._key = (key or secrets.token_urlsafe(32)).encode()
        self._secure = secure
        self._clock = clock
        # Its timed sibling judges age, and refuses what was signed in the future: by a process whose clock is ahead.
        self._signer = URLSafeSerializer(
            self._key,
            salt="headgate.session",
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )

    def begin(self, token: Token) -> str:
        """The value of a cookie that stands for this token for twelve hours."""
        until_s = math.floor(self._clock()) + SESSION_S
        return str(self._signer.dumps([token.caller.name, self._mark(token), until_s]))

    def read(self, value: str, tokens: Tokens) -> Token | None:
        """The token that a cookie stands for; None if it is none of ours, has expired, or its token is not in force."""
        try:
            content = msgspec.convert(self._signer.loads(value), _Content)
        except (BadData, UnicodeError, msgspec.ValidationError):
            return None
        token = tokens.named(content.name)
        if self._clock() >= content.until_s or token is None:
            return None
        return token if hmac.compare_digest(content.mark, self._mark(token)) else None

    def cookie(self, value: str, *, path: str, https: bool) -> Cookie:
        """The cookie of a session that begins, or, for ``""``, the one that makes a browser forget it.

        Args:
            value: as `begin` made it.
            path: where the console and the API stand, as a browser sees it; ``/`` unless below a root path.
            https: the request came by HTTPS, as far as it says; who lies about that only loses the own cookie.
        """
        return Cookie(
            name=COOKIE,
            value=value,
            path=path,
            max_age=SESSION_S if value else 0,
            secure=self._secure or https,
            httponly=True,
            samesite="Strict",
        )

    def _mark(self, token: Token) -> str:
        """Tells a token from another of the same name. Keyed, since whoever has a cookie can read what is in it."""
        return hmac.new(self._key, b"headgate.mark" + token.digest, hashlib.sha256).hexdigest()[:32]
