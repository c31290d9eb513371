#!lua flags=allow-oom
-- renew_jobs: the leases of running jobs go on.
--
-- KEYS     1 namespace root; touches the running sets and reads the jobs
-- ARGV     1 life of a lease in ms, then three for each job: queue, id, claim number
-- Returns  which of them, counted from 1, are not this worker's any more
-- Fails    a foreign type in place of a running set: the leases in it end where they ended, and nobody can claim those jobs
-- Repeat:  harmless
-- include: clock
-- include: digits
-- include: claimed

local lost = {}
for at = 2, #ARGV, 3 do
  local queue, id = ARGV[at], ARGV[at + 1]
  if claimed(id, ARGV[at + 2]) then
    redis.pcall('ZADD', key_state(queue, 'running'), digits(now + ARGV[1]), id)
  else
    lost[#lost + 1] = (at + 1) / 3
  end
end
return lost
