#!lua flags=allow-oom
-- admit: jobs for a worker's free capacity, each with a lease and a claim number that fences what the worker says of it.
--
-- KEYS     1 namespace root; touches of each queue the available, running and retryable sets, and the jobs it moves
-- ARGV     1 process id of the worker, 2 life of a lease in ms, 3 capacity, 4 number of queues and their names, then the
--          job fields to return
-- Returns  {now, when to look again ('' = nothing to wait for), {queue, id, claim number, field values …}, …}
-- Fails    a full store takes it: what runs gets finished, and frees memory. A foreign type in place of a queue's sets: that
--          queue is passed over. In place of a job: its entry is removed.
--          Each job is moved by itself, leased before it leaves the available set, so that none is in no set.
-- Repeat:  not harmless (the jobs of a lost answer run only after their leases)
-- include: clock
-- include: digits
-- include: typed
-- include: jobs

local capacity, queues = tonumber(ARGV[3]), tonumber(ARGV[4])
local fields_at = 5 + queues
local answer, look_again = {now_text, ''}, nil

local function wait_for(instant)
  if instant and (not look_again or tonumber(instant) < look_again) then look_again = tonumber(instant) end
end

-- Jobs of `set` whose time has come are available again. `crashed`: their lease ended without a word of their worker.
local function bring_back(queue, set, crashed)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', now_text, 'LIMIT', 0, capacity)) do
    local job = redis.pcall('HMGET', key_job(id), 'priority', 'available_at_ms')
    if not job.err and redis.call('EXISTS', key_job(id)) == 1 then
      if crashed then redis.pcall('HINCRBY', key_job(id), 'crash_attempt', 1) end
      redis.call('HSET', key_job(id), 'state', 'available')
      local since, priority = tonumber(job[2] or '') or now, tonumber(job[1] or '') or 0
      redis.call('ZADD', key_available(queue), digits(since - priority * PRIORITY_STEP_MS), id)
    end
    redis.call('ZREM', set, id)
  end
  wait_for(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2])
end

local function claim(queue, id)
  local values = redis.pcall('HMGET', key_job(id), unpack(ARGV, fields_at))
  local number = redis.call('EXISTS', key_job(id)) == 1 and redis.pcall('HINCRBY', key_job(id), 'claim', 1)
  if type(number) == 'number' then
    redis.call('ZADD', key_running(queue), digits(now + ARGV[2]), id)
    redis.call('HSET', key_job(id), 'state', 'running', 'worker', ARGV[1], 'started_at_ms', now_text)
    answer[#answer + 1] = {queue, id, number, unpack(values)}
    capacity = capacity - 1
  else
    wait_for(now)  -- others may stand behind what was no job
  end
  redis.call('ZREM', key_available(queue), id)
end

for at = 5, 4 + queues do
  local queue = ARGV[at]
  if typed(key_available(queue), 'zset') and typed(key_running(queue), 'zset') and typed(key_retryable(queue), 'zset') then
    bring_back(queue, key_running(queue), true)
    bring_back(queue, key_retryable(queue), false)
    if capacity > 0 then
      for _, id in ipairs(redis.call('ZRANGE', key_available(queue), 0, capacity - 1)) do claim(queue, id) end
    end
  end
end
if look_again then answer[2] = digits(look_again) end
return answer
