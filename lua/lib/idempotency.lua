-- idempotency: the answer to a request is kept by the script that carries it out, so there is no state in between.
-- `request` is a fingerprint of what was asked; `until_ms` decides, the key's PX only cleans up.
-- include: clock
-- include: digits

-- nil when the key is free, else 'replayed' and the answer, or 'reused'.
local function earlier_answer(key, request)
  local kept = redis.call('GET', key)
  if not kept then return nil end
  local asked, answer, until_ms = string.match(kept, '^{"request":"(%x+)","answer":"([^"]*)","until_ms":(%d+)}$')
  if not asked or tonumber(until_ms) <= now then return nil end
  if asked ~= request then return 'reused' end
  return 'replayed', answer
end

-- `answer` is text without quotes or backslashes.
local function keep_answer(key, request, answer)
  local text = '{"request":"' .. request .. '","answer":"' .. answer .. '","until_ms":' .. digits(now + IDEMPOTENCY_MS) .. '}'
  redis.call('SET', key, text, 'PX', IDEMPOTENCY_MS)
end
