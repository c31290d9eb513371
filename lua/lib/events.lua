-- events: write what became of a tick. The text is built, never decoded: numbers keep their digits.
-- include: clock

-- `event` has seq, id, tick, outcome, reason, attempts as text; job_id, first_attempt, from, upto may be nil.
local function event_text(event)
  return '{"event_id":' .. event.seq .. ',"schedule_id":"' .. event.id .. '","tick_ms":' .. event.tick
    .. ',"job_id":' .. (event.job_id and '"' .. event.job_id .. '"' or 'null')
    .. ',"outcome":"' .. event.outcome .. '","reason":"' .. event.reason
    .. '","recorded_at_ms":' .. now_text .. ',"attempts":' .. event.attempts
    .. (event.first_attempt and ',"first_attempt_ms":' .. event.first_attempt or '')
    .. (event.from and ',"discarded":{"from_ms":' .. event.from .. ',"until_ms":' .. event.upto .. '}' or '') .. '}'
end

local function push_event(event)
  local key = key_events(event.id)
  if redis.call('LPUSH', key, event_text(event)) > MAX_EVENTS then
    redis.call('LTRIM', key, 0, MAX_EVENTS - 1)
  end
end

-- The newest event's id, '0' for an empty history: what a re-created schedule goes on from.
local function newest_event_id(id)
  local newest = redis.call('LINDEX', key_events(id), 0)
  return newest and string.match(newest, '^{"event_id":(%d+)') or '0'
end
