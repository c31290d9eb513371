#!lua
-- pause: a schedule fires no more until it is resumed, by somebody or by itself.
--
-- KEYS     1 namespace root; touches meta, due, paused, resumes, failing, the schedule's record, events and changes
-- ARGV     1 id, 2 revision that the caller expects ('' = any), 3 reason, 4 who, 5 until_ms ('' = until somebody resumes it),
--          6 who changes what, as JSON without its first brace
-- Returns  {'ok'}; {'missing'}; {'revision'}: it has another one; {'past'}: until_ms has passed; {'broken'}: a key has a
--          foreign type; all but 'ok' did nothing. One that is paused already gets the new reason, name and end; where they are
--          what it has, nothing is written and nobody's revision is stale.
-- Fails    memory: at entry. Every type is checked before the first write, so no later command can fail.
-- Repeat:  harmless: the second call finds it paused just so
-- include: clock
-- include: standing
-- include: revision
-- include: changes
-- include: failure
-- include: unwritten
-- include: hints

local id, record, until_ms = ARGV[1], key_schedule(ARGV[1]), ARGV[5]
if not standing_usable(id) then return {'broken'} end
local found = redis.call('HMGET', record, 'revision', 'paused', unpack(UNWRITTEN_FIELDS))
if not found[1] then return {'missing'} end
local said = redis.call('HMGET', record, 'pause_reason', 'paused_by', 'paused_until_ms')
if found[2] == '1' and said[1] == ARGV[3] and said[2] == ARGV[4] and said[3] == until_ms then return {'ok'} end
if ARGV[2] ~= '' and found[1] ~= ARGV[2] then return {'revision'} end
if until_ms ~= '' and tonumber(until_ms) <= now then return {'past'} end
local revision = next_revision()
-- No sweep comes for it while it is paused, and no resume could tell where to go on.
local event_id = found[2] ~= '1' and write_unwritten(id, {unpack(found, 3)})
if event_id then redis.call('HSET', record, 'event_seq', event_id, 'anchor_ms', found[3]) end
if found[2] ~= '1' then redis.call('HSET', record, 'paused', '1', 'paused_at_ms', now_text, 'next_run_ms', '') end
redis.call('HSET', record, 'revision', revision, 'pause_reason', ARGV[3], 'paused_by', ARGV[4], 'paused_until_ms', until_ms)
clear_failure(id)
redis.call('ZREM', key_due(), id)
redis.call('ZADD', key_paused(), 'NX', now_text, id)
if until_ms == '' then redis.call('ZREM', key_resumes(), id) else redis.call('ZADD', key_resumes(), until_ms, id) end
push_change(id, revision, ARGV[6])
redis.call('PUBLISH', key_wake(), 'schedule')
hint_schedule(id, revision)
publish_hints()
return {'ok'}
