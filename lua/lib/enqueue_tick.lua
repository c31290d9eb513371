-- enqueue_tick: the job of a tick, exactly once.
-- include: entry

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

local function enqueue(schedule, tick, job_id)
  local content, decision = schedule.content, schedule.decisions[tick]
  if not (content and valid_priority(content)) then return 'failed', 'invalid_request' end
  if decision and decision.word == 'skip' then return 'skipped', 'hook_skipped' end
  if decision and decision.word == 'fail' then return 'failed', 'hook_error' end
  content = after_hooks(content, decision)
  if barred(content.fingerprint) then return 'skipped', 'quarantined' end
  local entrance = entrance_of(content.queue)
  if not entrance.usable then return 'failed', 'store_error' end
  -- A full queue refuses what would be new to it; what it has already needs no room.
  if entrance.room < 1 and redis.call('EXISTS', key_tick(schedule.id, tick), key_job(job_id)) == 0 then
    return 'failed', 'backpressure'
  end
  local before = queued_before(schedule, tick, job_id)
  if before then return before == 'replayed' and 'enqueued' or 'deduplicated', before, job_id end
  enter_queue(job_id, content, {}, schedule.id, tick, '')
  entrance.room = entrance.room - 1
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
