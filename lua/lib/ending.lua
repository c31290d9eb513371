-- ending: a job that is over lets go of what it holds, and is removed after a while.
-- include: moves
-- include: unique

local function let_go(job, state)
  free_unique(job.unique_key, job.id)
  if job.deadline then redis.pcall('ZREM', key_deadlines(job.queue), job.id) end
  if state == 'quarantined' then drop_entry(key_quarantined(job.fingerprint), job.id) end
end

-- Kept for `retention_ms` when completed, else for at least a week; and never shorter than a repeat of a lost enqueuing
-- may take to come, which must find it.
local function finish_as(job, state, ...)
  local life, before = math.max(job.retention, state == 'completed' and REPEAT_MS or ARCHIVE_RETENTION_MS), job.state
  if not move(job, state, now + life, 'finished_at_ms', now_text, ...) then return false end
  let_go(job, before)
  return true
end

local function past_deadline(job, instant) return job.deadline and job.deadline <= instant end

-- The record and all that points to it. The caller writes the moves.
local function remove_job(job)
  drop_entry(key_state(job.queue, job.state), job.id)
  let_go(job, job.state)
  redis.call('UNLINK', key_job(job.id))
  hint_job(job.id)
end
