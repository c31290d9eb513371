-- fire_tick: enqueue a tick, record it, move its schedule on; in this order, so that nothing passes an unwritten event.
-- include: digits
-- include: events
-- include: outcomes
-- include: gaps
-- include: failure
-- include: enqueue_tick

-- Gaps first: writing one again changes nothing, a second event would.
local function record(schedule, tick, outcome, reason, job_id)
  local before, from, upto = schedule.anchor, schedule.from, schedule.upto
  local spec = (from or outcome == 'skipped') and redis.call('HGET', key_schedule(schedule.id), 'spec') or ''
  if from then
    add_gap(schedule.id, from, upto, 'discarded', before, spec)
    before = upto
  end
  if outcome == 'skipped' then add_gap(schedule.id, tick, tick, reason, before, spec) end
  local attempts, since = attempts_before(schedule.failure, tick)
  push_event({
    seq = digits(schedule.failure.seq + 1), id = schedule.id, tick = tick, outcome = outcome, reason = reason,
    job_id = job_id, attempts = digits(attempts + 1), first_attempt = since, from = from, upto = upto,
  })
end

local function advance(schedule, tick, next_run)
  if tick ~= schedule.last_tick then schedule.lateness = digits(now - tick) end
  schedule.anchor, schedule.last_tick, schedule.next_run = tick, tick, next_run
  schedule.from, schedule.upto = nil, nil
  schedule.failure = {seq = schedule.failure.seq, outcomes = schedule.failure.outcomes, attempts = 0, streak = 0}
end

-- Whether the ledger has the tick: at or before the last one decided. The last one itself may be queued and still
-- lack its event; then the anchor is behind it.
local function in_ledger(schedule, tick)
  if not schedule.last_tick or tonumber(tick) > tonumber(schedule.last_tick) then return false, false end
  return true, tick == schedule.last_tick and tonumber(schedule.anchor) < tonumber(tick)
end

local function decide(schedule, tick)
  local known, unwritten = in_ledger(schedule, tick)
  if unwritten then return 'enqueued', 'replayed', TICK_JOB_PREFIX .. schedule.id .. '-' .. tick end
  if known then return 'passed' end
  return enqueue_tick(schedule, tick)
end

-- Returns what became of the tick, and whether the schedule may go on to its next one.
local function fire_tick(schedule, tick, next_run)
  schedule.following = next_run
  local outcome, reason, job_id = decide(schedule, tick)
  if outcome == 'passed' then
    advance(schedule, schedule.last_tick, next_run)
    return outcome, true
  elseif outcome == 'failed' then
    schedule.stopped = {tick = tick, reason = reason, silent = false}
  elseif pcall(record, schedule, tick, outcome, reason, job_id) then
    local failure = schedule.failure
    failure.seq, failure.outcomes = digits(failure.seq + 1), with_outcome(failure.outcomes, outcome)
    advance(schedule, tick, next_run)
    return outcome .. '/' .. reason, true
  else
    if outcome == 'enqueued' then schedule.last_tick = tick end
    schedule.stopped = {tick = tick, reason = 'store_error', silent = true}
    return 'unrecorded', false
  end
  return outcome .. '/' .. reason, false
end
