"""The list of mutations keeps up with the code; `python -m tests.mutations` runs them."""

from __future__ import annotations

import pytest

from tests.mutations import MUTATIONS, ROOT
from tests.support.protections import Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[each.name for each in MUTATIONS])
def test_what_a_mutation_takes_out_is_there_just_once(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text("utf-8").count(mutation.old) == 1
    for test in mutation.tests.split():
        assert (ROOT / test).exists()
