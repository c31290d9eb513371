#!lua flags=allow-oom
-- renew_jobs: the leases of running jobs go on.
--
-- KEYS     1 namespace root; touches the running sets and reads the jobs
-- ARGV     1 life of a lease in ms, then three for each job: queue, id, claim number
-- Returns  {which of them, counted from 1, are not this worker's any more}, {which of them are to be stopped}
-- Fails    a foreign type in place of a running set: the leases in it end where they ended, and nobody can claim those jobs
-- Repeat:  harmless
-- include: clock
-- include: digits

local lost, cancelled = {}, {}
for at = 2, #ARGV, 3 do
  local queue, id = ARGV[at], ARGV[at + 1]
  local job = redis.pcall('HMGET', key_job(id), 'state', 'claim', 'cancel_requested')
  if not job.err and job[1] == 'running' and job[2] == ARGV[at + 2] then
    redis.pcall('ZADD', key_state(queue, 'running'), digits(now + ARGV[1]), id)
    if job[3] then cancelled[#cancelled + 1] = (at + 1) / 3 end
  else
    lost[#lost + 1] = (at + 1) / 3
  end
end
return {lost, cancelled}
