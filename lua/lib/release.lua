-- release: jobs that were set aside go back to their queues, some at a time. `releasing` names the fingerprints whose jobs
-- are not all back, so that whoever comes next goes on where a caller died.
-- include: barred

local function come_back(job)
  if job.available_at > now then return move(job, 'scheduled', job.available_at, 'crash_attempt', '0') end
  return make_available(job, 'crash_attempt', '0')
end

-- Returns how many came back, and how many are left. What cannot come back, since its queue holds something foreign, stays
-- and goes to the end of the line.
local function release_set_aside(fingerprint, limit)
  local set = key_quarantined(fingerprint)
  if not usable(set) then return 0, 0 end
  local gone = {}
  for _, id in ipairs(redis.call('ZRANGE', set, 0, limit - 1)) do
    local job = read_job(id)
    if not job or job.state ~= 'quarantined' or job.fingerprint ~= fingerprint then
      gone[#gone + 1] = id
    elseif come_back(job) then
      gone[#gone + 1] = id
      redis.call('PUBLISH', key_ready(), job.queue)
    else
      redis.call('ZADD', set, now_text, id)
    end
  end
  if #gone > 0 then redis.call('ZREM', set, unpack(gone)) end
  local rest = redis.call('ZCARD', set)
  if rest == 0 then redis.pcall('ZREM', key_releasing(), fingerprint) end
  return #gone, rest
end
