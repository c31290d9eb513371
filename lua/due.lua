#!lua flags=allow-oom
-- due: the schedules due now, oldest first, and when the next one is. Mends the due index on the way.
--
-- KEYS     1 namespace root; touches due, failing, and the records of the schedules it reads
-- ARGV     1 limit
-- Returns  {now, due next ('' = nothing), {ids that cannot be read}, {row, …}}; a row is id, spec, on_missed,
--          backfill_limit, next_run_ms, anchor_ms, last_tick_ms, revision, payload_bytes
-- Fails    a foreign type in place of the due index: nothing done. In place of a record, or of its next run: that schedule
--          is put off by a minute and named. An entry of the index that its record contradicts is put right or removed.
-- Repeat:  harmless
-- include: clock
-- include: digits

local FIELDS = {
  'spec', 'on_missed', 'backfill_limit', 'next_run_ms', 'anchor_ms', 'last_tick_ms', 'revision', 'payload_bytes', 'paused',
}
local rows, unreadable = {}, {}

local function put_off(id)
  redis.call('ZADD', key_due(), digits(now + RETRY_MAX_MS), id)
  redis.pcall('ZADD', key_failing(), now_text, id)
  unreadable[#unreadable + 1] = id
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', key_due(), '-inf', now_text, 'LIMIT', 0, ARGV[1])) do
  local row = redis.pcall('HMGET', key_schedule(id), unpack(FIELDS))
  local known, paused, next_run = row[1], row[9] == '1', row[4]
  if row.err then
    put_off(id)
  elseif not known or paused then
    redis.call('ZREM', key_due(), id)
  elseif next_run == '' then
    redis.call('ZADD', key_due(), '+inf', id)
  elseif not tonumber(next_run or '') then
    put_off(id)
  elseif tonumber(next_run) > now then
    redis.call('ZADD', key_due(), next_run, id)
  else
    row[9] = nil
    table.insert(row, 1, id)
    rows[#rows + 1] = row
  end
end

local upcoming = redis.call('ZRANGEBYSCORE', key_due(), '(' .. now_text, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
return {now_text, upcoming and upcoming ~= 'inf' and upcoming or '', unreadable, rows}
