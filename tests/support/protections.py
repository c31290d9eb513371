"""What protects a promise: each entry says how to take it out, and which tests must then fail."""

from __future__ import annotations

from typing import NamedTuple


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

SCHEDULING = (
    Mutation(
        "fence: a lost lease stops every write",
        "lua/lib/holds_duty.lua",
        "redis.call('GET', key_duty(name)) == ARGV[1]",
        "true",
        "tests/fault/test_two_leaders.py",
    ),
    Mutation(
        "fence of fire alone",
        "lua/fire.lua",
        "if not holds_duty('scheduler') then return {now_text, 'lost'} end",
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
        "if not (content and valid_priority(content)) then return",
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
        "add_gap(schedule.id, from, upto, 'discarded', before, spec)",
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
        "if not entrance.usable then return 'failed', 'store_error' end",
        "",
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
        "if barred(content.fingerprint) then",
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
        "lua/enqueue.lua",
        "if answer_key then keep_answer(answer_key, ARGV[2], answer) end",
        "",
        "tests/lua/test_jobs.py",
    ),
    Mutation(
        "claim: a lease goes on for its holder alone",
        "lua/renew_jobs.lua",
        "and job[2] == ARGV[at + 2] then",
        "then",
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
