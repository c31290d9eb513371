-- earliest: when the due index, or a paused schedule that resumes by itself, is to be looked at next, as digits; '' when nothing waits. Whatever number others may have
-- put there, the answer is one that a reader of whole milliseconds can take.
-- include: digits
local function earliest_due(from)
  local score = tonumber(redis.call('ZRANGEBYSCORE', key_due(), from, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or '')
  local resumes = redis.pcall('ZRANGEBYSCORE', key_resumes(), from, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  local resume = not resumes.err and tonumber(resumes[2] or '')
  if resume and (not score or resume < score) then score = resume end
  if not score then return '' end
  return digits(math.min(math.max(math.floor(score), 0), MAX_INSTANT_MS))
end
