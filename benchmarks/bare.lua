#!lua
-- bare: the writes of a tick and nothing else. What fire.lua costs beyond this is what its promises cost.
--
-- KEYS     1 namespace root
-- ARGV     1 queue, then four for each schedule: id, tick (its next_run_ms as read), the tick after it, life of the
--          marker in ms
-- Returns  how many ticks were enqueued
-- Fails    at the command that failed; nothing is undone
-- Repeat:  harmless

local call, max_events = redis.call, 100
local schedule_prefix, job_prefix, tick_prefix, events_prefix = key_schedule(''), key_job(''), key_tick('', ''), key_events('')
tick_prefix = string.sub(tick_prefix, 1, -2)
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local now_text = string.format('%.0f', now)
local ready, due = {}, {}

for at = 2, #ARGV, 4 do
  local id, tick, following = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local record = schedule_prefix .. id
  local kind, queue, priority, max_attempts, timeout, retention, fingerprint, payload, next_run, seq, outcomes = unpack(
    call('HMGET', record, 'kind', 'queue', 'priority', 'max_attempts', 'timeout_ms', 'retention_ms', 'fingerprint',
      'payload', 'next_run_ms', 'event_seq', 'outcomes'))
  local job_id = 'sched-' .. id .. '-' .. tick
  if next_run == tick and call('SET', tick_prefix .. id .. ':' .. tick, job_id .. ' ' .. fingerprint .. ' ' .. queue,
      'NX', 'PX', ARGV[at + 3]) then
    call('HSET', job_prefix .. job_id, 'id', job_id, 'kind', kind, 'queue', queue, 'state', 'available',
      'priority', priority, 'attempt', '0', 'crash_attempt', '0', 'max_attempts', max_attempts, 'timeout_ms', timeout,
      'retention_ms', retention, 'fingerprint', fingerprint, 'enqueued_at_ms', now_text, 'available_at_ms', now_text,
      'periodic_schedule_id', id, 'periodic_tick_ms', tick, 'manual_schedule_id', '', 'payload', payload)
    ready[#ready + 1] = now - priority * 60000
    ready[#ready + 1] = job_id
    local number, events = seq + 1, events_prefix .. id
    if call('LPUSH', events, '{"event_id":' .. number .. ',"schedule_id":"' .. id .. '","tick_ms":' .. tick
        .. ',"job_id":"' .. job_id .. '","outcome":"enqueued","reason":"accepted","recorded_at_ms":' .. now_text
        .. ',"attempts":1}') > max_events then
      call('LTRIM', events, 0, max_events - 1)
    end
    call('HSET', record, 'last_tick_ms', tick, 'anchor_ms', tick, 'next_run_ms', following, 'event_seq', number,
      'outcomes', string.sub(outcomes .. 'e', -30))
    due[#due + 1] = following
    due[#due + 1] = id
  end
end
if #due > 0 then
  call('ZADD', key_state(ARGV[1], 'available'), unpack(ready))
  call('ZADD', key_due(), unpack(due))
end
return #due / 2
