-- failure: a tick that stays due. Its schedule is put off, 1 s at first and twice as long each time up to a minute,
-- and stands in an index of its own, so that it never delays the others.
-- include: clock
-- include: digits
-- include: events
-- include: outcomes

local FAILURE_FIELDS = {
  'failing_tick_ms', 'failing_attempts', 'failing_since_ms', 'failing_event_id', 'failing_streak', 'event_seq', 'outcomes',
}

local function failure_from(values, at)
  return {
    tick = values[at], attempts = tonumber(values[at + 1] or 0), since = values[at + 2], event_id = values[at + 3],
    streak = tonumber(values[at + 4] or 0), seq = values[at + 5] or '0', outcomes = values[at + 6] or '',
  }
end

-- Attempts made at `tick` before this one, and when the first was.
local function attempts_before(failure, tick)
  if failure.tick == tick then return failure.attempts, failure.since end
  return 0, nil
end

-- Attempts that only the caller saw count as if they had been recorded.
local function add_unrecorded(failure, tick, attempts, since)
  if attempts == '' then return end
  if failure.tick ~= tick then failure.tick, failure.attempts, failure.since, failure.event_id = tick, 0, since, nil end
  failure.attempts = failure.attempts + attempts
end

-- Records the failure and returns when to look at the schedule again. Repeated failures of one tick are one event,
-- rewritten while it is the newest. With `silent`, or where the history cannot be written, only the fields say so.
-- The caller moves the due index.
local function record_failure(id, failure, tick, reason, silent)
  local attempts, since = attempts_before(failure, tick)
  attempts, since = attempts + 1, since or now_text
  local seq, event_id, letters = failure.seq, '', failure.outcomes
  if not silent then
    local again = failure.tick == tick and failure.event_id == failure.seq
    local event = {
      seq = again and seq or digits(seq + 1), id = id, tick = tick, outcome = 'failed', reason = reason,
      attempts = digits(attempts), first_attempt = attempts > 1 and since or nil,
    }
    local written
    if again then written = pcall(redis.call, 'LSET', key_events(id), 0, event_text(event))
    else written = pcall(push_event, event) end
    if written then
      if not again then letters = with_outcome(letters, 'failed') end
      seq, event_id = event.seq, event.seq
    end
  end
  local wait = math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ^ math.min(failure.streak, 16))
  local retry_at = digits(now + wait)
  redis.call('HSET', key_schedule(id), 'failing_tick_ms', tick, 'failing_reason', reason,
    'failing_attempts', digits(attempts), 'failing_since_ms', since, 'failing_event_id', event_id,
    'failing_streak', digits(failure.streak + 1), 'retry_at_ms', retry_at, 'event_seq', seq, 'outcomes', letters)
  redis.call('ZADD', key_failing(), tick, id)
  return retry_at
end

local function clear_failure(id)
  redis.call('HDEL', key_schedule(id), 'failing_tick_ms', 'failing_reason', 'failing_attempts', 'failing_since_ms',
    'failing_event_id', 'failing_streak', 'retry_at_ms')
  redis.call('ZREM', key_failing(), id)
end
