#!lua flags=allow-oom
-- due: the schedules due now, oldest first, and when the next one is. Mends the due index on the way, and notes when it was.
--
-- KEYS     1 namespace root; touches duty, meta, due, resumes, failing, and the records of the schedules it reads
-- ARGV     1 lease token, 2 limit
-- Returns  {now, 'lost'}: the lease is not this token's, nothing was done
--          {now, 'ok', due next ('' = nothing), {ids that cannot be read}, {row, …}, entries looked at, {ids to resume}}; a
--          row is id, spec, on_missed, backfill_limit, next_run_ms, anchor_ms, last_tick_ms, revision, payload_bytes,
--          starts_at_ms, ends_at_ms, catch_up_ms; to be resumed are paused schedules whose time has come
-- Fails    a foreign type in place of the due index: nothing done. In place of a record, or of what says where it stands:
--          that schedule is put off by a minute and named. An entry that its record contradicts is put right or removed.
-- Repeat:  harmless
-- include: holds_duty
-- include: clock
-- include: digits
-- include: earliest

if not holds_duty('scheduler') then return {now_text, 'lost'} end

local FIELDS = {
  'spec', 'on_missed', 'backfill_limit', 'next_run_ms', 'anchor_ms', 'last_tick_ms', 'revision', 'payload_bytes', 'starts_at_ms',
  'ends_at_ms', 'catch_up_ms', 'paused',
}
local rows, unreadable = {}, {}

local function put_off(id)
  redis.call('ZADD', key_due(), digits(now + RETRY_MAX_MS), id)
  redis.pcall('ZADD', key_failing(), now_text, id)
  unreadable[#unreadable + 1] = id
end

local function drop(id)
  redis.call('ZREM', key_due(), id)
  redis.pcall('ZREM', key_failing(), id)
end

-- A record tells where it stands if it has a spec, a revision, and a next run that is empty or a number.
local function readable(row)
  return not row.err and row[1] and row[7] and row[4] and (row[4] == '' or tonumber(row[4]))
end

local ids = redis.call('ZRANGEBYSCORE', key_due(), '-inf', now_text, 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do
  local row = redis.pcall('HMGET', key_schedule(id), unpack(FIELDS))
  local next_run = row[4]
  if not readable(row) then
    if redis.call('EXISTS', key_schedule(id)) == 1 then put_off(id) else drop(id) end
  elseif row[12] == '1' then
    drop(id)
  elseif next_run == '' or tonumber(next_run) > now then
    redis.call('ZADD', key_due(), next_run == '' and '+inf' or next_run, id)
  else
    row[12] = nil
    for at = 9, 11 do row[at] = row[at] or '' end
    table.insert(row, 1, id)
    rows[#rows + 1] = row
  end
end
-- Paused schedules whose time has come; an entry that its record contradicts is removed.
local function to_resume()
  local found = {}
  local waiting = redis.pcall('ZRANGEBYSCORE', key_resumes(), '-inf', now_text, 'LIMIT', 0, ARGV[2])
  for _, id in ipairs(waiting.err and {} or waiting) do
    local record = redis.pcall('HMGET', key_schedule(id), 'paused', 'paused_until_ms')
    if record.err or record[1] ~= '1' or (tonumber(record[2] or '') or math.huge) > now then
      redis.call('ZREM', key_resumes(), id)
    else
      found[#found + 1] = id
    end
  end
  return found
end

-- One number in one place, which a full store can take; no sweep fails for it.
redis.pcall('HSET', key_meta(), 'swept_at_ms', now_text)
return {now_text, 'ok', earliest_due('(' .. now_text), unreadable, rows, #ids, to_resume()}
