"""From ``module:attribute`` to the application it names, or one line that says which part of it is wrong."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType

from headgate.app import Headgate
from headgate.errors import HeadgateError, InvalidRequest
from headgate.names import shown


def load_app(path: str) -> Headgate:
    """The application at `path`; the current directory is importable, as with ``python -m``.

    Raises:
        InvalidRequest: it is no such path, there is no such module or attribute, the module raised something, or the
            attribute is something else.
    """
    name, _, attribute = path.partition(":")
    if not name or not attribute or name.startswith("."):
        raise InvalidRequest(f"{shown(path)} is not module:attribute, as in myproject.jobs:app", field="app")
    if "" not in sys.path and not sys.flags.safe_path:
        sys.path.insert(0, "")
    module = _load_module(name)
    try:
        found = attrgetter(attribute)(module)
    except AttributeError:
        raise InvalidRequest(f"module {shown(name)} has no attribute {shown(attribute)}", field="app") from None
    if not isinstance(found, Headgate):
        kind = type(found).__name__
        raise InvalidRequest(f"{shown(path)} is of type {kind}, not a headgate.Headgate", field="app")
    return found


def _load_module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module does when it is imported
        raise InvalidRequest(_why(name, error), field="app") from None


def _why(name: str, error: BaseException) -> str:
    """What went wrong and where. The words of a foreign error are left out: they may quote a URL with its password."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing and f"{name}.".startswith(f"{missing}."):
        return f"there is no module {shown(missing)} here or where Python looks for modules"
    if isinstance(error, HeadgateError | ImportError | SyntaxError):
        words = f": {' '.join((error.msg if isinstance(error, SyntaxError) else str(error)).split())}"
    else:
        words = f"; python -c 'import {name}' shows all of it"
    return f"module {shown(name)} raised {type(error).__name__}{_place(error)}{words}"


def _place(error: BaseException) -> str:
    """The line that the innermost module being imported had come to."""
    lines = [(at.filename, at.lineno) for at in traceback.extract_tb(error.__traceback__) if at.name == "<module>"]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    if not lines:
        return ""
    file, number = lines[-1]
    return f" in {Path(file).name}, line {number}"
