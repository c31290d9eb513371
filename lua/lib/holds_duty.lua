-- holds_duty: the fence: whether the caller's token, ARGV[1], still has the lease of the scheduler duty.
local holds_duty = redis.call('GET', key_duty('scheduler')) == ARGV[1]
