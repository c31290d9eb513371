-- earliest: when the due index is to be looked at next, as digits; '' when nothing waits.
-- include: digits
-- include: instant
local function earliest_due(from)
  local score = instant_of(redis.call('ZRANGEBYSCORE', key_due(), from, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
  return score and digits(score) or ''
end
