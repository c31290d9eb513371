-- claimed: whether a job is running under this claim: the fence of everything a worker says of a job.
local function claimed(id, number)
  local job = redis.call('HMGET', key_job(id), 'state', 'claim')
  return job[1] == 'running' and job[2] == number
end
