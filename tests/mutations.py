"""Remove each protection, and see a test fail: ``python -m tests.mutations [NAME …]``.

Each entry takes one protection out of a copy of the project and runs the tests that guard it, on one store. A run is
good when every mutant is caught: a guard whose removal nobody notices is no guard. Not part of the suite, since it runs
it many times; `docs/testing.md` says when to run it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Mutation(NamedTuple):
    """One protection and how to take it out."""

    name: str
    file: str
    old: str
    new: str
    tests: str


FIRE = "tests/lua/test_fire.py"
FOREIGN = "tests/fault/test_foreign_types.py"
CRASH = "tests/fault/test_crash_points.py"

MUTATIONS = (
    Mutation(
        "fence: a lost lease stops every write",
        "lua/lib/holds_duty.lua",
        "redis.call('GET', key_duty('scheduler')) == ARGV[1]",
        "true",
        "tests/fault/test_two_leaders.py",
    ),
    Mutation(
        "fence of fire alone",
        "lua/fire.lua",
        "if not holds_duty then return {now_text, 'lost'} end",
        "",
        FIRE,
    ),
    Mutation(
        "compare: a schedule that changed since it was read is left alone",
        "lua/fire.lua",
        "if not as_read(values, ARGV[at + 1]) then return nil end",
        "",
        FIRE,
    ),
    Mutation(
        "early: no tick before its time by store time",
        "lua/fire.lua",
        "if not go_on or tonumber(tick) > now then break end",
        "if not go_on then break end",
        FIRE,
    ),
    Mutation(
        "marker: a tick identity is queued once",
        "lua/lib/enqueue_tick.lua",
        "return redis.call('GET', marker_key) == marker and 'replayed' or 'id_conflict'",
        "redis.call('SET', marker_key, marker)",
        FIRE,
    ),
    Mutation(
        "job: a job that outlived its marker is not overwritten",
        "lua/lib/enqueue_tick.lua",
        "if redis.call('EXISTS', key_job(job_id)) == 0 then return nil end",
        "if true then return nil end",
        FIRE,
    ),
    Mutation(
        "undo: a marker always means queued",
        "lua/lib/enqueue_tick.lua",
        "if marker_made then redis.call('DEL', marker_made) end",
        "",
        FOREIGN,
    ),
    Mutation(
        "priority: what cannot stand in a queue fails before anything is written",
        "lua/lib/enqueue_tick.lua",
        "if not score then return",
        "if not content then return",
        "tests/fault/test_damaged_records.py",
    ),
    Mutation(
        "take-over of a lease that a late heartbeat got for the old token",
        "lua/heartbeat.lua",
        "elseif not holder or own_before then",
        "elseif not holder then",
        "tests/integration/test_heart.py",
    ),
    Mutation(
        "record before advance: nothing passes an unwritten event",
        "lua/lib/fire_tick.lua",
        "elseif pcall(record, schedule, tick, outcome, reason, job_id) then",
        "elseif pcall(record, schedule, tick, outcome, reason, job_id) or true then",
        FOREIGN,
    ),
    Mutation(
        "ledger: a queued tick is known without marker and job",
        "lua/lib/fire_tick.lua",
        "if outcome == 'enqueued' then schedule.last_tick = tick end",
        "",
        FIRE,
    ),
    Mutation(
        "gap before event: a replay writes what is missing and nothing twice",
        "lua/lib/fire_tick.lua",
        "add_gap(schedule.id, from, upto, 'discarded', before)",
        "",
        FOREIGN,
    ),
    Mutation(
        "back-off: a failing schedule is put off",
        "lua/lib/failure.lua",
        "local retry_at = digits(now + wait)",
        "local retry_at = now_text",
        FIRE,
    ),
    Mutation(
        "coalescing: repeated failures of one tick are one event",
        "lua/lib/failure.lua",
        "local again = failure.tick == tick and failure.event_id == failure.seq",
        "local again = false",
        FIRE,
    ),
    Mutation(
        "isolation: one schedule's fault is its own",
        "lua/lib/enqueue_tick.lua",
        "if not queue_usable(content.queue) then return 'failed', 'store_error' end",
        "queue_usable(content.queue); ready[content.queue] = ready[content.queue] or {}",
        FOREIGN,
    ),
    Mutation(
        "entry check: shared keys are looked at before the first write",
        "lua/fire.lua",
        "if not (typed(key_due(), 'zset') and typed(key_failing(), 'zset') and typed(key_quarantine(), 'hash')) then",
        "if false then",
        FOREIGN,
    ),
    Mutation(
        "index: schedules missing from it are noticed",
        "lua/heartbeat.lua",
        "indexed < count(key_schedules()) and 'short' or 'whole'",
        "'whole'",
        FOREIGN,
    ),
    Mutation(
        "half an origin is refused",
        "lua/lib/jobs.lua",
        "if (schedule_id == '') ~= (tick == '') then error('half a periodic origin') end",
        "",
        FIRE,
    ),
    Mutation(
        "quarantine: barred content is not queued",
        "lua/lib/enqueue_tick.lua",
        "if quarantined_any and redis.call('HEXISTS', key_quarantine(), content.fingerprint) == 1 then",
        "if false then",
        f"{FIRE} {CRASH}",
    ),
    Mutation(
        "reload: a lost script is sent again",
        "headgate/store/scripts.py",
        "except NoScriptError:",
        "except ZeroDivisionError:",
        "tests/integration/test_reload.py",
    ),
    Mutation(
        "repeat: a lost answer is asked for again where that is harmless",
        "headgate/store/scripts.py",
        "if not script.repeatable:",
        "if True:",
        "tests/integration/test_reload.py",
    ),
    Mutation(
        "no repeat where it is not harmless",
        "headgate/store/scripts.py",
        "if not script.repeatable:",
        "if False:",
        "tests/integration/test_reload.py",
    ),
    Mutation(
        "retries of the client library are off",
        "headgate/connect.py",
        "retry=Retry(NoBackoff(), 0),",
        "",
        "tests/unit/test_connect.py",
    ),
    Mutation(
        "trust ends at the start of the last good heartbeat",
        "headgate/duty.py",
        "self._trusted_until = started + self._trust_s",
        "self._trusted_until = time.monotonic() + self._trust_s",
        "tests/integration/test_heart.py",
    ),
    Mutation(
        "a lease that ran out ends the term, token and all",
        "headgate/duty.py",
        "if self._held and not self.trusted:",
        "if False:",
        "tests/integration/test_heart.py",
    ),
    Mutation(
        "a standby is there when the lease ends",
        "headgate/heart.py",
        "return min(self._settings.heartbeat_ms, standing.lease_left_ms + _EXPIRY_SLACK_MS)",
        "return self._settings.heartbeat_ms",
        "tests/integration/test_heart.py",
    ),
    Mutation(
        "one call at a time: no heartbeat takes back what is given up",
        "headgate/heart.py",
        "async with self._one_call:\n                tokens =",
        "if True:\n                tokens =",
        "tests/integration/test_heart.py",
    ),
    Mutation(
        "a process that resigned contends no more",
        "headgate/heart.py",
        "if self._contends else []",
        "",
        "tests/integration/test_heart.py",
    ),
    Mutation(
        "being seen costs no lease",
        "lua/heartbeat.lua",
        "redis.pcall('ZADD', key_processes()",
        "redis.call('ZADD', key_processes()",
        "tests/lua/test_leases.py",
    ),
    Mutation(
        "a foreign lease costs the other duty nothing",
        "lua/heartbeat.lua",
        "redis.pcall('GET', key_duty(name))",
        "redis.call('GET', key_duty(name))",
        "tests/lua/test_leases.py",
    ),
    Mutation(
        "idempotency: the answer is kept",
        "lua/lib/new_job.lua",
        "keep_answer(answer_key, request, job_id)",
        "",
        "tests/lua/test_jobs.py",
    ),
    Mutation(
        "claim: what a worker says of a job is fenced",
        "lua/lib/claimed.lua",
        "job[1] == 'running' and job[2] == number",
        "true",
        "tests/lua/test_attempts.py",
    ),
    Mutation(
        "hooks: the marker goes by what the content was before them",
        "lua/lib/enqueue_tick.lua",
        "content = after_hooks(content, decision)",
        "content = after_hooks(content, decision); schedule.content = content",
        "tests/integration/test_hooks.py",
    ),
    Mutation(
        "plan: a queued tick that lacks its event comes first",
        "headgate/planning.py",
        "if row.last_tick_ms and (last_tick_ms := int(row.last_tick_ms)) > anchor_ms:",
        "if False and (last_tick_ms := 0):",
        FOREIGN,
    ),
)


def main() -> None:
    wanted = sys.argv[1:]
    unknown = [word for word in wanted if not any(word in mutation.name for mutation in MUTATIONS)]
    if unknown:
        sys.exit(
            f"no mutation has {unknown[0]!r} in its name; they are:\n" + "\n".join(each.name for each in MUTATIONS)
        )
    survivors: list[str] = []
    sound: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="headgate-mutants-") as folder:
        for mutation in MUTATIONS:
            if wanted and not any(word in mutation.name for word in wanted):
                continue
            if mutation.tests not in sound:  # what fails without a mutation too catches nothing
                as_it_is = mutation._replace(new=mutation.old)
                # Twice in a row: some tests measure time, and a busy machine can spoil a measurement.
                broken = first_failure(as_it_is, Path(folder)) and first_failure(as_it_is, Path(folder))
                if broken:
                    sys.exit(f"{mutation.tests} fail as they are: {broken}")
                sound.add(mutation.tests)
            caught_by = first_failure(mutation, Path(folder))
            print(f"{'caught' if caught_by else 'SURVIVED':<9} {mutation.name}\n{'':9} {caught_by}", flush=True)
            if not caught_by:
                survivors.append(mutation.name)
    if survivors:
        sys.exit(f"{len(survivors)} survived: {'; '.join(survivors)}")


def first_failure(mutation: Mutation, folder: Path) -> str:
    """The test that fails without the protection; '' when none does."""
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in ("headgate", "lua", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    target = copy / mutation.file
    source = target.read_text()
    if source.count(mutation.old) != 1:
        sys.exit(f"{mutation.name}: {mutation.file} does not have, just once: {mutation.old}")
    target.write_text(source.replace(mutation.old, mutation.new))
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *mutation.tests.split(), "-q", "-x", "-n", "0", "-k", "not redis"),
            *("-p", "no:cacheprovider", "--timeout", "60"),
        ],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode not in (0, 1):
        sys.exit(f"{mutation.name}: the tests did not run\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    return failed[1] if failed else ""


if __name__ == "__main__":
    main()
