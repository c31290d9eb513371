-- retention: finished jobs go when they were kept for long enough, or when their queue has too many.
-- include: each_due
-- include: ending

local removed = 0

local function remove(job)
  remove_job(job)
  removed = removed + 1
end

-- The oldest of a state beyond what a queue may keep; returns how many are still too many.
local function trim(queue, state, excess)
  local key = key_state(queue, state)
  if excess < 1 or budget < 1 or not usable(key) then return excess end
  local ids = redis.call('ZRANGE', key, 0, math.min(excess, budget) - 1)
  budget = budget - #ids
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if job and job.queue == queue and job.state == state then remove(job) else drop_entry(key, id) end
  end
  return excess - #ids
end

local FINAL_STATES = {'completed', 'cancelled', 'undecodable', 'archived'}  -- the least missed first

-- `most` is how many a queue may keep.
local function forget_finished(queue, most)
  local excess = -most
  for _, state in ipairs(FINAL_STATES) do
    each_due(queue, state, key_state(queue, state), remove)
    write_moves()
    local count = redis.pcall('ZCARD', key_state(queue, state))
    excess = excess + (type(count) == 'number' and count or 0)
  end
  for _, state in ipairs(FINAL_STATES) do excess = trim(queue, state, excess) end
  if excess > 0 then expect(now) end
end
