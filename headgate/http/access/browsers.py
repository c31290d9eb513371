"""What a browser could be tricked into, and how its headers give it away.

A page of somebody else's can make a browser send requests here, with the cookie of this site or to a server on loopback
that asks nobody. Two headers that no page can set tell: ``Host`` of a name that was pointed at this address (DNS
rebinding), ``Sec-Fetch-Site`` or ``Origin`` of a write that another site's page sends.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from headgate.errors import InvalidRequest
from headgate.http.access.errors import CrossSite, HostNotAllowed
from headgate.names import shown

_LABEL: Final = r"[A-Za-z0-9_-]{1,63}"
_HOST: Final = re.compile(rf"(?:\[([0-9A-Fa-f:.]{{2,45}})\]|({_LABEL}(?:\.{_LABEL})*)\.?)(?::([0-9]{{0,5}}))?")
_ORIGIN: Final = re.compile(r"(https?)://(.+)")
_PORTS: Final = {"http": 80, "https": 443}


class _Host(NamedTuple):
    name: str
    port: int | None

    @property
    def needs_no_name_server(self) -> bool:
        """An address, or ``localhost``: nobody else can make that lead here."""
        if self.name == "localhost":
            return True
        try:
            ipaddress.ip_address(self.name)
        except ValueError:
            return False
        return True


def allowed_hosts(names: Iterable[str]) -> frozenset[str]:
    """The names that a server goes by, as `check_host` compares them; a port is left out.

    Raises:
        InvalidRequest: one of them is no host name.
    """
    return frozenset(map(_allowed, names))


def check_host(given: str | None, allowed: frozenset[str]) -> None:
    """Refuse a ``Host`` header that names neither an address, nor ``localhost``, nor an allowed host, at any port.

    Raises:
        HostNotAllowed: that, or it is missing or malformed.
    """
    host = _parse(given or "")
    if host is None or not (host.needs_no_name_server or host.name in allowed):
        raise HostNotAllowed


def check_same_site(headers: Mapping[str, str], allowed: frozenset[str]) -> None:
    """Refuse a write that a browser sends for a page of another site. What no browser sent passes.

    ``Sec-Fetch-Site`` decides, or else ``Origin``: that must be the origin that ``Host`` names, or one of an allowed
    host, for a proxy may call this server by another name than browsers do.

    Raises:
        CrossSite: it is another site's, or of a page whose origin the browser hides.
    """
    site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
    if site is not None:
        own = site in ("same-origin", "none")
    else:
        own = origin is None or _is_own(origin, headers.get("Host", ""), allowed)
    if not own:
        raise CrossSite


def _is_own(origin: str, host: str, allowed: frozenset[str]) -> bool:
    match = _ORIGIN.fullmatch(origin)
    of_page, called = _parse(match[2]) if match else None, _parse(host)
    if match is None or of_page is None:
        return False
    default = _PORTS[match[1]]
    port = of_page.port or default
    if called is not None and of_page.name == called.name:
        return port == (called.port or default)
    # A proxy calls this server by another name. What it serves itself is at a default port, and a stranger's is not.
    return of_page.name in allowed and port == default


def _allowed(text: str) -> str:
    host = _parse(text)
    if host is None:
        raise InvalidRequest(
            f"allowed-host {shown(text)} is no host name, as in headgate.example.org", field="allowed-host"
        )
    return host.name


def _parse(text: str) -> _Host | None:
    """Name and port, in lower case and without the last dot; None if malformed."""
    match = _HOST.fullmatch(text)
    if match is None:
        return None
    port = int(match[3]) if match[3] else None
    if port is not None and port > 65_535:  # noqa: PLR2004 - what a port can be
        return None
    if match[1] is None:
        return _Host(match[2].lower(), port)
    try:
        return _Host(str(ipaddress.IPv6Address(match[1])), port)
    except ValueError:
        return None
