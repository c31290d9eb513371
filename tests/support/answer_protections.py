"""What protects an answer that is kept under an idempotency key while it grows, and lists that change between pages."""

from __future__ import annotations

from tests.support.protections import Mutation

KEYS = "tests/control/test_backfill_keys.py"
PAGES = "tests/control/test_gap_pages.py"
ANSWERS = "headgate/store/backfill_answers.py"

ANSWER = (
    Mutation(
        "backfill key: each call keeps what it made, in the same script",
        "lua/backfill.lua",
        "if answer_key and done[1] then keep_answer(answer_key, ARGV[10], ARGV[11] .. table.concat(done, ',')) end",
        "",
        KEYS,
    ),
    Mutation(
        "backfill key: and what was made before it",
        "lua/backfill.lua",
        "if ARGV[12] ~= '' then done[1] = ARGV[12] end",
        "",
        KEYS,
    ),
    Mutation(
        "backfill key: a call that was overtaken makes nothing",
        "lua/backfill.lua",
        "if answer_key and not stands_kept(answer_key, ARGV[10], ARGV[12] ~= '' and ARGV[11] .. ARGV[12] or '') then",
        "if false then",
        KEYS,
    ),
    Mutation(
        "backfill key: a call under a key that was taken meanwhile makes nothing",
        "lua/lib/idempotency.lua",
        "return said ~= 'reused' and (kept or '') == answer",
        "return (kept or '') == answer",
        KEYS,
    ),
    Mutation(
        "backfill key: one that was overtaken does not make its answer whole",
        "lua/backfill_answer.lua",
        "if not ARGV[5] or not stands_kept(key, ARGV[3], ARGV[4]) then return {'found', kept or ''} end",
        "if not ARGV[5] then return {'found', kept or ''} end",
        KEYS,
    ),
    Mutation(
        "backfill key: another body is refused",
        ANSWERS,
        'if word == "reused":',
        "if False:",
        KEYS,
    ),
    Mutation(
        "backfill key: the whole body counts",
        "headgate/store/backfills.py",
        "json.dumps([schedule_id, after_ms, until_ms, bool(force)])",
        "json.dumps([schedule_id, after_ms, until_ms])",
        KEYS,
    ),
    Mutation(
        "backfill key: the answer is made whole",
        "headgate/store/backfills.py",
        "        await kept.finish(progress, answer)\n",
        "",
        KEYS,
    ),
    Mutation(
        "backfill key: a repeat begins after the last tick that was had",
        "headgate/store/backfills.py",
        "start_ms = found.ticks[-1] if found else request.after_ms",
        "start_ms = request.after_ms",
        KEYS,
    ),
    Mutation(
        "backfill key: all calls of a request share its thousand ticks",
        "headgate/store/backfills.py",
        "room = MAX_RANGE - len(found.ticks) if found else MAX_RANGE",
        "room = MAX_RANGE",
        KEYS,
    ),
    Mutation(
        "backfill key: what ran already is counted before the first call",
        "headgate/store/backfills.py",
        "progress = found or Progress(wanted.already_ran, wanted.unknown, [])",
        "progress = Progress(wanted.already_ran, wanted.unknown, found.ticks if found else [])",
        KEYS,
    ),
    Mutation(
        "backfill key: a dry run keeps nothing",
        "headgate/store/backfills.py",
        'schedule_id, "" if dry_run else key, asked)',
        "schedule_id, key, asked)",
        KEYS,
    ),
    Mutation(
        "gaps: what is left of one that was met is not met again",
        "headgate/store/gaps.py",
        "write_cursor(scope, str(page[-1].until_ms))",
        "write_cursor(scope, str(page[-1].from_ms))",
        PAGES,
    ),
    Mutation(
        "gaps: a cursor is a number that this list gave out",
        "headgate/store/paging.py",
        "if not is_whole(position):",
        "if not position.isdecimal():",
        PAGES,
    ),
    Mutation(
        "limits: of a queue are of their type",
        "headgate/store/queues.py",
        "if not isinstance(limits, QueueLimits):",
        "if False:",
        "tests/jobs/test_limits.py",
    ),
)
