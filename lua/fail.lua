#!lua
-- fail: record that a due tick could not be carried out for a reason the scheduler found; it stays due.
--
-- KEYS     1 namespace root; touches duty, due, failing, the schedule's record and events
-- ARGV     1 lease token, 2 id, 3 "revision,next_run_ms,last_tick_ms" as read, 4 tick, 5 reason
-- Returns  'lost', 'moved' (changed since it was read) or 'ok'
-- Fails    a foreign type in place of record or index: nothing done; in place of the events: the record alone says so
-- Repeat:  not harmless (the attempt would be counted twice)
-- include: holds_duty
-- include: typed
-- include: as_read
-- include: failure
-- include: hints

if not holds_duty('scheduler') then return 'lost' end
local id = ARGV[2]
local found = redis.call('HMGET', key_schedule(id), 'revision', 'next_run_ms', 'last_tick_ms', unpack(FAILURE_FIELDS))
if not as_read(found, ARGV[3]) then return 'moved' end
if not (typed(key_due(), 'zset') and typed(key_failing(), 'zset')) then return 'moved' end
redis.call('ZADD', key_due(), record_failure(id, failure_from(found, 4), ARGV[4], ARGV[5], false), id)
hint_schedule(id, found[1])
publish_hints()
return 'ok'
