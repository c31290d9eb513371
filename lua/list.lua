#!lua flags=no-writes
-- list: one page of schedules by id.
--
-- KEYS     1 namespace root; reads schedules and the records it looks at
-- ARGV     1 id after which the page starts ('' = from the first), 2 limit, 3 what ids begin with, 4 most schedules to look
--          at; filters, '' for none: 5 text that the labels have, 6 '1' or '0': paused, 7 '1' or '0': failing; 8… fields to
--          read, the first being id
-- Returns  {last id looked at ('' = that was the end), how many were looked at, row, …}, a row being the values of those fields
-- Fails    nothing is written
-- Repeat:  harmless

local after, limit, prefix, most = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local label, paused, failing = ARGV[5], ARGV[6], ARGV[7]
local filtered = label ~= '' or paused ~= '' or failing ~= ''
local from = prefix ~= '' and '[' .. prefix or '-'
if after ~= '' and (prefix == '' or string.sub(after, 1, #prefix) == prefix) then from = '(' .. after end
local upto = prefix ~= '' and '(' .. prefix .. '\255' or '+'

-- A label's name begins after a brace or a comma: inside a text, the quote before it would have a backslash.
local function has_label(labels)
  return string.find(labels, '{' .. label, 1, true) or string.find(labels, ',' .. label, 1, true)
end

local function passes(id)
  if not filtered then return true end
  local found = redis.pcall('HMGET', key_schedule(id), 'labels', 'paused', 'failing_tick_ms')
  if found.err then return false end
  return (label == '' or has_label(found[1] or ''))
    and (paused == '' or (found[2] == '1') == (paused == '1'))
    and (failing == '' or (found[3] or '') ~= '' == (failing == '1'))
end

local page = redis.call('ZRANGEBYLEX', key_schedules(), from, upto, 'LIMIT', 0, (filtered and most or limit) + 1)
local room = filtered and most or limit
local answer, examined, last = {'', 0}, 0, ''
for _, id in ipairs(page) do
  if examined == room or #answer - 2 == limit then
    answer[1] = last
    break
  end
  examined, last = examined + 1, id
  if passes(id) then
    -- An entry without a record, or with a foreign one, is passed over: a page is as good as its readable rows.
    local row = redis.pcall('HMGET', key_schedule(id), unpack(ARGV, 8))
    if not row.err and row[1] then answer[#answer + 1] = row end
  end
end
answer[2] = examined
return answer
