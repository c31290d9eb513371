-- processes: the workers that live, at most 1,000.
-- include: clock
local function live_workers()
  return redis.call('ZRANGEBYSCORE', key_workers(), now_text, '+inf', 'LIMIT', 0, 1000)
end
