-- crashes: leases that ended without a word of their worker.
-- include: ending
-- include: barred

local crashed = {}  -- ids, each followed by what became of the job

-- From when leases that ended count. After a silence of all processes, which may have been the store's, heartbeats put it off
-- by a lease; what lies further ahead is of a clock that has gone back since.
local function leases_judged_from(lease_ms)
  local from = redis.pcall('HGET', key_meta(), 'leases_judged_from_ms')
  from = type(from) == 'string' and tonumber(from) or 0
  return from <= now + lease_ms and from or 0
end

local function end_lease(job, crash_limit)
  local crashes = digits(job.crashes + 1)
  if job.cancelled then
    return finish_as(job, 'cancelled', 'crash_attempt', crashes, 'last_error', 'WorkerLost')
  elseif job.crashes + 1 >= crash_limit and set_aside(job, 'crash_attempt', crashes, 'last_error', 'WorkerLost') then
    -- The deadline of a job that runs may have been crossed off; one that waits is archived by it.
    if job.deadline then redis.pcall('ZADD', key_deadlines(job.queue), digits(job.deadline), job.id) end
    if not barred(job.fingerprint) then bar(job.fingerprint, 'crash_limit', 'null', job) end  -- an operator may have been first
    return true
  elseif past_deadline(job, now) then
    return finish_as(job, 'archived', 'crash_attempt', crashes, 'last_error', 'DeadlineExceeded')
  end
  return make_available(job, 'crash_attempt', crashes, 'last_error', 'WorkerLost')
end

local function crash(job, crash_limit)
  if not end_lease(job, crash_limit) then return end
  crashed[#crashed + 1] = job.id
  crashed[#crashed + 1] = job.state
end
