-- each_due: what is due in sets of jobs, as much as one call may do, and when to look again.
-- include: moves
-- include: instant

local budget, due_next = MAX_CALL_TICKS, nil

local function expect(instant)
  instant = instant_of(instant)
  if instant and (not due_next or instant < due_next) then due_next = instant end
end

-- The jobs of a set that are due, each given to `handle`, within the budget. Expects the next. `state` is that of the set, nil
-- where jobs of several are in it.
local function each_due(queue, state, key, handle)
  if not usable(key) then return end
  local first = instant_of(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
  if not first or first > now then return expect(first) end
  if budget < 1 then return expect(now) end
  local ids = redis.call('ZRANGEBYSCORE', key, '-inf', now_text, 'LIMIT', 0, budget)
  budget = budget - #ids
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if not job or job.queue ~= queue or (state and job.state ~= state) then drop_entry(key, id) else handle(job) end
  end
  if budget < 1 then return expect(now) end
  expect(instant_of(redis.call('ZRANGEBYSCORE', key, '(' .. now_text, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]))
end

-- Jobs that waited for an instant are available once it has come.
local function bring_back(queue, state, handle) each_due(queue, state, key_state(queue, state), handle or make_available) end
