"""Log lines people can search: a stable event name, then its fields.

Lines carry ids, counts and codes; never a payload, a secret, or the store's own words.
"""

from __future__ import annotations

import logging
import traceback

LOGGER = logging.getLogger("headgate")


def log_event(level: int, event: str, **fields: object) -> None:
    """Write one line: ``event key=value …``. The name and fields are also on the record, for structured handlers."""
    if LOGGER.isEnabledFor(level):
        text = " ".join((event, *(f"{name}={value}" for name, value in fields.items())))
        LOGGER.log(level, text, extra={"headgate_event": event, "headgate_fields": fields})


def where_raised(error: BaseException) -> str:
    """Class and place of an unexpected exception. Not its message: that may quote what was being worked on."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {frames[-1].name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


def code_of(error: BaseException) -> str:
    """The stable code of one of our errors; of another its class and place."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) else where_raised(error)
