#!lua flags=allow-oom
-- delete: remove a schedule. Its history stays for a while, and a schedule created under the same id continues it.
--
-- KEYS     1 namespace root; touches schedules, due, paused, failing, the schedule's record, events, gaps, manual runs
-- ARGV     1 id, 2 life of the history in ms (0 = for ever), 3 who deletes it, as JSON without its first brace, 4 revision that
--          the caller expects, or ''
-- Returns  1 removed, 0 no such schedule, -1 an index has a foreign type, -2 it has another revision (nothing done)
-- Fails    a full store takes it: it frees memory. Indexes have their types checked first; record and gaps are removed
--          whatever they are, or nobody could get rid of a damaged one; a history that cannot be written stays as it is.
-- Repeat:  not harmless (the second answer is 0)
-- include: clock
-- include: digits
-- include: typed
-- include: unwritten
-- include: changes
-- include: hints

local id, record = ARGV[1], key_schedule(ARGV[1])
local INDEXES = {key_schedules(), key_due(), key_paused(), key_resumes(), key_failing()}
for _, key in ipairs(INDEXES) do
  if not typed(key, 'zset') then return -1 end
end
local found = typed(record, 'hash')
  and redis.call('HMGET', record, 'revision', unpack(UNWRITTEN_FIELDS)) or {}
if ARGV[4] ~= '' and found[1] ~= ARGV[4] then return found[1] and -2 or 0 end
write_unwritten(id, {unpack(found, 2)})
if found[1] and typed(key_changes(id), 'list') then push_change(id, found[1], ARGV[3]) end
if ARGV[2] ~= '0' then
  redis.call('PEXPIRE', key_events(id), ARGV[2])
  redis.call('PEXPIRE', key_manual(id), ARGV[2])
  redis.call('PEXPIRE', key_changes(id), ARGV[2])
end
for _, key in ipairs(INDEXES) do redis.call('ZREM', key, id) end
redis.call('DEL', key_gaps(id))
local removed = redis.call('DEL', record)
if removed == 1 then hint_schedule(id, nil) end
publish_hints()
return removed
