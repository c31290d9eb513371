#!lua
-- reindex: one page of schedules is put back into the due and paused indexes, where missing.
--
-- KEYS     1 namespace root; touches schedules, due, paused and the records of the page
-- ARGV     1 id after which the page starts ('' = from the first), 2 limit
-- Returns  {last id of the page ('' = that was the end), entries put back}
-- Fails    a foreign type: the entries before it are back, the call can be repeated
-- Repeat:  harmless

local from = ARGV[1] == '' and '-' or '(' .. ARGV[1]
local page = redis.call('ZRANGEBYLEX', key_schedules(), from, '+', 'LIMIT', 0, ARGV[2])
local added = 0
for _, id in ipairs(page) do
  local record = redis.pcall('HMGET', key_schedule(id), 'paused', 'next_run_ms', 'retry_at_ms', 'updated_at_ms')
  if record.err then
    added = added + redis.call('ZADD', key_due(), 'NX', 0, id)
  elseif not record[2] then
    redis.call('ZREM', key_schedules(), id)
  elseif record[1] == '1' then
    added = added + redis.call('ZADD', key_paused(), 'NX', record[4], id)
  else
    local look_at = record[3] or record[2]
    added = added + redis.call('ZADD', key_due(), 'NX', look_at == '' and '+inf' or look_at, id)
  end
end
return {#page == tonumber(ARGV[2]) and page[#page] or '', added}
