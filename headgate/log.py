"""Log lines people can search: a stable event name, then its fields.

Lines carry ids, counts and codes; never a payload, a secret, or the store's own words. docs/logs.md has every name.
"""

from __future__ import annotations

import json
import logging
import math
import traceback
from datetime import UTC, datetime

LOGGER = logging.getLogger("headgate")
JOB_LOGGER = LOGGER.getChild("job")
"""Of the lines that actors write by `headgate.Job.logger`."""


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


class JsonLines(logging.Formatter):
    """One JSON object a record: ``time`` (RFC 3339, UTC, ms), ``level``, ``event``, and the event's fields as values.

    What others log has the event ``log``, with ``logger`` and ``message``, a traceback where they logged one, and of an
    actor's line the ``job`` and its ``kind``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line, in ASCII and without a line break."""
        event, fields = getattr(record, "headgate_event", "log"), getattr(record, "headgate_fields", None)
        fields = self._of_others(record) if fields is None else fields
        instant = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": instant.replace("+00:00", "Z"), "level": record.levelname, "event": event}
        return json.dumps(line | {name: _as_json(value) for name, value in fields.items()})

    def _of_others(self, record: logging.LogRecord) -> dict[str, object]:
        fields: dict[str, object] = {"logger": record.name, "message": record.getMessage()}
        if record.name == JOB_LOGGER.name:
            fields |= {"job": getattr(record, "job_id", None), "kind": getattr(record, "kind", None)}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return fields


def _as_json(value: object) -> object:
    """As itself where JSON has such a value, else as the text that a plain line shows."""
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
