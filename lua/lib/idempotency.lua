-- idempotency: the answer to a request is kept by the script that carries it out, so there is no state in between.
-- `request` is a fingerprint of what was asked; `until_ms` decides, the key's PX only cleans up. One that takes several calls
-- keeps with each how far it has come, and goes on only where nobody else has come further under its key.
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

-- Whether that is what was kept last of the same request; '' stands for nothing.
local function stands_kept(key, request, answer)
  local said, kept = earlier_answer(key, request)
  return said ~= 'reused' and (kept or '') == answer
end

-- `answer` is text without quotes or backslashes.
local function keep_answer(key, request, answer)
  local text = '{"request":"' .. request .. '","answer":"' .. answer .. '","until_ms":' .. digits(now + IDEMPOTENCY_MS) .. '}'
  redis.call('SET', key, text, 'PX', IDEMPOTENCY_MS)
end
