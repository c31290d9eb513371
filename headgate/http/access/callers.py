"""Who calls: a name and a role, and the token that proves them."""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Final

import msgspec

from headgate.errors import InvalidRequest
from headgate.names import shown

MIN_TOKEN: Final = 20
MAX_TOKEN: Final = 1_024
"""Characters of a token; what is longer is wrong without being looked at."""

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TOKEN: Final = re.compile(r"[!-~]+")


class Role(StrEnum):
    """What a token is good for. An operator may do all that a viewer may."""

    VIEWER = "viewer"
    OPERATOR = "operator"

    def covers(self, needed: Role) -> bool:
        """Whether whoever has this role may do what needs the other."""
        return self is Role.OPERATOR or self is needed


class Caller(msgspec.Struct, frozen=True):
    """Who sent a request; the name is ``""`` where nobody is asked."""

    name: str
    role: Role


class Token(msgspec.Struct, frozen=True):
    """A token as a server knows it: not the token itself.

    Attributes:
        caller: who shows it.
        digest: SHA-256 of it. A slow hash would protect tokens that can be guessed; those that Headgate makes are 256
            random bits, which no speed of guessing comes near.
    """

    caller: Caller
    digest: bytes

    def __repr__(self) -> str:
        return f"Token({self.caller})"


def digest_of(token: str) -> bytes:
    """What is kept of a token; any text has one, also halves of characters that a header may hold."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def check_token_name(text: str) -> str:
    """`text`, if a token may be called so: 1 to 64 of ``[A-Za-z0-9._-]``; raises `InvalidRequest`."""
    if not _NAME.fullmatch(text):
        raise InvalidRequest(f"token name {shown(text)} is not 1 to 64 of A-Z a-z 0-9 . _ -", field="name")
    return text


def check_token(text: str) -> str:
    """`text`, if it may be a token: 20 to 1,024 of printable ASCII without spaces.

    Raises:
        InvalidRequest: naming the rule, and nothing of the text.
    """
    if not MIN_TOKEN <= len(text) <= MAX_TOKEN or not _TOKEN.fullmatch(text):
        raise InvalidRequest(
            f"HEADGATE_TOKEN must be {MIN_TOKEN} to {MAX_TOKEN} printable ASCII characters without spaces; "
            "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one",
            field="HEADGATE_TOKEN",
        )
    return text
