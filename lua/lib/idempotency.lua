-- idempotency: the answer to a request is kept by the script that carries it out, so there is no state in between.
-- `request` is a fingerprint of what was asked; `until_ms` decides, the key's PX only cleans up.
-- include: clock
-- include: digits

-- nil when the key is free, else 'replayed' and the job, or 'reused'.
local function earlier_answer(key, request)
  local kept = redis.call('GET', key)
  if not kept then return nil end
  local asked, job_id, until_ms = string.match(kept, '^{"request":"(%x+)","job_id":"([^"]+)","until_ms":(%d+)}$')
  if not asked or tonumber(until_ms) <= now then return nil end
  if asked ~= request then return 'reused' end
  return 'replayed', job_id
end

local function keep_answer(key, request, job_id)
  local text = '{"request":"' .. request .. '","job_id":"' .. job_id .. '","until_ms":' .. digits(now + IDEMPOTENCY_MS) .. '}'
  redis.call('SET', key, text, 'PX', IDEMPOTENCY_MS)
end
