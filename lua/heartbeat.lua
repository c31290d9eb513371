#!lua flags=allow-oom
-- heartbeat: one call a process: renew or try for a duty, be seen, learn what is due next.
--
-- KEYS     1 namespace root; touches duty, epoch, process, due, paused, schedules
-- ARGV     1 duty, 2 lease token, 3 the process's token before that, or ''; 4 life of the lease in ms, 5 process id,
--          6 life of the process record in ms, 7… fields and values of the process record
-- Returns  {now, 'held' | 'granted' | 'taken', epoch, lease left in ms (-1 = a lease without an end, made by others),
--          due next ('' = nothing), index}; index is 'whole', or 'short' when fewer schedules stand in the due and
--          paused indexes than exist
-- Fails    a foreign type in place of the lease, the epoch or the process record: nothing is granted. In place of an
--          index: it counts as short.
-- Repeat:  harmless: a token that holds the lease already is told so. Renewing is PEXPIRE alone, which a full store takes.
-- include: clock
-- include: earliest

local duty, token, life = key_duty(ARGV[1]), ARGV[2], ARGV[4]
local epoch = redis.call('GET', key_epoch(ARGV[1])) or '0'
redis.call('HSET', key_process(ARGV[5]), 'seen_at_ms', now_text, unpack(ARGV, 7))
redis.call('PEXPIRE', key_process(ARGV[5]), ARGV[6])

local holder, state = redis.call('GET', duty), 'taken'
-- A late heartbeat may have got the lease for the token that its process gave up meanwhile: the process still has it.
local own_before = holder and ARGV[3] ~= '' and holder == ARGV[3]
if holder == token then
  redis.call('PEXPIRE', duty, life)
  state = 'held'
elseif (not holder or own_before) and string.match(epoch, '^%d+$') then
  redis.call('SET', duty, token, 'PX', life)
  epoch = string.format('%.0f', redis.call('INCR', key_epoch(ARGV[1])))
  state = 'granted'
end

local function count(key)
  local number = redis.pcall('ZCARD', key)
  return type(number) == 'number' and number or 0
end
local found, due_next = pcall(earliest_due, '-inf')
local indexed = count(key_due()) + count(key_paused())
return {
  now_text, state, epoch, redis.call('PTTL', duty), found and due_next or '',
  indexed < count(key_schedules()) and 'short' or 'whole',
}
