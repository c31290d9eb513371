#!lua flags=no-writes
-- contents: the records of a batch, payloads included, for hooks that want to see them.
--
-- KEYS     1 namespace root; reads the records
-- ARGV     1… ids
-- Returns  fields and values of each, in order; none where there is no record, or a foreign one
-- Fails    nothing is written
-- Repeat:  harmless

local answer = {}
for index, id in ipairs(ARGV) do
  local record = redis.pcall('HGETALL', key_schedule(id))
  answer[index] = record.err and {} or record
end
return answer
