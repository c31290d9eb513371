-- release: jobs that were set aside go back to their queues, some at a time. `releasing` names the fingerprints whose jobs
-- are not all back, so that whoever comes next goes on where a caller died.
-- include: barred

-- Returns how many came back, and how many are left.
local function release_set_aside(fingerprint, limit)
  local set = key_quarantined(fingerprint)
  if not usable(set) then return 0, 0 end
  local ids = redis.call('ZRANGE', set, 0, limit - 1)
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if job and job.state == 'quarantined' and job.fingerprint == fingerprint then
      if job.available_at > now then move(job, 'scheduled', job.available_at, 'crash_attempt', '0')
      else make_available(job, 'crash_attempt', '0') end
      redis.call('PUBLISH', key_ready(), job.queue)
    end
  end
  if #ids > 0 then redis.call('ZREM', set, unpack(ids)) end
  local rest = redis.call('ZCARD', set)
  if rest == 0 then redis.pcall('ZREM', key_releasing(), fingerprint) end
  return #ids, rest
end
