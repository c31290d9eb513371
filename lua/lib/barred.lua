-- barred: fingerprints of kind and payload that may neither enter a queue nor be admitted, and the jobs set aside for it.
-- include: moves

local barred_any = redis.call('HLEN', key_quarantine()) > 0

local function barred(fingerprint)
  return barred_any and redis.call('HEXISTS', key_quarantine(), fingerprint) == 1
end

-- `note` is JSON, `job` the one that brought it about, or nil. Returns whether it was not barred before.
local function bar(fingerprint, why, note, job)
  local entry = '{"since_ms":' .. now_text .. ',"why":"' .. why .. '","note":' .. note
    .. ',"job_id":' .. (job and '"' .. job.id .. '"' or 'null') .. '}'
  local new = redis.call('HSET', key_quarantine(), fingerprint, entry) == 1
  redis.pcall('ZADD', key_barred(), 0, fingerprint)
  redis.pcall('ZREM', key_releasing(), fingerprint)
  barred_any = true
  return new
end

local function set_aside(job, ...)
  local set = key_quarantined(job.fingerprint)
  if not usable(set) or not move(job, 'quarantined', now, ...) then return false end
  gather(adding, set, now_text, job.id)
  return true
end
