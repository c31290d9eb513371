#!lua flags=allow-oom
-- heartbeat: one call a process: renew or try for its duties, be seen, learn what is due next.
--
-- KEYS     1 namespace root; touches meta, duty, epoch, process, processes, workers; reads due, resumes, paused, schedules
-- ARGV     1 process id, 2 life of a lease in ms, 3 life of the process record in ms, 4 number of duties; then for each
--          its name, a lease token, the process's token before that, or ''; then fields and values of the process record
-- Returns  {now, due next ('' = nothing), index, {state, epoch, lease left in ms (-1 = a lease without an end, made by
--          others)}, …}; index is 'whole', or 'short' when fewer schedules stand in the due and paused indexes than
--          exist; a duty's state is 'held', 'granted', 'taken', or 'unusable'. A process that tells its queues is a worker.
-- Fails    a foreign type in place of a lease, or what is no number in place of its epoch: that duty is unusable and not
--          granted; the others are. In place of due or paused: the index counts as short; of due, nothing is due next; of
--          resumes, nothing that resumes by itself is. In place of the process record, processes or workers: the process
--          is not seen there.
-- Repeat:  harmless: a token that holds a lease already is told so. Renewing is PEXPIRE alone, which a full store takes.
-- include: clock
-- include: earliest

local process, life, duties = ARGV[1], ARGV[2], tonumber(ARGV[4])

local function contend(name, token, before)
  local holder, state = redis.pcall('GET', key_duty(name)), 'taken'
  -- A late heartbeat may have got the lease for the token that its process gave up meanwhile: the process still has it.
  local own_before = holder and before ~= '' and holder == before
  if type(holder) == 'table' then
    state = 'unusable'
  elseif holder == token then
    redis.call('PEXPIRE', key_duty(name), life)
    state = 'held'
  elseif not holder or own_before then
    -- The epoch first: should it refuse, nothing is granted.
    state = type(redis.pcall('INCR', key_epoch(name))) == 'number' and 'granted' or 'unusable'
    if state == 'granted' then redis.call('SET', key_duty(name), token, 'PX', life) end
  end
  local epoch = redis.pcall('GET', key_epoch(name))
  epoch = type(epoch) == 'string' and string.match(epoch, '^%d+$') or '0'
  return {state, epoch, redis.call('PTTL', key_duty(name))}
end

local function count(key)
  local number = redis.pcall('ZCARD', key)
  return type(number) == 'number' and number or 0
end
local found, due_next = pcall(earliest_due, '-inf')
local indexed = count(key_due()) + count(key_paused())
local answer = {now_text, found and due_next or '', indexed < count(key_schedules()) and 'short' or 'whole'}
for at = 5, 2 + 3 * duties, 3 do
  answer[#answer + 1] = contend(ARGV[at], ARGV[at + 1], ARGV[at + 2])
end

-- A silence of every process for longer than a lease may have been the store's own: workers could not be heard, and their leases
-- get that much longer. But not again within a minute: a process that dies at each start must not be taken for a store that
-- was away.
local function heed_silence()
  local seen = redis.pcall('HMGET', key_meta(), 'beaten_at_ms', 'leases_judged_from_ms')
  local before, judged_from = tonumber(seen[1] or ''), tonumber(seen[2] or '') or 0
  if not (judged_from <= now + tonumber(life)) then judged_from = 0 end  -- of a clock that has gone back since
  if before and now - before > tonumber(life) and now - judged_from > GRACE_EVERY_MS then
    redis.pcall('HSET', key_meta(), 'leases_judged_from_ms', string.format('%.0f', now + tonumber(life)))
  end
  redis.pcall('HSET', key_meta(), 'beaten_at_ms', now_text)
end

-- Being seen must never cost a lease, whatever stands in place of these keys.
heed_silence()
redis.pcall('HSET', key_process(process), 'seen_at_ms', now_text, unpack(ARGV, 5 + 3 * duties))
redis.pcall('PEXPIRE', key_process(process), ARGV[3])
local until_text = string.format('%.0f', now + tonumber(ARGV[3]))
redis.pcall('ZADD', key_processes(), until_text, process)
for at = 5 + 3 * duties, #ARGV, 2 do
  if ARGV[at] == 'queues' then redis.pcall('ZADD', key_workers(), until_text, process) end
end
return answer
