"""Connections to the store, what the store must be, and the one translation of its errors.

A call through these clients is tried once: a lost answer comes back as an error and never as a silent repeat,
for only the caller knows whether a repeat is harmless. Every wait has a deadline. No message made here
carries a password, stored data or the server's own words.
"""

from __future__ import annotations

import re
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec
from redis import exceptions as failures
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from headgate.errors import (
    HeadgateError,
    InvalidRequest,
    StoreError,
    StoreFull,
    StoreUnavailable,
    StoreUnsupported,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headgate.settings import Settings

MAX_CONNECTIONS: Final = 32
"""Connections of one client; a call beyond them waits for a free one, at most `call_timeout_ms`."""

STORE_ERRORS: Final = (failures.RedisError, OSError, UnicodeDecodeError)
"""What a call through these clients may raise; `translate` knows what to make of it."""

_SCHEMES: Final = ("redis", "rediss", "unix")
_DATABASE: Final = re.compile(r"/?[0-9]{0,5}")
_AUTH: Final = (
    failures.AuthenticationError,
    failures.AuthenticationWrongNumberOfArgsError,
    failures.AuthorizationError,
)
_AWAY_CODES: Final = frozenset({"BUSY", "MISCONF", "NOREPLICAS"})
"""Refusals that pass by themselves and for which redis-py has no class of its own."""

_TRANSLATION: Final[tuple[tuple[tuple[type[Exception], ...], type[StoreError], str], ...]] = (
    (_AUTH, StoreUnavailable, "the store refused authentication; check user and password of redis_url"),
    (
        (failures.NoPermissionError,),
        StoreUnavailable,
        "the store's access rules forbid a command that Headgate needs",
    ),
    ((failures.OutOfMemoryError,), StoreFull, "the store is out of memory and refused the call"),
    (
        (failures.TimeoutError, TimeoutError),
        StoreUnavailable,
        "the store did not answer in time; the call may or may not have happened",
    ),
    (
        (
            failures.ConnectionError,
            failures.ReadOnlyError,
            failures.ClusterDownError,  # and MasterDownError, which derives from it
            failures.TryAgainError,
            OSError,
        ),
        StoreUnavailable,
        "the store cannot be reached or takes no calls now",
    ),
)
"""The first row that fits decides: authentication errors are connection errors too."""

_KEEPALIVE: Final = {
    getattr(socket, name): value
    for name, value in (
        ("TCP_KEEPIDLE", 2),
        ("TCP_KEEPALIVE", 2),  # what macOS calls TCP_KEEPIDLE
        ("TCP_KEEPINTVL", 1),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 5_000),
    )
    if hasattr(socket, name)
}
"""Seconds (the last: ms). A peer that vanished without a word is noticed after five seconds of silence."""


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What answered, and what about its set-up weakens Headgate's promises.

    Attributes:
        kind: ``redis`` or ``valkey``.
        version: the version of that kind, as the server spells it.
        warnings: sentences for the operator; empty when all is well or the settings are not readable.
    """

    kind: Literal["redis", "valkey"]
    version: str
    warnings: tuple[str, ...] = ()


class _Pool(BlockingConnectionPool):
    def __repr__(self) -> str:
        """Not that of redis-py, which in some releases shows the password; a client's `repr` holds its pool's."""
        return f"<at most {self.max_connections} connections>"


def connect(url: str, settings: Settings) -> Redis:
    """Return a client for calls; nothing is sent before the first of them.

    Waiting for a free connection, connecting, sending and reading each end after `call_timeout_ms`. Close the
    client with ``aclose()``.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://``; of its options only ``db``, ``username``,
            ``password`` and (for ``rediss://``) ``ssl_*`` are taken, so that no URL can lift a deadline.
        settings: gives the deadline of a call.

    Raises:
        InvalidRequest: the URL breaks a rule; ``field`` is ``redis_url``.
    """
    return _client(url, settings, name="headgate", keepalive={})


def connect_pubsub(url: str, settings: Settings) -> Redis:
    """Return a client for pub/sub and blocking reads, which must not hold up the calls of `connect`.

    A read of its ``pubsub()`` waits as long as its own ``timeout`` says; everything else ends after
    `call_timeout_ms`. A TCP peer that vanished raises within about five seconds of silence. A broken
    connection always raises, after one attempt to reconnect and resubscribe; messages in between are lost.

    Raises:
        InvalidRequest: the URL breaks a rule; ``field`` is ``redis_url``.
    """
    return _client(url, settings, name="headgate-pubsub", keepalive=_KEEPALIVE)


def safe_url(url: str) -> str:
    """Return the URL without user, password and options, fit for logs; never raises."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "(unreadable URL)"
    # An "@" after the host is most likely the rest of a password with an unescaped "/", "?" or "#".
    if parts.scheme not in _SCHEMES or "@" in parts.path + parts.query + parts.fragment:
        return "(unreadable URL)"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


async def check_server(client: Redis) -> ServerInfo:
    """Ask the server what it is, and refuse one whose scripts cannot carry ``#!lua`` flags.

    One call of ``INFO``, since access rules and hosted services often forbid ``CONFIG GET``.

    Raises:
        StoreUnsupported: older than Redis 7.0 or Valkey 7.2; the message says what was found.
        StoreUnavailable: no answer in time, or no right to ask.
    """
    with translated():
        info: dict[str, Any] = await client.info()
    valkey = "valkey_version" in info or info.get("server_name") == "valkey"
    version = str(info.get("valkey_version" if "valkey_version" in info else "redis_version", "unknown"))
    number = re.match(r"(\d+)\.(\d+)", version)
    if number is None or (int(number[1]), int(number[2])) < ((7, 2) if valkey else (7, 0)):
        found = f"{'Valkey' if valkey else 'Redis'} {version}"
        raise StoreUnsupported(f"the server is {found}; Headgate needs Redis >= 7.0 or Valkey >= 7.2")
    return ServerInfo(kind="valkey" if valkey else "redis", version=version, warnings=tuple(_server_warnings(info)))


def translate(error: BaseException) -> HeadgateError:
    """Return the error of our tree that stands for what redis-py raised; one of ours comes back unchanged."""
    if isinstance(error, HeadgateError):
        return error
    # On a Unix socket redis-py logs in while it connects, and wraps the refusal in a ConnectionError.
    if isinstance(error.__cause__, (*_AUTH, failures.NoPermissionError)):
        error = error.__cause__
    for kinds, meaning, message in _TRANSLATION:
        if isinstance(error, kinds):
            return meaning(message)
    if str(error).partition(" ")[0] in _AWAY_CODES:
        return StoreUnavailable("the store takes no calls now")
    return StoreError(f"the store answered with an error ({type(error).__name__}); see the server's log")


@contextmanager
def translated() -> Iterator[None]:
    """Turn what redis-py raises inside into our errors, without the original in the traceback."""
    try:
        yield
    except STORE_ERRORS as error:
        raise translate(error) from None


def _client(url: str, settings: Settings, *, name: str, keepalive: dict[int, int]) -> Redis:
    _check_url(url)
    timeout = settings.call_timeout_ms / 1000
    tcp = urlsplit(url).scheme != "unix"
    options: dict[str, Any] = {}
    if tcp and keepalive:
        options = {"socket_keepalive": True, "socket_keepalive_options": keepalive}
    try:
        pool = _Pool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=timeout,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
            retry_on_error=[],
            decode_responses=True,
            encoding_errors="replace",  # a record that others wrote is that record's trouble, not the page's
            client_name=name,
            # RESP2 needs no HELLO and has no maintenance notifications: two answers fewer per connection.
            protocol=2,
            **options,
        )
        # Options are looked at only when a connection is built, which would be in the first call.
        pool.connection_class(**pool.connection_kwargs)
    except (ValueError, TypeError, failures.RedisError):
        raise _bad_url("has an option that cannot be used") from None
    return Redis.from_pool(pool)


