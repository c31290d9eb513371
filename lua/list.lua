#!lua flags=no-writes
-- list: one page of schedules by id.
--
-- KEYS     1 namespace root; reads schedules and the records of the page
-- ARGV     1 id after which the page starts ('' = from the first), 2 limit, 3… fields to read, the first being id
-- Returns  {last id of the page ('' = that was the end), row, …}, a row being the values of those fields
-- Fails    nothing is written
-- Repeat:  harmless

local from = ARGV[1] == '' and '-' or '(' .. ARGV[1]
local limit = tonumber(ARGV[2])
local page = redis.call('ZRANGEBYLEX', key_schedules(), from, '+', 'LIMIT', 0, limit + 1)
local more = #page > limit
if more then page[#page] = nil end
local answer = {more and page[limit] or ''}
for _, id in ipairs(page) do
  -- An entry without a record, or with a foreign one, is passed over: a page is as good as its readable rows.
  local row = redis.pcall('HMGET', key_schedule(id), unpack(ARGV, 3))
  if not row.err and row[1] then answer[#answer + 1] = row end
end
return answer
