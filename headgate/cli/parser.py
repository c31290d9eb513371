"""The parser of the command line: its complaints show no password of a URL that stands in the wrong place."""

from __future__ import annotations

import argparse
import re
from typing import Final, NoReturn

_URL: Final = re.compile(r"[a-z]+://.*", re.IGNORECASE | re.DOTALL)
"""To the end of the message: nothing tells where a password ends that was not escaped."""


class Parser(argparse.ArgumentParser):
    """Also that of each command, since subparsers have the class of their parser."""

    def error(self, message: str) -> NoReturn:
        """Print usage and message to standard error, and exit with 2."""
        super().error(_URL.sub("(a URL)", message))
