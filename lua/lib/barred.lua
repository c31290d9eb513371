-- barred: fingerprints of kind and payload that may neither enter a queue nor be admitted, and the jobs set aside for it.
-- include: moves

local barred_any = redis.call('HLEN', key_quarantine()) > 0

local function barred(fingerprint)
  return barred_any and redis.call('HEXISTS', key_quarantine(), fingerprint) == 1
end

-- `note` is JSON, `job` the one that brought it about, or nil. Where it is barred already, only the note is new: why, since
-- when and by which job stay to be read. Returns whether it was not barred before.
local function bar(fingerprint, why, note, job)
  local facts = '{"since_ms":' .. now_text .. ',"why":"' .. why .. '","job_id":' .. (job and '"' .. job.id .. '"' or 'null')
  local known = string.match(redis.call('HGET', key_quarantine(), fingerprint) or '',
    '^({"since_ms":%d+,"why":"[a-z_]+","job_id":[^,]+),"note":')
  local new = redis.call('HSET', key_quarantine(), fingerprint, (known or facts) .. ',"note":' .. note .. '}') == 1
  redis.pcall('ZADD', key_barred(), 0, fingerprint)
  redis.pcall('ZREM', key_releasing(), fingerprint)
  barred_any = true
  return new
end

-- Whatever is in place of the fingerprint's own set: a barred job at the head of its queue would hide all others.
local function set_aside(job, ...)
  local set = key_quarantined(job.fingerprint)
  if not move(job, 'quarantined', now, ...) then return false end
  if usable(set) then gather(adding, set, now_text, job.id) end
  return true
end
