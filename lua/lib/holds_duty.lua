-- holds_duty: the fence: whether the caller's token, ARGV[1], has the lease of a duty.
local function holds_duty(name) return redis.call('GET', key_duty(name)) == ARGV[1] end
