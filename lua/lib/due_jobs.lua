-- due_jobs: jobs that waited for an instant are available once it has come.
-- include: moves

-- Of one set, at most `limit`. Returns when the next one is due, which is now where there were more; nil for never.
local function bring_back(queue, state, limit)
  local set = key_state(queue, state)
  if not usable(set) then return nil, 0 end
  local first = tonumber(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2] or '')
  if not first or first > now then return first, 0 end
  local ids = redis.call('ZRANGEBYSCORE', set, '-inf', now_text, 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if job and job.state == state and job.queue == queue then make_available(job) else drop_entry(set, id) end
  end
  if #ids == limit then return now, #ids end
  return tonumber(redis.call('ZRANGEBYSCORE', set, '(' .. now_text, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or ''), #ids
end
