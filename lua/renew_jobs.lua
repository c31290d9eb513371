#!lua flags=allow-oom
-- renew_jobs: the leases of running jobs go on.
--
-- KEYS     1 namespace root; touches the running sets and reads the jobs
-- ARGV     1 life of a lease in ms, then three for each job: queue, id, claim number
-- Returns  the ids whose claim is not this worker's any more
-- Fails    a foreign type: the leases before it go on, the call can be repeated
-- Repeat:  harmless
-- include: clock
-- include: digits
-- include: claimed

local lost = {}
for at = 2, #ARGV, 3 do
  local queue, id = ARGV[at], ARGV[at + 1]
  if claimed(id, ARGV[at + 2]) then
    redis.call('ZADD', key_running(queue), digits(now + ARGV[1]), id)
  else
    lost[#lost + 1] = id
  end
end
return lost
