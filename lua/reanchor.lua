#!lua
-- reanchor: a schedule that looked due has no due tick (the zone rules changed); it goes on from here, without an event.
--
-- KEYS     1 namespace root; touches duty, due and the schedule's record
-- ARGV     1 lease token, 2 id, 3 "revision,next_run_ms,last_tick_ms" as read, 4 anchor_ms,
--          5 next_run_ms ('' = no further tick)
-- Returns  'lost', 'moved' (changed since it was read) or 'ok'
-- Fails    a foreign type: nothing done
-- Repeat:  harmless
-- include: holds_duty
-- include: typed
-- include: as_read
-- include: hints

if not holds_duty('scheduler') then return 'lost' end
local found = redis.call('HMGET', key_schedule(ARGV[2]), 'revision', 'next_run_ms', 'last_tick_ms')
if not as_read(found, ARGV[3]) or not typed(key_due(), 'zset') then return 'moved' end
redis.call('HSET', key_schedule(ARGV[2]), 'anchor_ms', ARGV[4], 'next_run_ms', ARGV[5])
redis.call('ZADD', key_due(), ARGV[5] == '' and '+inf' or ARGV[5], ARGV[2])
hint_schedule(ARGV[2], found[1])
publish_hints()
return 'ok'
