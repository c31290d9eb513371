"""The outer grammar: alphabet, intervals, and the words of a cron spec.

Deliberately smaller than what cron libraries accept. What the usual implementations read differently is given
the meaning people rely on, or refused; what could never fire is refused as well.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from headgate.errors import InvalidSpec
from headgate.names import shown
from headgate.settings import MAX_INSTANT_MS, MAX_SPEC
from headgate.spec.fields import FIELDS, Fields, canonical, field_values

INTERVAL_PREFIX: Final = "@every:"
SPACE: Final = " \t\n\v\f\r"
"""All that separates fields; `str.split` alone would also cut at a no-break space and at \\x1c to \\x1f."""

_ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def checked_text(text: str) -> str:
    """`text`, if it is text of the right length and alphabet.

    Raises:
        InvalidSpec: it is not; a foreign character is named, with its place.
    """
    if not isinstance(text, str):
        raise InvalidSpec("spec must be text")
    if len(text) > MAX_SPEC:
        raise InvalidSpec(f"spec is {len(text)} characters long; the limit is {MAX_SPEC}")
    if foreign := re.search(f"[^!-~{SPACE}]", text):
        character = foreign.group()
        name = unicodedata.name(character, "an unnamed character")
        raise InvalidSpec(
            f"spec has U+{ord(character):04X} ({name}) at character {foreign.start() + 1}; "
            "only printable ASCII and ASCII white space are allowed"
        )
    return text


def parse_interval(text: str) -> int:
    """The milliseconds of an ``@every:`` spec.

    Raises:
        InvalidSpec: anything but digits follows the prefix, or the number is out of range.
    """
    digits = text.removeprefix(INTERVAL_PREFIX)
    # The pattern comes first: int() alone would take spaces, signs, underscores and foreign digits.
    if not re.fullmatch("[0-9]+", digits):
        raise InvalidSpec(f"interval {shown(digits)} must be digits only, in milliseconds, as in @every:30000")
    if not 1 <= int(digits) <= MAX_INSTANT_MS:
        raise InvalidSpec(f"interval {shown(digits)} must be 1 to {MAX_INSTANT_MS} milliseconds")
    return int(digits)


def parse_fields(text: str) -> Fields:
    """The canonical fields of five- or six-field cron, without its zone.

    Raises:
        InvalidSpec: naming the field, the value and the rule it breaks.
    """
    words = re.findall(f"[^{SPACE}]+", text)
    _refuse_other_dialects(words)
    if len(words) == len(FIELDS) - 1:
        words.insert(0, "0")
    if len(words) != len(FIELDS):
        raise InvalidSpec(
            f"spec has {len(words)} fields; the rule is 5 (minute, hour, day of month, month, day of week) "
            "or 6 with the second first"
        )
    return canonical(Fields(*map(field_values, FIELDS, words)))


def _refuse_other_dialects(words: list[str]) -> None:
    """Say what to write instead; a count of fields would only obscure it."""
    first = words[0].lower() if words else ""
    if first.startswith("@every"):
        raise InvalidSpec("an interval is written @every:<milliseconds>, in lower case and with nothing around it")
    if first.startswith("@"):
        instead = _ALIASES.get(first, "five or six cron fields")
        raise InvalidSpec(f"{shown(first)} is an alias, which no spec may use; write {instead}")
    if any("=" in word for word in words):
        raise InvalidSpec("a zone is written CRON_TZ=<zone>, once, in upper case, as the very first characters")
