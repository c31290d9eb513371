#!lua flags=no-writes
-- upcoming: store time, and the schedules that are looked at next, in the order of the due index.
--
-- KEYS     1 namespace root; reads due and the records of the schedules it answers
-- ARGV     1 until when they are looked at, in ms, 2 limit; 0 asks for store time alone; 3… fields to read, the first being id
-- Returns  {now, when the first one beyond the limit is looked at ('' = there is none), {when it is looked at, field values …}, …}
-- Fails    nothing is written. An entry without a record, or with a foreign one, is passed over.
-- Repeat:  harmless
-- include: clock
-- include: digits

local limit = tonumber(ARGV[2])
local answer = {now_text, ''}
if limit == 0 then return answer end

local function instant(score) return digits(math.max(0, math.floor(tonumber(score)))) end

local found = redis.call('ZRANGEBYSCORE', key_due(), '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, limit + 1)
for at = 1, #found, 2 do
  if at > 2 * limit then
    answer[2] = instant(found[at + 1])
    break
  end
  local row = redis.pcall('HMGET', key_schedule(found[at]), unpack(ARGV, 3))
  if not row.err and row[1] then
    table.insert(row, 1, instant(found[at + 1]))
    answer[#answer + 1] = row
  end
end
return answer
