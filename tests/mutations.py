"""Remove each protection, and see a test fail: ``python -m tests.mutations [NAME …]``.

Each entry takes one protection out of a copy of the project and runs the tests that guard it, on one store. A run is
good when every mutant is caught: a guard whose removal nobody notices is no guard. Not part of the suite, since it runs
it many times; `docs/testing.md` says when to run it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import get_ident

from tests.support.access_protections import ACCESS
from tests.support.answer_protections import ANSWER
from tests.support.console_protections import CONSOLE
from tests.support.contract_protections import CONTRACTS
from tests.support.control_protections import CONTROL
from tests.support.job_protections import JOBS
from tests.support.load_protections import LOAD
from tests.support.metrics_protections import METRICS
from tests.support.protections import SCHEDULING, Mutation
from tests.support.stream_protections import STREAM

MUTATIONS = (*SCHEDULING, *JOBS, *CONTROL, *ACCESS, *METRICS, *ANSWER, *STREAM, *LOAD, *CONTRACTS, *CONSOLE)
ROOT = Path(__file__).parents[1]
AT_ONCE = 2
PATIENCE_S = 240
"""Longer than any of the chosen tests take together."""


def main() -> None:
    wanted = sys.argv[1:]
    unknown = [word for word in wanted if not any(word in mutation.name for mutation in MUTATIONS)]
    if unknown:
        sys.exit(
            f"no mutation has {unknown[0]!r} in its name; they are:\n" + "\n".join(each.name for each in MUTATIONS)
        )
    chosen = [each for each in MUTATIONS if not wanted or any(word in each.name for word in wanted)]
    with tempfile.TemporaryDirectory(prefix="headgate-mutants-") as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        by_tests = {mutation.tests: mutation._replace(new=mutation.old) for mutation in chosen}
        # What fails without a mutation too catches nothing. Twice in a row: a busy machine can spoil a measurement.
        for as_it_is, broken in zip(
            by_tests.values(), pool.map(partial(failure_twice, folder=Path(folder)), by_tests.values()), strict=True
        ):
            if broken:
                sys.exit(f"{as_it_is.tests} fail as they are: {broken}")
        survivors = []
        for mutation, caught_by in zip(
            chosen, pool.map(partial(first_failure, folder=Path(folder)), chosen), strict=True
        ):
            print(f"{'caught' if caught_by else 'SURVIVED':<9} {mutation.name}\n{'':9} {caught_by}", flush=True)
            if not caught_by:
                survivors.append(mutation.name)
    if survivors:
        sys.exit(f"{len(survivors)} survived: {'; '.join(survivors)}")


def failure_twice(mutation: Mutation, folder: Path) -> str:
    return first_failure(mutation, folder) and first_failure(mutation, folder)


def first_failure(mutation: Mutation, folder: Path) -> str:
    """The test that fails without the protection; '' when none does."""
    copy = folder / f"copy-{get_ident()}"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in ("headgate", "lua", "tests", "docs"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    target = copy / mutation.file
    source = target.read_text()
    if source.count(mutation.old) != 1:
        sys.exit(f"{mutation.name}: {mutation.file} does not have, just once: {mutation.old}")
    target.write_text(source.replace(mutation.old, mutation.new))
    child = subprocess.Popen(
        [
            *(sys.executable, "-m", "pytest", *mutation.tests.split(), "-q", "-x", "-n", "0", "-k", "not redis"),
            *("-p", "no:cacheprovider", "--timeout", "60"),
        ],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = child.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:  # something that nobody ends any more: that is noticed
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return f"{mutation.tests} do not end"
    if child.returncode not in (0, 1):
        sys.exit(f"{mutation.name}: the tests did not run\n{output[-4000:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return failed[1] if failed else ""


if __name__ == "__main__":
    main()
