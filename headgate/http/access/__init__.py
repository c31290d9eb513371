"""Who may use the API: tokens and their roles, sessions of the console, and what a browser could be tricked into.

Nothing here knows of aiohttp: headers and cookies come as mappings, refusals are the errors of `errors`.
"""

from headgate.http.access.access import Access
from headgate.http.access.attempts import Attempts
from headgate.http.access.browsers import allowed_hosts
from headgate.http.access.callers import Caller, Role
from headgate.http.access.errors import (
    CrossSite,
    Forbidden,
    HostNotAllowed,
    ReadOnly,
    TooManyAttempts,
    Unauthorized,
)
from headgate.http.access.login import log_in, log_out
from headgate.http.access.sessions import Sessions
from headgate.http.access.tokens import Tokens

__all__ = [
    "Access",
    "Attempts",
    "Caller",
    "CrossSite",
    "Forbidden",
    "HostNotAllowed",
    "ReadOnly",
    "Role",
    "Sessions",
    "Tokens",
    "TooManyAttempts",
    "Unauthorized",
    "allowed_hosts",
    "log_in",
    "log_out",
]
