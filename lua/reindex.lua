#!lua
-- reindex: one page of schedules is put back into the due and paused indexes and among those that resume, where missing.
--
-- KEYS     1 namespace root; touches duty, schedules, due, paused, resumes and reads the records of the page
-- ARGV     1 lease token, 2 id after which the page starts ('' = from the first), 3 limit
-- Returns  {'lost'}: the lease is not this token's, nothing was done
--          {'ok', last id of the page ('' = that was the end), entries put back}
-- Fails    a foreign type in place of an index: the entries before it are back, the call can be repeated. A record that
--          does not say where it stands is due at once, for `due` to name and put off.
-- Repeat:  harmless
-- include: holds_duty

if not holds_duty('scheduler') then return {'lost'} end
local from, limit = ARGV[2] == '' and '-' or '(' .. ARGV[2], tonumber(ARGV[3])
local page = redis.call('ZRANGEBYLEX', key_schedules(), from, '+', 'LIMIT', 0, limit)
local added = 0

local function look_at(record)
  if record.err or not record[2] then return 0 end
  if record[2] == '' then return '+inf' end
  return tonumber(record[3] or record[2]) and (record[3] or record[2]) or 0
end

for _, id in ipairs(page) do
  local record = redis.pcall('HMGET', key_schedule(id), 'paused', 'next_run_ms', 'retry_at_ms', 'updated_at_ms',
    'paused_until_ms')
  if not record.err and record[1] == '1' then
    added = added + redis.call('ZADD', key_paused(), 'NX', tonumber(record[4] or '') or 0, id)
    if tonumber(record[5] or '') then added = added + redis.call('ZADD', key_resumes(), 'NX', record[5], id) end
  elseif redis.call('EXISTS', key_schedule(id)) == 0 then
    redis.call('ZREM', key_schedules(), id)
  else
    added = added + redis.call('ZADD', key_due(), 'NX', look_at(record), id)
  end
end
return {'ok', #page == limit and page[#page] or '', added}
