#!lua flags=no-writes
-- upcoming: store time, and the schedules that are looked at next, in that order: those that are due, and those whose pause
-- ends by itself.
--
-- KEYS     1 namespace root; reads due, resumes and the records of the schedules it answers
-- ARGV     1 until when they are looked at, in ms, 2 limit; 0 asks for store time alone; 3… fields to read, the first being id
-- Returns  {now, when the first one beyond the limit is looked at ('' = there is none), {when it is looked at, field values …}, …}
-- Fails    nothing is written. An entry without a record, or with a foreign one, is passed over, and resumes of a foreign
--          type: nobody resumes by it.
-- Repeat:  harmless
-- include: clock
-- include: digits

local limit = tonumber(ARGV[2])
local answer = {now_text, ''}
if limit == 0 then return answer end

local function instant(score) return digits(math.max(0, math.floor(tonumber(score)))) end

local due = redis.call('ZRANGEBYSCORE', key_due(), '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, limit + 1)
local resumes = redis.pcall('ZRANGEBYSCORE', key_resumes(), '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, limit + 1)
if resumes.err then resumes = {} end

local due_at, resumes_at, seen = 1, 1, {}
local function next_entry()
  local list, at = due, due_at
  local other = resumes[resumes_at + 1]
  if other and not (due[at] and tonumber(due[at + 1]) <= tonumber(other)) then
    list, at, resumes_at = resumes, resumes_at, resumes_at + 2
  else
    due_at = at + 2
  end
  return list[at], list[at + 1]
end

for count = 0, limit do
  local id, score = next_entry()
  if not id then break end
  if count == limit then
    answer[2] = instant(score)
    break
  end
  local row = not seen[id] and redis.pcall('HMGET', key_schedule(id), unpack(ARGV, 3))
  seen[id] = true
  if row and not row.err and row[1] then
    table.insert(row, 1, instant(score))
    answer[#answer + 1] = row
  end
end
return answer
