-- rules: what a schedule says of its jobs beyond their content. Few schedules do: the record's field `rules` is '1' where
-- there is anything to read.
-- include: clock
-- include: digits
-- include: unique

local RULE_FIELDS = {
  'overlap', 'max_lateness_ms', 'jitter_ms', 'unique_key', 'deadline_ms', 'headers', 'last_job_id',
}

local function read_rules(id)
  local values = redis.call('HMGET', key_schedule(id), unpack(RULE_FIELDS))
  local function text(at) return values[at] ~= '' and values[at] or nil end
  return {
    overlap = values[1] == 'skip', max_lateness = tonumber(text(2)), jitter = tonumber(text(3)), unique_key = text(4),
    deadline = tonumber(text(5)), headers = text(6), last_job = text(7),
  }
end

-- The same for a tick whoever works it out: from nothing up to `jitter`, and never to the next tick.
local function jitter_of(rules, id, tick, following)
  if not rules.jitter then return nil end
  local most = rules.jitter
  if following and following ~= '' then most = math.max(0, math.min(most, following - tick - 1)) end
  return tonumber(string.sub(redis.sha1hex(id .. ' ' .. tick), 1, 8), 16) % (most + 1)
end

local function too_late(rules, tick)
  return (rules.max_lateness and now - tick > rules.max_lateness) or (rules.deadline and tick + rules.deadline <= now)
end

-- The job that stands in the way of a new one, and why: the previous run is not over, or another holds the unique key.
local function in_the_way(rules)
  -- One that was set aside is no run: it may never be one.
  local state = rules.overlap and rules.last_job and redis.call('HGET', key_job(rules.last_job), 'state')
  if ALIVE[state] and state ~= 'quarantined' then return rules.last_job, 'overlap' end
  local holder = rules.unique_key and unique_holder(rules.unique_key)
  if holder then return holder, 'unique_key' end
end

-- Options of a job, as `enter_queue` takes them; `from` is the instant that its deadline counts from.
local function options_of(rules, from, run_at)
  return {
    run_at = run_at, deadline = rules.deadline and from + rules.deadline, unique_key = rules.unique_key, unique_ms = '',
  }
end
