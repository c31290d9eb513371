#!lua flags=allow-oom
-- heartbeat: one call a process: renew or try for a duty, be seen, learn what is due next.
--
-- KEYS     1 namespace root; touches duty, epoch, process, due, paused, schedules
-- ARGV     1 duty, 2 lease token, 3 life of the lease in ms, 4 process id, 5 life of the process record in ms,
--          6… fields and values of the process record
-- Returns  {now, 'held' | 'granted' | 'taken', epoch, lease left in ms, due next ('' = nothing), index}; index is
--          'whole', or 'short' when fewer schedules stand in the due and paused indexes than exist
-- Fails    a foreign type in place of the lease: nothing done. In place of an index: it counts as short.
-- Repeat:  harmless: a token that holds the lease already is told so. Renewing is PEXPIRE alone, which a full store takes.
-- include: clock

local duty, token, life = key_duty(ARGV[1]), ARGV[2], ARGV[3]
local holder, state = redis.call('GET', duty), 'taken'
if holder == token then
  redis.call('PEXPIRE', duty, life)
  state = 'held'
elseif not holder and tonumber(redis.call('GET', key_epoch(ARGV[1])) or 0) then
  redis.call('SET', duty, token, 'NX', 'PX', life)
  redis.call('INCR', key_epoch(ARGV[1]))
  state = 'granted'
end

redis.call('HSET', key_process(ARGV[4]), 'seen_at_ms', now_text, unpack(ARGV, 6))
redis.call('PEXPIRE', key_process(ARGV[4]), ARGV[5])

local function count(key)
  local number = redis.pcall('ZCARD', key)
  return type(number) == 'number' and number or 0
end
local indexed = count(key_due()) + count(key_paused())
local upcoming = redis.pcall('ZRANGE', key_due(), 0, 0, 'WITHSCORES')[2]
return {
  now_text, state, redis.call('GET', key_epoch(ARGV[1])) or '0', redis.call('PTTL', duty),
  upcoming and upcoming ~= 'inf' and upcoming or '', indexed < count(key_schedules()) and 'short' or 'whole',
}
