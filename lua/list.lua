#!lua flags=no-writes
-- list: one page of schedules by id.
--
-- KEYS     1 namespace root; reads schedules, due, and the records it looks at
-- ARGV     1 id after which the page starts ('' = from the first), 2 limit, 3 what ids begin with, 4 most schedules to look
--          at, 5-7 filters; 8 '1': only those that stand in no due index; 9… fields to read, the first being id
-- Returns  {last id looked at ('' = that was the end), how many were looked at, row, …}, a row being the values of those fields
-- Fails    nothing is written
-- Repeat:  harmless
-- include: filters

local after, limit, prefix, most = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local filters, resting = filters_from(ARGV[5], ARGV[6], ARGV[7]), ARGV[8] == '1'
local from = prefix ~= '' and '[' .. prefix or '-'
if after ~= '' and (prefix == '' or string.sub(after, 1, #prefix) == prefix) then from = '(' .. after end
local upto = prefix ~= '' and '(' .. prefix .. '\255' or '+'

local room = (filters.any or resting) and most or limit
local page = redis.call('ZRANGEBYLEX', key_schedules(), from, upto, 'LIMIT', 0, room + 1)
local answer, examined, last = {'', 0}, 0, ''
for _, id in ipairs(page) do
  if examined == room or #answer - 2 == limit then
    answer[1] = last
    break
  end
  examined, last = examined + 1, id
  if not (resting and redis.call('ZSCORE', key_due(), id)) and passes(filters, id) then
    -- An entry without a record, or with a foreign one, is passed over: a page is as good as its readable rows.
    local row = redis.pcall('HMGET', key_schedule(id), unpack(ARGV, 9))
    if not row.err and row[1] then answer[#answer + 1] = row end
  end
end
answer[2] = examined
return answer
