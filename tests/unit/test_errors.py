"""The tree of errors as drawn is the tree as built, and its codes are a promise."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Iterator

import pytest

from headgate import errors
from headgate.errors import HeadgateError, InvalidCursor, InvalidRequest, InvalidSpec

CODES = {
    "HeadgateError": "headgate_error",
    "InvalidRequest": "invalid_request",
    "InvalidSpec": "invalid_spec",
    "InvalidShape": "invalid_shape",
    "InvalidSyntax": "invalid_syntax",
    "TooLarge": "too_large",
    "UnsupportedMedia": "unsupported_media_type",
    "InvalidCursor": "invalid_cursor",
    "IdempotencyKeyMissing": "idempotency_key_missing",
    "IdempotencyKeyReused": "idempotency_key_reused",
    "NotFound": "not_found",
    "ScheduleNotFound": "schedule_not_found",
    "JobNotFound": "job_not_found",
    "QueueNotFound": "queue_not_found",
    "QuarantineNotFound": "quarantine_not_found",
    "Conflict": "conflict",
    "IdConflict": "id_conflict",
    "NotPaused": "not_paused",
    "RevisionMismatch": "revision_mismatch",
    "UniqueKeyHeld": "unique_key_held",
    "JobStateConflict": "job_state",
    "Quarantined": "quarantined",
    "Backpressure": "backpressure",
    "TooManyStreams": "too_many_streams",
    "Discard": "discarded",
    "SkipTick": "hook_skipped",
    "HookFailed": "hook_error",
    "LeaseLost": "lease_lost",
    "StoreError": "store_error",
    "StoreUnavailable": "store_unavailable",
    "StoreFull": "store_full",
    "StoreUnsupported": "store_unsupported",
    "EmbeddedError": "embedded_error",
    "EmbeddedMissing": "embedded_missing",
    "DataDirInUse": "data_dir_in_use",
}
"""Clients switch on these words: one may be added, none may change or go."""


def built() -> dict[str, type[HeadgateError]]:
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, HeadgateError) and kind.__module__ == errors.__name__
    }


def drawn() -> Iterator[tuple[str, str | None]]:
    """Each name of the drawing with the name it hangs from."""
    assert errors.__doc__ is not None
    stems: list[str] = []
    for line in errors.__doc__.splitlines():
        match = re.match(r"^ {4}((?:[│├└ ][─ ]{2} )*)([A-Z]\w+)", line)
        if match:
            depth = len(match.group(1)) // 4
            stems = [*stems[:depth], match.group(2)]
            yield match.group(2), stems[depth - 1] if depth else None


def test_the_drawn_tree_is_the_built_one() -> None:
    """Same names, each hanging from the class it derives from, and none twice."""
    bases = [(name, kind.__bases__[0].__name__) for name, kind in built().items()]
    assert list(drawn()) == [("HeadgateError", None), *bases[1:]]


def test_every_error_derives_from_the_root() -> None:
    """One `except HeadgateError` catches all there is."""
    assert all(issubclass(kind, HeadgateError) for kind in built().values())
    assert issubclass(HeadgateError, Exception)


def test_codes_are_stable() -> None:
    """The table above is the contract."""
    assert {name: kind.code for name, kind in built().items()} == CODES


def test_codes_are_unique_and_of_one_form() -> None:
    """A code names one class, in lower-case words."""
    codes = [kind.code for kind in built().values()]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)


@pytest.mark.parametrize("kind", built().values(), ids=lambda kind: kind.__name__)
def test_an_error_says_and_keeps_its_message_and_field(kind: type[HeadgateError]) -> None:
    """Also through pickle and copy, as process pools and test runners need."""
    error = kind("id is wrong", field="id")
    for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(same), str(same), same.message, same.field) == (kind, "id is wrong", "id is wrong", "id")


@pytest.mark.parametrize(("kind", "field"), [(InvalidSpec, "spec"), (InvalidCursor, "cursor"), (InvalidRequest, None)])
def test_errors_of_one_field_name_it_unasked(kind: type[HeadgateError], field: str | None) -> None:
    """A spec or a cursor is the same field wherever it is refused; elsewhere the caller says which."""
    assert kind("no").field == field
