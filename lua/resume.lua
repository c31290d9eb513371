#!lua
-- resume: a paused schedule goes on; what stays unrun of the pause is one event and one gap.
--
-- KEYS     1 namespace root; touches duty, meta, due, paused, resumes, the schedule's record, events, gaps and changes, wake
-- ARGV     1 lease token of the scheduler, or '' for somebody who asks; 2 id, 3 revision as read, 4 the latest tick of the
--          pause that stays unrun, or ''; 5 "from,until" of older ones, or ''; 6 anchor_ms, 7 next_run_ms ('' = no further
--          tick), 8 the tick up to which every tick is to fire, or ''; 9 who changes what, as JSON without its first brace
-- Returns  {'ok'}; {'missing'}; {'moved'}: it is not as read, or not paused; {'broken'}: a key has a foreign type; {'lost'}:
--          the lease is not this token's; all but 'ok' did nothing
-- Fails    memory: at entry. Every type is checked before the first write, so no later command can fail.
-- Repeat:  harmless: the second call says 'moved'
-- include: holds_duty
-- include: clock
-- include: digits
-- include: standing
-- include: revision
-- include: changes
-- include: events
-- include: outcomes
-- include: gaps
-- include: hints

if ARGV[1] ~= '' and not holds_duty('scheduler') then return {'lost'} end
local id, record, tick = ARGV[2], key_schedule(ARGV[2]), ARGV[4]
if not standing_usable(id) then return {'broken'} end
local found = redis.call('HMGET', record, 'revision', 'paused', 'event_seq', 'outcomes', 'anchor_ms', 'spec',
  'paused_until_ms')
if not found[1] then return {'missing'} end
if found[1] ~= ARGV[3] or found[2] ~= '1' then return {'moved'} end
-- The scheduler resumes what was to end by now; a pause that somebody has prolonged since is theirs.
if ARGV[1] ~= '' and not (tonumber(found[7] or '') and tonumber(found[7]) <= now) then return {'moved'} end

local seq, letters = tonumber(found[3] or '') and found[3] or newest_event_id(id), found[4] or ''
if tick ~= '' then
  local from, upto = string.match(ARGV[5], '^(%d+),(%d+)$')
  seq, letters = digits(seq + 1), with_outcome(letters, 'skipped')
  add_gap(id, from or tick, tick, 'paused', found[5], found[6] or '')
  push_event({
    seq = seq, id = id, tick = tick, outcome = 'skipped', reason = 'paused', attempts = '1', from = from, upto = upto,
  })
  redis.call('HSET', record, 'last_tick_ms', tick, 'last_lateness_ms', digits(now - tick))
end
local revision = next_revision()
redis.call('HSET', record, 'revision', revision, 'paused', '0', 'anchor_ms', ARGV[6], 'next_run_ms', ARGV[7],
  'event_seq', seq, 'outcomes', letters, 'catch_up_ms', ARGV[8])
redis.call('HDEL', record, 'pause_reason', 'paused_by', 'paused_at_ms', 'paused_until_ms')
redis.call('ZREM', key_paused(), id)
redis.call('ZREM', key_resumes(), id)
stand_in_due(id, ARGV[7])
push_change(id, revision, ARGV[9])
redis.call('PUBLISH', key_wake(), 'schedule')
hint_schedule(id, revision)
publish_hints()
return {'ok'}
