-- earliest: when the due index is to be looked at next, as digits; '' when nothing waits. Whatever number others may have
-- put there, the answer is one that a reader of whole milliseconds can take.
-- include: digits
local function earliest_due(from)
  local score = tonumber(redis.call('ZRANGEBYSCORE', key_due(), from, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or '')
  if not score then return '' end
  return digits(math.min(math.max(math.floor(score), 0), MAX_INSTANT_MS))
end
