-- crashes: leases that ended without a word of their worker.
-- include: ending
-- include: barred

local crashed = {}  -- ids, each followed by what became of the job

-- Where nobody has been looking for longer than `longest`, the store may have been away, and workers could not be heard: each
-- lease gets that much longer. Returns whether leases that ended count, and from when they do.
local function leases_judged(longest)
  local seen = redis.call('HMGET', key_meta(), 'reclaimed_at_ms', 'leases_judged_from_ms')
  local from = tonumber(seen[2] or '') or 0
  if now - (tonumber(seen[1] or '') or 0) > tonumber(longest) then from = now + longest end
  redis.call('HSET', key_meta(), 'reclaimed_at_ms', now_text, 'leases_judged_from_ms', digits(from))
  return from <= now, from
end

local function end_lease(job, crash_limit)
  local crashes = digits(job.crashes + 1)
  if past_deadline(job, now) then
    return finish_as(job, 'archived', 'crash_attempt', crashes, 'last_error', 'DeadlineExceeded')
  elseif job.crashes + 1 >= crash_limit and set_aside(job, 'crash_attempt', crashes, 'last_error', 'WorkerLost') then
    if not barred(job.fingerprint) then bar(job.fingerprint, 'crash_limit', 'null', job) end  -- an operator may have been first
    return true
  end
  return make_available(job, 'crash_attempt', crashes, 'last_error', 'WorkerLost')
end

local function crash(job, crash_limit)
  if not end_lease(job, crash_limit) then return end
  crashed[#crashed + 1] = job.id
  crashed[#crashed + 1] = job.state
end
