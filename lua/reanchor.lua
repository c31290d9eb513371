#!lua
-- reanchor: a schedule that looked due has no due tick (the zone rules changed); it goes on from here, without an event.
--
-- KEYS     1 namespace root; touches duty, due and the schedule's record
-- ARGV     1 lease token, 2 id, 3 revision and 4 next_run_ms as read, 5 anchor_ms, 6 next_run_ms ('' = no further tick)
-- Returns  'lost', 'moved' (changed since it was read) or 'ok'
-- Fails    a foreign type: nothing done
-- Repeat:  harmless
-- include: typed

if redis.call('GET', key_duty('scheduler')) ~= ARGV[1] then return 'lost' end
local found = redis.call('HMGET', key_schedule(ARGV[2]), 'revision', 'next_run_ms')
if found[1] ~= ARGV[3] or found[2] ~= ARGV[4] or not typed(key_due(), 'zset') then return 'moved' end
redis.call('HSET', key_schedule(ARGV[2]), 'anchor_ms', ARGV[5], 'next_run_ms', ARGV[6])
redis.call('ZADD', key_due(), ARGV[6] == '' and '+inf' or ARGV[6], ARGV[2])
return 'ok'
