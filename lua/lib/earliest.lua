-- earliest: when the due index, or a paused schedule that resumes by itself, is to be looked at next, as digits; '' when nothing
-- waits.
-- include: digits
-- include: instant
local function earliest_due(from)
  local due = instant_of(redis.call('ZRANGEBYSCORE', key_due(), from, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
  local resumes = redis.pcall('ZRANGEBYSCORE', key_resumes(), from, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  local resume = not resumes.err and instant_of(resumes[2])
  if resume and (not due or resume < due) then due = resume end
  return due and digits(due) or ''
end
