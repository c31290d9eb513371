#!lua flags=no-writes
-- worker_list: the processes that live and work, at most 1,000.
--
-- KEYS     1 namespace root; reads workers and their records
-- ARGV     1… fields to read; those of a worker among them is `queues`
-- Returns  {id, field values …} of each
-- Fails    nothing is written. A process without a record is passed over.
-- Repeat:  harmless
-- include: processes

local found = {}
for _, process in ipairs(live_workers()) do
  local record = redis.pcall('HMGET', key_process(process), 'queues', unpack(ARGV))
  if not record.err and record[1] then
    record[1] = process
    found[#found + 1] = record
  end
end
return found
