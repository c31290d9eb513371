"""Who may use an API, in one object: who calls, what that caller may do, and whether a browser was tricked into it.

A request is let in by three calls, in this order: `check_browser`, `identify`, `check`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Self

import msgspec

from headgate.http.access.attempts import Attempts
from headgate.http.access.browsers import check_host, check_same_site
from headgate.http.access.callers import Caller, Role
from headgate.http.access.errors import Forbidden, ReadOnly, Unauthorized
from headgate.http.access.sessions import COOKIE, Sessions
from headgate.http.access.tokens import Tokens

_BEARER: Final = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([!-~]+)")
_ANYBODY: Final = Caller("", Role.OPERATOR)


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one server.

    Attributes:
        tokens: those in force; with None nobody is asked, and everybody is an operator.
        allowed_hosts: the names it goes by, as `headgate.http.access.allowed_hosts` makes them; None lets any ``Host``
            pass, which is for those who look at it themselves.
        read_only: refuse every write.
        sessions: of the console.
        attempts: log-ins that failed lately.
    """

    tokens: Tokens | None = None
    allowed_hosts: frozenset[str] | None = None
    read_only: bool = False
    sessions: Sessions = msgspec.field(default_factory=Sessions)
    attempts: Attempts = msgspec.field(default_factory=Attempts)

    @classmethod
    def open(cls) -> Self:
        """Everybody may do everything: for whoever has something in front of it that asks."""
        return cls()

    def check_browser(self, headers: Mapping[str, str], *, writes: bool) -> None:
        """Refuse what somebody else's page makes a browser send.

        Args:
            headers: of the request; ``Host``, ``Origin`` and ``Sec-Fetch-Site`` are looked at.
            writes: the method is another than GET, HEAD and OPTIONS; logging in and out are writes too.

        Raises:
            HostNotAllowed: ``Host`` is not this server's.
            CrossSite: it is a write of another site's page.
        """
        if self.allowed_hosts is not None:
            check_host(headers.get("Host"), self.allowed_hosts)
        if writes:
            check_same_site(headers, self.allowed_hosts or frozenset())

    def identify(self, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Caller | None:
        """Who calls; None if nobody says so, or with a session that is over.

        Raises:
            Unauthorized: ``Authorization`` is no bearer token in force, whatever the cookie is.
        """
        if self.tokens is None:
            return _ANYBODY
        authorization = headers.get("Authorization")
        if authorization is not None:
            match = _BEARER.fullmatch(authorization)
            token = self.tokens.find(match[1]) if match else None
            if token is None:
                raise Unauthorized
            return token.caller
        session = cookies.get(COOKIE)
        token = self.sessions.read(session, self.tokens) if session else None
        return token.caller if token else None

    def check(self, caller: Caller | None, *, role: Role | None, writes: bool) -> None:
        """Refuse what this caller may not do.

        Args:
            caller: as `identify` says.
            role: what the route needs; None for one that is open to all.
            writes: the route changes what is stored; logging in and previews do not.

        Raises:
            Unauthorized: nobody known calls.
            Forbidden: the caller's role does not do.
            ReadOnly: nobody may write here.
        """
        if role is not None:
            if caller is None:
                raise Unauthorized
            if not caller.role.covers(role):
                raise Forbidden
        if writes and self.read_only:
            raise ReadOnly