def _check_url(url: str) -> None:
    """Refuse what redis-py would ignore or misread. Any part may be of a password, so none is quoted."""
    try:
        parts = urlsplit(url)
        options = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        _ = parts.port
    except ValueError:
        raise _bad_url("cannot be parsed; percent-encode special characters of the password") from None
    if parts.scheme not in _SCHEMES:
        raise _bad_url("must begin with redis://, rediss:// or unix://")
    if parts.fragment or (parts.scheme == "unix" and parts.netloc.rpartition("@")[2]):
        raise _bad_url("cannot be parsed; a Unix socket is unix:///absolute/path?db=0")
    if parts.scheme == "unix" and parts.path in ("", "/"):
        raise _bad_url("must name the absolute path of the socket: unix:///path/to.sock")
    if parts.scheme != "unix" and not _DATABASE.fullmatch(parts.path):
        raise _bad_url("must end in a database number, or nothing, after the host")
    allowed = {"db", "username", "password"}
    if any(o not in allowed and not (parts.scheme == "rediss" and o.startswith("ssl_")) for o in options):
        raise _bad_url("takes only the options db, username, password and, for rediss://, ssl_*")


def _bad_url(rule: str) -> InvalidRequest:
    return InvalidRequest(f"redis_url {rule}", field="redis_url")


def _server_warnings(info: dict[str, Any]) -> Iterator[str]:
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield f"maxmemory-policy is {policy}: evictions silently drop schedules; set it to noeviction"
    if str(info.get("aof_enabled", 1)) == "0":
        yield "appendonly is off: a crash of the server loses what was written since its last snapshot"
