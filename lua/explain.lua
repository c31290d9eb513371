#!lua flags=no-writes
-- explain: all that is kept of one schedule and of one of its ticks, and store time.
--
-- KEYS     1 namespace root; reads the schedule's record (with what gaps were forgotten), events, gaps, runs by hand and changes, and the tick's job
-- ARGV     1 id, 2 id of the tick's job, 3 number of fields of the schedule, 4… these, then fields of the job
-- Returns  {now, values of the schedule (all empty: no such schedule), events, gaps (oldest first), runs by hand, changes, values
--          of the job (all empty or none: no such job)}; newest first where nothing else is said; each list is capped
-- Fails    nothing is written
-- Repeat:  harmless
-- include: clock

local id, last = ARGV[1], 3 + ARGV[3]
-- A key of a foreign type can be why the tick is failing, which is what is asked.
local job = redis.pcall('HMGET', key_job(ARGV[2]), unpack(ARGV, last + 1))
return {
  now_text,
  redis.call('HMGET', key_schedule(id), unpack(ARGV, 4, last)),
  redis.call('LRANGE', key_events(id), 0, -1),
  redis.call('ZRANGE', key_gaps(id), 0, -1),
  redis.call('LRANGE', key_manual(id), 0, -1),
  redis.call('LRANGE', key_changes(id), 0, -1),
  job.err and {} or job,
}
