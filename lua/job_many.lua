#!lua flags=no-writes
-- job_many: some jobs.
--
-- KEYS     1 namespace root; reads the jobs
-- ARGV     1 number of ids and the ids, then the fields to read
-- Returns  for each job that there is, the values of those fields
-- Fails    nothing is written
-- Repeat:  harmless

local count, found = tonumber(ARGV[1]), {}
for at = 2, 1 + count do
  local values = redis.pcall('HMGET', key_job(ARGV[at]), unpack(ARGV, 2 + count))
  if not values.err and values[1] then found[#found + 1] = values end
end
return found
