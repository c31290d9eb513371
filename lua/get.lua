#!lua flags=no-writes
-- get: one schedule, and store time.
--
-- KEYS     1 namespace root; reads the schedule's record
-- ARGV     1 id
-- Returns  {now, fields and values} (none: no such schedule)
-- Fails    nothing is written
-- Repeat:  harmless
-- include: clock

return {now_text, redis.call('HGETALL', key_schedule(ARGV[1]))}
