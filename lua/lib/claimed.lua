-- claimed: whether a job is running under this claim: the fence of everything a worker says of a job. What is no job is
-- nobody's.
local function claimed(id, number)
  local job = redis.pcall('HMGET', key_job(id), 'state', 'claim')
  return not job.err and job[1] == 'running' and job[2] == number
end
