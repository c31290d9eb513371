#!lua flags=no-writes
-- list_next: one page of the schedules that stand in the due index, by when they are looked at next, and by id.
--
-- KEYS     1 namespace root; reads due and the records it looks at
-- ARGV     1 instant and 2 id after which the page starts ('' twice = from the first), 3 limit, 4 what ids begin with, 5 most
--          schedules to look at, 6-8 filters; 9… fields to read, the first being id
-- Returns  {instant and id of the last one looked at ('' twice = that was the end), how many were looked at, row, …}
-- Fails    nothing is written
-- Repeat:  harmless
-- include: filters
-- include: digits

local limit, prefix, most = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local filters = filters_from(ARGV[6], ARGV[7], ARGV[8])

-- The first rank behind an instant and an id, whether or not they still stand there. By halves: thousands may be due at once.
local function rank_behind(instant, id)
  local low, high = 0, redis.call('ZCARD', key_due())
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = redis.call('ZRANGE', key_due(), middle, middle, 'WITHSCORES')
    local score = tonumber(found[2])
    if score < instant or (score == instant and found[1] <= id) then low = middle + 1 else high = middle end
  end
  return low
end

local first = ARGV[2] ~= '' and rank_behind(tonumber(ARGV[1]), ARGV[2]) or 0
local narrow = filters.any or prefix ~= ''
local room = narrow and most or limit
local page = redis.call('ZRANGE', key_due(), first, first + room, 'WITHSCORES')
local answer, examined, last, instant = {'', '', 0}, 0, '', ''
for place = 1, #page, 2 do
  local id = page[place]
  if examined == room or #answer - 3 == limit then
    answer[1], answer[2] = instant, last
    break
  end
  examined, last, instant = examined + 1, id, digits(tonumber(page[place + 1]))
  if string.sub(id, 1, #prefix) == prefix and passes(filters, id) then
    local row = redis.pcall('HMGET', key_schedule(id), unpack(ARGV, 9))
    if not row.err and row[1] then answer[#answer + 1] = row end
  end
end
answer[3] = examined
return answer
