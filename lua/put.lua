#!lua
-- put: create a schedule, or replace its definition if it still is as the caller read it.
--
-- KEYS     1 namespace root; touches meta, schedules, due, paused, failing, the schedule's record, events and gaps, wake;
--          reads the job of its last tick
-- ARGV     1 id; 2 revision as read ('' = there was no record); 3 "next_run_ms,last_tick_ms" as read, or 'keep' when the
--          spec and its bounds stay: then where the schedule stands is left alone, and firing meanwhile is no conflict;
--          4 next_run_ms ('' = no further tick), 5 anchor_ms, 6 paused '1' or '0' (used at creation only);
--          7 the latest due tick that a changed spec passes, or ''; 8 "from,until" of older ones, or '';
--          9 who changes what, as JSON without its first brace; 10… fields and values of the definition
-- Returns  {'created' | 'updated', fields and values of the record}; {'moved'}: changed since it was read;
--          {'broken'}: a key has a foreign type. Both did nothing.
-- Fails    memory: at entry. Every type is checked before the first write, so no later command can fail.
-- Repeat:  harmless: a second call finds another revision, and its caller finds its own content stored
-- include: clock
-- include: digits
-- include: standing
-- include: revision
-- include: changes
-- include: events
-- include: outcomes
-- include: gaps
-- include: failure
-- include: hints

local id, record = ARGV[1], key_schedule(ARGV[1])
if not standing_usable(id) then return {'broken'} end
local found = redis.call('HMGET', record, 'revision', 'next_run_ms', 'last_tick_ms', 'paused', 'event_seq', 'outcomes', 'anchor_ms',
  'spec', 'overlap')
if (found[1] or '') ~= ARGV[2] then return {'moved'} end
local created, keep = not found[1], ARGV[3] == 'keep'
if not (created or keep) and (found[2] or '') .. ',' .. (found[3] or '') ~= ARGV[3] then return {'moved'} end

local paused = created and ARGV[6] or found[4]
local next_run, anchor = keep and found[2] or ARGV[4], keep and found[7] or ARGV[5]
if paused == '1' then next_run = '' end
local seq, letters = tonumber(found[5] or '') and found[5] or newest_event_id(id), found[6] or ''

redis.call('HSETNX', key_meta(), 'schema_version', '1')
redis.call('HSETNX', key_meta(), 'created_at_ms', now_text)
local revision = next_revision()
if created then
  redis.call('PERSIST', key_events(id))
  redis.call('PERSIST', key_manual(id))
  redis.call('PERSIST', key_changes(id))
  -- The instant that it counts from: the caller read store time a moment ago, and a tick may have passed since.
  redis.call('HSET', record, 'id', id, 'created_at_ms', anchor, 'paused', paused, 'last_tick_ms', '')
  if paused == '1' then redis.call('HSET', record, 'paused_at_ms', anchor) end
end
if ARGV[7] ~= '' then
  local from, upto = string.match(ARGV[8], '^(%d+),(%d+)$')
  -- What a paused schedule passes was due to the pause; a resume knows only the new spec, and could not record it.
  local reason = paused == '1' and 'paused' or 'spec_changed'
  seq, letters = digits(seq + 1), with_outcome(letters, 'skipped')
  add_gap(id, from or ARGV[7], ARGV[7], reason, found[7], found[8])
  push_event({
    seq = seq, id = id, tick = ARGV[7], outcome = 'skipped', reason = reason, attempts = '1', from = from, upto = upto,
  })
  redis.call('HSET', record, 'last_tick_ms', ARGV[7], 'last_lateness_ms', digits(now - ARGV[7]))
end
redis.call('HSET', record, 'revision', revision, 'updated_at_ms', now_text, 'next_run_ms', next_run,
  'anchor_ms', anchor, 'event_seq', seq, 'outcomes', letters, unpack(ARGV, 10))
if not keep then
  redis.call('HDEL', record, 'catch_up_ms')
  redis.call('HSET', record, 'spec_since_ms', anchor)
end
-- A rule against overlaps holds from the run on that is under way, whose job nobody noted while there was no rule.
local run = TICK_JOB_PREFIX .. id .. '-' .. (found[3] or '')
if found[9] ~= 'skip' and redis.call('HGET', record, 'overlap') == 'skip' and redis.call('EXISTS', key_job(run)) == 1 then
  redis.call('HSET', record, 'last_job_id', run)
end
push_change(id, revision, ARGV[9])
clear_failure(id)
redis.call('ZADD', key_schedules(), 0, id)
if paused == '1' then
  redis.call('ZADD', key_paused(), 'NX', now_text, id)
else
  stand_in_due(id, next_run)
  redis.call('PUBLISH', key_wake(), 'schedule')
end
hint_schedule(id, revision)
publish_hints()
return {created and 'created' or 'updated', redis.call('HGETALL', record)}
