#!lua
-- fire: planned ticks become jobs, each is recorded, its schedule advances.
--
-- KEYS     1 namespace root; touches duty, due, failing, quarantine, and of each schedule its record, markers,
--          jobs, events, gaps and its queue's ready set
-- ARGV     1 lease token, then for each schedule eight, and five for each tick that hooks decided on: id;
--          "revision,next_run_ms,last_tick_ms" as read; life of a marker in ms; "from,until" of the ticks discarded in
--          favour of the first planned one, or ''; attempts at that one that could not be recorded and when the first
--          was, or '' twice; "t1,t2,…,next": the planned ticks, oldest first, and what follows them ('' when nothing
--          does); number of decisions; and of each the tick, 'go', 'skip' or 'fail', and the payload, fingerprint and
--          headers to use
-- Returns  {now, 'lost'}: the lease is not this token's, nothing was done
--          {now, 'broken'}: a key that all schedules share has a foreign type, nothing was done
--          {now, 'ok', r, …}, one r a schedule: 'moved' (changed since it was read) or 'early' (due later by store
--          time), both untouched; else what became of its ticks, comma-separated: outcome/reason, 'passed' (in the
--          ledger already) or 'unrecorded' (queued, but the event could not be written)
-- Fails    memory: at entry, nothing done. A command on a schedule's own keys: that schedule alone stops at that
--          tick, and is put off. Before the queue entry, what the call made is undone, so that a marker always means
--          queued; after it, last_tick_ms alone moves and the next call writes the missing event. Ready sets and the
--          due index are written last; their types were checked, so these writes cannot fail.
-- Repeat:  not harmless (nothing is doubled, but 'moved' no longer says what became of the ticks)
-- include: holds_duty
-- include: clock
-- include: digits
-- include: typed
-- include: as_read
-- include: content
-- include: failure
-- include: fire_tick

if not holds_duty('scheduler') then return {now_text, 'lost'} end
if not (typed(key_due(), 'zset') and typed(key_failing(), 'zset') and typed(key_quarantine(), 'hash')) then
  return {now_text, 'broken'}
end

-- Rarely anything fails; while something does, every schedule that fires is taken off that list, its record asked or not.
local failing_any = redis.call('ZCARD', key_failing()) > 0
local FIELDS, due = {'revision', 'next_run_ms', 'last_tick_ms', 'anchor_ms', 'rules', 'last_lateness_ms'}, {}
for _, field in ipairs(FAILURE_FIELDS) do FIELDS[#FIELDS + 1] = field end
for _, field in ipairs(CONTENT_FIELDS) do FIELDS[#FIELDS + 1] = field end

local function look_at(id, instant)
  due[#due + 1] = instant == '' and '+inf' or instant
  due[#due + 1] = id
end

-- The schedule, if it is still as the caller read it.
local function read_schedule(at)
  local id = ARGV[at]
  local values = redis.call('HMGET', key_schedule(id), unpack(FIELDS))
  if not as_read(values, ARGV[at + 1]) then return nil end
  local schedule = {
    id = id, revision = values[1], next_run = values[2], last_tick = values[3] ~= '' and values[3] or nil, anchor = values[4],
    failing = values[7] or failing_any, failure = failure_from(values, 7), content = content_from(values, 7 + #FAILURE_FIELDS),
    marker_ms = ARGV[at + 2], rules = values[5] == '1' and read_rules(id) or nil, lateness = values[6],
  }
  if schedule.rules and schedule.content then schedule.content.headers = schedule.rules.headers end
  schedule.from, schedule.upto = string.match(ARGV[at + 3], '^(%d+),(%d+)$')
  schedule.decisions = {}
  for place = at + 8, at + 3 + 5 * ARGV[at + 7], 5 do
    schedule.decisions[ARGV[place]] = {
      word = ARGV[place + 1], payload = ARGV[place + 2], fingerprint = ARGV[place + 3], headers = ARGV[place + 4],
    }
  end
  return schedule
end

local function save(schedule)
  hint_schedule(schedule.id, schedule.revision)
  local failure, stopped = schedule.failure, schedule.stopped
  redis.call('HSET', key_schedule(schedule.id), 'last_tick_ms', schedule.last_tick or '', 'anchor_ms', schedule.anchor,
    'next_run_ms', schedule.next_run, 'event_seq', failure.seq, 'outcomes', failure.outcomes,
    'last_lateness_ms', schedule.lateness or '')
  if schedule.rules then redis.call('HSET', key_schedule(schedule.id), 'last_job_id', schedule.rules.last_job or '') end
  if stopped then
    look_at(schedule.id, record_failure(schedule.id, failure, stopped.tick, stopped.reason, stopped.silent))
  else
    if schedule.failing then clear_failure(schedule.id) end
    look_at(schedule.id, schedule.next_run)
  end
end

local function fire(at)
  local schedule = read_schedule(at)
  if not schedule then return 'moved' end
  local results, tick, go_on = {}, nil, true
  for instant in string.gmatch(ARGV[at + 6] .. ',', '([^,]*),') do
    if tick then
      if not go_on or tonumber(tick) > now then break end
      if #results == 0 then add_unrecorded(schedule.failure, tick, ARGV[at + 4], ARGV[at + 5]) end
      results[#results + 1], go_on = fire_tick(schedule, tick, instant)
    end
    tick = instant
  end
  if #results == 0 then return 'early' end
  save(schedule)
  return table.concat(results, ',')
end

local answer, at = {now_text, 'ok'}, 2
while at <= #ARGV do
  local ran, result = pcall(fire, at)
  if not ran then look_at(ARGV[at], digits(now + RETRY_MAX_MS)) end
  answer[#answer + 1] = ran and result or 'failed/store_error'
  at = at + 8 + 5 * ARGV[at + 7]
end
write_entries()
if #due > 0 then redis.call('ZADD', key_due(), unpack(due)) end
publish_hints()
return answer
