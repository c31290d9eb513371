#!lua flags=allow-oom
-- finish: what became of an attempt.
--
-- KEYS     1 namespace root; touches the job, and its queue's running, retryable and available sets
-- ARGV     1 queue, 2 job id, 3 claim number; 4 'completed', 'failed', 'undecodable', 'cancelled' or 'returned' (to be
--          run by others, without an attempt counted); 5 name of the error or ''; 6 wait before it may run again, in ms
--          (0 = none); 7 life of a record that did not complete, in ms
-- Returns  the job's new state, or 'lost': the claim is not this worker's any more, nothing was done
-- Fails    types are checked before the first write; a number that the record has lost is taken as the smallest
-- Repeat:  not harmless (the second answer is 'lost')
-- include: clock
-- include: digits
-- include: typed
-- include: jobs
-- include: claimed

local queue, id, verdict = ARGV[1], ARGV[2], ARGV[4]
local record = key_job(id)
if not claimed(id, ARGV[3]) then return 'lost' end
if not (typed(key_running(queue), 'zset') and typed(key_retryable(queue), 'zset') and typed(key_available(queue), 'zset')) then
  return redis.error_reply('foreign type in place of a queue')
end

local function enter(state, ...)
  redis.call('HSET', record, 'state', state, 'last_error', ARGV[5], ...)
  redis.call('ZREM', key_running(queue), id)
  return state
end

-- A finished job leaves its queue's sets; its record stays for as long as it says.
local function finish_as(state, life)
  enter(state, 'finished_at_ms', now_text)
  redis.call('PEXPIRE', record, life)
  return state
end

local job = redis.call('HMGET', record, 'priority', 'available_at_ms', 'retention_ms', 'max_attempts')
local function number(at) return tonumber(job[at] or '') or 0 end

local function wait()
  local instant = digits(now + ARGV[6])
  redis.call('ZADD', key_retryable(queue), instant, id)
  return enter('retryable', 'available_at_ms', instant)
end

if verdict == 'returned' then
  if ARGV[6] ~= '0' then return wait() end
  redis.call('ZADD', key_available(queue), digits(number(2) - number(1) * PRIORITY_STEP_MS), id)
  redis.call('PUBLISH', key_ready(), queue)
  return enter('available')
elseif verdict == 'completed' then
  return finish_as(verdict, digits(number(3)))
elseif verdict ~= 'failed' then
  return finish_as(verdict, ARGV[7])
end
local attempt = redis.call('HINCRBY', record, 'attempt', 1)
if attempt >= number(4) then return finish_as('archived', ARGV[7]) end
return wait()
