-- processes: which of them live, at most 1,000.
-- include: clock
local function live_processes()
  return redis.call('ZRANGEBYSCORE', key_processes(), now_text, '+inf', 'LIMIT', 0, 1000)
end
