"""What protects a promise about control: pauses, resumes, backfills, revisions, and rules of a schedule's jobs."""

from __future__ import annotations

from tests.support.protections import Mutation

PAUSE = "tests/control/test_pause.py"
RESUME = "tests/control/test_resume.py"
BACKFILL = "tests/control/test_backfill.py"
RACES = "tests/control/test_backfill_races.py"
RULES = "tests/control/test_rules.py"
LOG = "tests/control/test_log.py"

CONTROL = (
    Mutation(
        "pause: a resume by itself is fenced",
        "lua/resume.lua",
        "if ARGV[1] ~= '' and not holds_duty('scheduler') then return {'lost'} end",
        "",
        PAUSE,
    ),
    Mutation(
        "pause: its end wakes whoever sleeps",
        "lua/lib/earliest.lua",
        "if resume and (not score or resume < score) then score = resume end",
        "",
        PAUSE,
    ),
    Mutation(
        "pause: an entry that its record contradicts resumes nobody",
        "lua/due.lua",
        "if record.err or record[1] ~= '1' or (tonumber(record[2] or '') or math.huge) > now then",
        "if false then",
        PAUSE,
    ),
    Mutation(
        "pause: what came due after its end was missed, not paused",
        "headgate/store/control.py",
        "now_ms = min(now_ms, schedule.pause.until_ms)",
        "pass",
        PAUSE,
    ),
    Mutation(
        "pause: a lost entry of what resumes is put back",
        "lua/reindex.lua",
        "redis.call('ZADD', key_resumes(), 'NX', record[5], id)",
        "0",
        PAUSE,
    ),
    Mutation(
        "resume: what stays unrun is a gap",
        "lua/resume.lua",
        "add_gap(id, from or tick, tick, 'paused', found[5], found[6] or '')",
        "",
        RESUME,
    ),
    Mutation(
        "resume: it is as it was read",
        "lua/resume.lua",
        "if found[1] ~= ARGV[3] or found[2] ~= '1' then return {'moved'} end",
        "",
        "tests/control/test_control_races.py",
    ),
    Mutation(
        "resume: a catch-up goes on to its last tick",
        "lua/resume.lua",
        "'outcomes', letters, 'catch_up_ms', ARGV[8])",
        "'outcomes', letters, 'catch_up_ms', '')",
        RESUME,
    ),
    Mutation(
        "resume: a spec changed during a pause records what it passes",
        "headgate/store/schedules.py",
        'first_ms, latest_ms = old.next_after(int(record["anchor_ms"])), old.latest_at_or_before(now_ms)',
        "first_ms, latest_ms = old.next_after(now_ms), old.latest_at_or_before(now_ms)",
        f"{RESUME} tests/lua/test_fire.py",
    ),
    Mutation(
        "backfill: the gap is as it was read",
        "lua/backfill.lua",
        "if gap ~= '' and not redis.call('ZSCORE', key_gaps(id), gap) then return {'moved'} end",
        "",
        RACES,
    ),
    Mutation(
        "backfill: the gap shrinks with its ticks",
        "lua/backfill.lua",
        "redis.call('ZREM', key_gaps(id), gap)",
        "",
        BACKFILL,
    ),
    Mutation(
        "backfill: what stays before its ticks stays a gap",
        "lua/backfill.lua",
        "if from then redis.call('ZADD', key_gaps(id), upto, gap_text(from, upto, ARGV[5], ARGV[6])) end",
        "",
        BACKFILL,
    ),
    Mutation(
        "backfill: a tick that did not get through stays in its gap",
        "lua/backfill.lua",
        "    left = tick\n    break",
        "    left = ARGV[at + 1]\n    break",
        BACKFILL,
    ),
    Mutation(
        "backfill: what is forgotten is not taken for what ran",
        "lua/lib/gaps.lua",
        "redis.call('HSET', key_schedule(id), 'forgotten_ms', digits(tonumber(last)))",
        "",
        BACKFILL,
    ),
    Mutation(
        "backfill: splitting makes no more gaps than are kept",
        "lua/backfill.lua",
        "  trim_gaps(id)\n",
        "",
        BACKFILL,
    ),
    Mutation(
        "revision: a stale pause is refused",
        "lua/pause.lua",
        "if ARGV[2] ~= '' and found[1] ~= ARGV[2] then return {'revision'} end",
        "",
        f"{PAUSE} {LOG}",
    ),
    Mutation(
        "revision: a stale delete is refused",
        "lua/delete.lua",
        "if ARGV[4] ~= '' and found[5] ~= ARGV[4] then return found[5] and -2 or 0 end",
        "",
        LOG,
    ),
    Mutation(
        "log: of payload and headers only that they changed",
        "headgate/store/changes.py",
        '[] if name in {"payload", "headers"} else list(pair)',
        "list(pair)",
        LOG,
    ),
    Mutation(
        "rules: no tick while the run before it is not over",
        "lua/lib/enqueue_tick.lua",
        "  if schedule.rules then schedule.rules.last_job = job_id end\n  return 'enqueued', 'accepted', job_id",
        "  return 'enqueued', 'accepted', job_id",
        RULES,
    ),
    Mutation(
        "rules: a replayed tick counts as the run before",
        "lua/lib/enqueue_tick.lua",
        "if before == 'replayed' and schedule.rules then schedule.rules.last_job = job_id end",
        "",
        RULES,
    ),
    Mutation(
        "rules: a tick that is queued does not stand in its own way",
        "lua/lib/enqueue_tick.lua",
        "if redis.call('EXISTS', key_tick(schedule.id, tick), key_job(job_id)) > 0 then return nil end",
        "",
        f"{RULES} tests/control/test_control_races.py",
    ),
    Mutation(
        "rules: jitter never reaches the next tick",
        "lua/lib/rules.lua",
        "most = math.max(0, math.min(most, following - tick - 1))",
        "most = most + 0",
        "tests/control/test_bounds.py",
    ),
    Mutation(
        "rules: what is too late makes no job",
        "lua/lib/enqueue_tick.lua",
        "if too_late(rules, tick) then return 'skipped', 'too_late' end",
        "",
        RULES,
    ),
)
