-- enqueue_tick: the job of a tick, exactly once.
-- include: entry
-- include: rules

local marker_made = nil

-- Whether this identity was queued before: 'replayed', 'id_conflict' or nil. Its marker says so or, should the marker
-- have lapsed, its job (whose content hooks may have made). Where it says no, the marker is made.
local function queued_before(schedule, tick, job_id)
  local content, marker_key = schedule.content, key_tick(schedule.id, tick)
  local marker = job_id .. ' ' .. content.fingerprint .. ' ' .. content.queue
  if not redis.call('SET', marker_key, marker, 'NX', 'PX', schedule.marker_ms) then
    return redis.call('GET', marker_key) == marker and 'replayed' or 'id_conflict'
  end
  marker_made = marker_key
  if redis.call('EXISTS', key_job(job_id)) == 0 then return nil end
  redis.call('HGET', key_job(job_id), 'id')  -- raises where the key holds something else: that is no job, queued or not
  return 'replayed'
end

-- What the hooks made of the schedule's content for this tick. Only the marker goes by what it was before them, so that a
-- hook which changes the payload at each call does not turn a replay into a conflict.
local function after_hooks(content, decision)
  if not decision then return content end
  local final = {}
  for field, value in pairs(content) do final[field] = value end
  final.payload, final.fingerprint, final.headers = decision.payload, decision.fingerprint, decision.headers
  return final
end

-- Why a tick that is new makes no job, if so: outcome, reason and the job that stands in the way. What is queued already is
-- not asked: it needs no room, and would stand in its own way.
local function refused(schedule, tick, job_id, entrance)
  local rules = schedule.rules
  if entrance.room >= 1 and not rules then return nil end
  if redis.call('EXISTS', key_tick(schedule.id, tick), key_job(job_id)) > 0 then return nil end
  if rules then
    if too_late(rules, tick) then return 'skipped', 'too_late' end
    local other, why = in_the_way(rules)
    if other then return 'deduplicated', why, other end
  end
  if entrance.room < 1 then return 'failed', 'backpressure' end
end

local function options_for(schedule, tick)
  local rules = schedule.rules
  if not rules then return {} end
  local jitter = jitter_of(rules, schedule.id, tick, schedule.following)
  return options_of(rules, tick, jitter and tick + jitter)
end

local function enqueue(schedule, tick, job_id)
  local content, decision = schedule.content, schedule.decisions[tick]
  if not (content and valid_priority(content)) then return 'failed', 'invalid_request' end
  if decision and decision.word == 'skip' then return 'skipped', 'hook_skipped' end
  if decision and decision.word == 'fail' then return 'failed', 'hook_error' end
  content = after_hooks(content, decision)
  if barred(content.fingerprint) then return 'skipped', 'quarantined' end
  local entrance = entrance_of(content.queue)
  if not entrance.usable then return 'failed', 'store_error' end
  local outcome, reason, other = refused(schedule, tick, job_id, entrance)
  if outcome then return outcome, reason, other end
  local before = queued_before(schedule, tick, job_id)
  if before == 'replayed' and schedule.rules then schedule.rules.last_job = job_id end
  if before then return before == 'replayed' and 'enqueued' or 'deduplicated', before, job_id end
  enter_queue(job_id, content, options_for(schedule, tick), schedule.id, tick, '')
  entrance.room = entrance.room - 1
  if schedule.rules then schedule.rules.last_job = job_id end
  return 'enqueued', 'accepted', job_id
end

-- Outcome, reason and job id of a tick. A fault is an outcome too: the marker that this call made before it is undone, so
-- that a marker always means that the job is queued. The job is one command, the last that can fail: it needs no undoing.
local function enqueue_tick(schedule, tick)
  marker_made = nil
  local ran, outcome, reason, job_id = pcall(enqueue, schedule, tick, TICK_JOB_PREFIX .. schedule.id .. '-' .. tick)
  if ran then return outcome, reason, job_id end
  if marker_made then redis.call('DEL', marker_made) end
  return 'failed', 'store_error', nil
end
