"""Refusals of the API, which a caller in the same process never meets.

::

    HeadgateError
    ├── Unauthorized      401, with WWW-Authenticate: Bearer
    ├── Forbidden         403
    ├── ReadOnly          403
    ├── CrossSite         403
    ├── HostNotAllowed    421
    └── TooManyAttempts   429, with Retry-After

The messages say what to do. They repeat nothing of the request, and do not tell a wrong token from a removed one.
`headers` are those that an answer must have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from headgate.errors import Code, HeadgateError


class Unauthorized(HeadgateError):
    """Nobody known: no token, or one that is not in force."""

    code = Code.UNAUTHORIZED
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}

    def __init__(
        self,
        message: str = "send a token that is in force, as in Authorization: Bearer TOKEN, or log in",
        *,
        field: str | None = None,
    ) -> None:
        super().__init__(message, field=field)


class Forbidden(HeadgateError):
    """The caller is known, and its role may not do this."""

    code = Code.FORBIDDEN

    def __init__(
        self, message: str = "this token may only look; use one with the role operator", *, field: str | None = None
    ) -> None:
        super().__init__(message, field=field)


class ReadOnly(HeadgateError):
    """The server was told to refuse every write."""

    code = Code.READ_ONLY

    def __init__(
        self, message: str = "this server runs with --read-only; use another one to write", *, field: str | None = None
    ) -> None:
        super().__init__(message, field=field)


class CrossSite(HeadgateError):
    """A browser sends a write for a page of another site."""

    code = Code.CROSS_SITE

    def __init__(
        self,
        message: str = "a page of another site may not write here; behind a proxy name its host with --allowed-host",
        *,
        field: str | None = None,
    ) -> None:
        super().__init__(message, field=field)


class HostNotAllowed(HeadgateError):
    """The request is for a host name that is not this server's."""

    code = Code.HOST_NOT_ALLOWED

    def __init__(
        self,
        message: str = "this server does not go by that name; add it with --allowed-host, or call it by its address",
        *,
        field: str | None = "Host",
    ) -> None:
        super().__init__(message, field=field)


class TooManyAttempts(HeadgateError):
    """Too many log-ins failed lately; `retry_after_s` says in how many seconds one is looked at again."""

    code = Code.TOO_MANY_ATTEMPTS

    def __init__(
        self,
        message: str = "too many log-ins failed; wait as Retry-After says",
        *,
        field: str | None = None,
        retry_after_s: int = 60,
    ) -> None:
        super().__init__(message, field=field)
        self.retry_after_s = retry_after_s

    @property
    def headers(self) -> Mapping[str, str]:
        """``Retry-After``, in seconds."""
        return {"Retry-After": str(self.retry_after_s)}
