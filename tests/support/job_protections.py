"""What protects a promise about jobs: the gate, quarantine, the reclaimer, keys and ids."""

from __future__ import annotations

from tests.support.protections import Mutation

GATE = "tests/jobs/test_gate.py"
BACKPRESSURE = "tests/jobs/test_backpressure.py"

JOBS = (
    Mutation(
        "gate: a paused queue lets nothing through",
        "lua/admit.lua",
        "if gate.paused or capacity < 1 then return end",
        "if capacity < 1 then return end",
        GATE,
    ),
    Mutation(
        "gate: at most max_concurrent at once",
        "lua/lib/gate.lua",
        "(tonumber(values[2] or '') or math.huge) - running",
        "math.huge - running",
        GATE,
    ),
    Mutation(
        "gate: no faster than the bucket fills",
        "lua/admit.lua",
        "spend_tokens(gate, taken)",
        "",
        GATE,
    ),
    Mutation(
        "gate: barred content is set aside",
        "lua/admit.lua",
        "elseif barred(job.fingerprint) then",
        "elseif false then",
        "tests/jobs/test_quarantine.py tests/jobs/test_moves.py",
    ),
    Mutation(
        "gate: what is past its deadline is not run",
        "lua/admit.lua",
        "elseif past_deadline(job, now) then",
        "elseif false then",
        "tests/jobs/test_moves.py",
    ),
    Mutation(
        "backpressure: a full queue takes no tick",
        "lua/lib/enqueue_tick.lua",
        "return 'failed', 'backpressure'",
        "",
        BACKPRESSURE,
    ),
    Mutation(
        "backpressure: a batch has room as a whole or not at all",
        "lua/lib/new_jobs.lua",
        "entrance.room = entrance.room - 1",
        "",
        BACKPRESSURE,
    ),
    Mutation(
        "reclaimer: only the holder of its lease",
        "lua/reclaim.lua",
        "if not holds_duty('reclaimer') then return {now_text, 'lost'} end",
        "",
        "tests/jobs tests/lua/test_attempts.py",
    ),
    Mutation(
        "reclaimer: a store that was away is not taken for crashed workers",
        "lua/lib/crashes.lua",
        "then from = now + longest end",
        "then from = now end",
        "tests/jobs tests/lua/test_attempts.py",
    ),
    Mutation(
        "quarantine: crashes at the limit bar the content",
        "lua/lib/crashes.lua",
        "job.crashes + 1 >= crash_limit and",
        "false and",
        "tests/jobs/test_quarantine.py",
    ),
    Mutation(
        "quarantine: a release whose caller died is gone on with",
        "lua/reclaim.lua",
        "  release_some()\n",
        "",
        "tests/jobs/test_release.py",
    ),
    Mutation(
        "reclaimer: it does not stay for ever at what cannot be moved",
        "lua/reclaim.lua",
        "if budget < 1 and moved + removed + #crashed > done then break end",
        "if budget < 1 then break end",
        "tests/jobs/test_reclaim.py",
    ),
    Mutation(
        "records: a number that is none of ours does not fail a call",
        "lua/lib/moves.lua",
        "return number and math.abs(number) < 2 ^ 53 and number or nil",
        "return number",
        "tests/lua/test_attempts.py",
    ),
    Mutation(
        "retention: never more than max_finished",
        "lua/lib/retention.lua",
        "for _, state in ipairs(FINAL_STATES) do excess = trim(queue, state, excess) end",
        "",
        "tests/jobs/test_retention.py",
    ),
    Mutation(
        "unique: the key is free when its job is over",
        "lua/lib/ending.lua",
        "free_unique(job.unique_key, job.id)",
        "",
        "tests/jobs/test_unique_and_ids.py",
    ),
    Mutation(
        "unique: two of one batch do not both get the key",
        "lua/lib/new_jobs.lua",
        "promised[unique_key] = job.id",
        "",
        "tests/jobs/test_unique_and_ids.py",
    ),
    Mutation(
        "unique: a window that is over is not held again",
        "lua/job_control.lua",
        " and not redis.call('HGET', key_job(id), 'unique_ms')",
        "",
        "tests/jobs/test_unique_and_ids.py",
    ),
    Mutation(
        "ids: other content under one id is a conflict",
        "lua/lib/new_jobs.lua",
        "and 'replayed' or 'id_conflict'",
        "and 'replayed' or 'replayed'",
        "tests/jobs/test_unique_and_ids.py",
    ),
    Mutation(
        "report: a claim that is another's by now is refused",
        "lua/finish.lua",
        "or job.claim ~= ARGV[at + 2] then return 'lost' end",
        "then return 'lost' end",
        "tests/lua/test_attempts.py",
    ),
    Mutation(
        "claims: a number is given once in a namespace",
        "lua/admit.lua",
        "redis.call('HINCRBY', key_meta(), 'claims', capacity) - capacity",
        "0",
        "tests/jobs/test_unique_and_ids.py",
    ),
    Mutation(
        "connections: whoever waits comes before who asks later",
        "headgate/store/scripts.py",
        "await self._wait_for_turn()",
        "await anyio.lowlevel.checkpoint(); self._turns = anyio.Semaphore(99)",
        "tests/unit/test_scripts.py",
    ),
)
