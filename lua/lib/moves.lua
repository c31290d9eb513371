-- moves: a job stands in one set of its queue, that of its state, scored by when it is to be looked at again:
--   scheduled, retryable   when it may run
--   available              when it might have run, less a head start for its priority
--   running                when its lease ends
--   quarantined            since when it waits to be released
--   the final states       when it is to be removed
-- Moves are gathered, and written together by `write_moves`: no command of it can fail, since the type of each set was
-- checked before anything was said of the job. New entries go first, so that a job is never in no set.
-- include: clock
-- include: digits
-- include: typed
-- include: hints

local FINAL = {completed = true, archived = true, cancelled = true, undecodable = true}
local MOVE_FIELDS = {
  'queue', 'state', 'priority', 'available_at_ms', 'attempt', 'crash_attempt', 'max_attempts', 'retention_ms',
  'deadline_ms', 'fingerprint', 'unique_key', 'claim', 'cancel_requested',
}
local adding, removing, zset_usable = {}, {}, {}

-- A number, if it may be one of ours. The server reads 'nan' and 'inf' as numbers, too: as a score, they would fail the call
-- when half of it is written.
local function sane(text)
  local number = tonumber(text or '')
  return number and math.abs(number) < 2 ^ 53 and number or nil
end

-- The job of an id, with those fields; nil where there is none, or the key holds something else. A number that a record has
-- lost counts as the smallest.
local function read_job(id)
  local values = redis.pcall('HMGET', key_job(id), unpack(MOVE_FIELDS))
  if values.err or not values[1] or not values[2] then return nil end
  local function number(at) return sane(values[at]) or 0 end
  return {
    id = id, queue = values[1], state = values[2], priority = number(3), available_at = number(4),
    attempt = number(5), crashes = number(6), max_attempts = number(7), retention = number(8),
    deadline = sane(values[9]), fingerprint = values[10] or '', unique_key = values[11], claim = values[12] or '0',
    cancelled = values[13] == '1',
  }
end

local function usable(key)
  if zset_usable[key] == nil then zset_usable[key] = typed(key, 'zset') end
  return zset_usable[key]
end

local function gather(sets, key, ...)
  local entries = sets[key]
  if not entries then
    entries = {}
    sets[key] = entries
  end
  for _, value in ipairs({...}) do entries[#entries + 1] = value end
end

-- False, and nothing done, where the set of the new state holds something else. Further arguments are fields to write.
local function move(job, state, score, ...)
  local from, to = key_state(job.queue, job.state), key_state(job.queue, state)
  if not usable(to) then return false end
  redis.call('HSET', key_job(job.id), 'state', state, ...)
  gather(adding, to, digits(score), job.id)
  if from ~= to and usable(from) then gather(removing, from, job.id) end
  job.state = state
  hint_job(job.id)
  return true
end

local function write_moves()
  for key, entries in pairs(adding) do redis.call('ZADD', key, unpack(entries)) end
  for key, ids in pairs(removing) do redis.call('ZREM', key, unpack(ids)) end
  adding, removing = {}, {}
end

-- An entry without a job, or of a job that stands elsewhere.
local function drop_entry(key, id)
  if usable(key) then gather(removing, key, id) end
end

local function head_start(priority) return priority * PRIORITY_STEP_MS end

local function make_available(job, ...)
  return move(job, 'available', job.available_at - head_start(job.priority), ...)
end
