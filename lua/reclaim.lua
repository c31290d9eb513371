#!lua flags=allow-oom
-- reclaim: one bounded pass over some queues: jobs whose worker was not heard of again, whose time has come, whose deadline
-- has passed, and finished ones that were kept for long enough; jobs of released fingerprints; processes that ended.
--
-- KEYS     1 namespace root; touches duty, meta, processes, workers, queues, quarantine, and of the queues it looks at the
--          record, the sets, and the jobs it moves or removes
-- ARGV     1 lease token, 2 name of the last queue looked at ('' = begin a pass), 3 life of a lease in ms, 4 crashes
--          after which a fingerprint is quarantined, 5 most finished jobs of a queue
-- Returns  {now, 'lost'}: the lease is not this token's, nothing was done
--          {now, 'ok', 'all', or 'more' to be looked at; last queue that was, next instant that something is due ('' = nothing),
--          jobs that run, jobs moved, jobs removed, {job id, its new state, …} of those whose worker was not heard of again}
-- Fails    a full store takes it: it frees memory. A foreign type in place of a set or a job: it is passed over.
-- Repeat:  harmless
-- include: holds_duty
-- include: crashes
-- include: each_due
-- include: retention
-- include: release

if not holds_duty('reclaimer') then return {now_text, 'lost'} end

local QUEUES, crash_limit, max_finished = 20, tonumber(ARGV[4]), tonumber(ARGV[5])
local running, moved = 0, 0

local function bring(job)
  if make_available(job) then moved = moved + 1 end
end

-- A running job is its worker's to stop, and archived should it come back.
local function expire(job)
  if job.state == 'running' or not ALIVE[job.state] then return drop_entry(key_deadlines(job.queue), job.id) end
  if finish_as(job, 'archived', 'last_error', 'DeadlineExceeded') then moved = moved + 1 end
end

local judged_from = leases_judged_from(tonumber(ARGV[3]))

local function look_at(queue)
  local before = budget
  if judged_from <= now then
    each_due(queue, 'running', key_state(queue, 'running'), function(job) crash(job, crash_limit) end)
  else
    expect(judged_from)
  end
  bring_back(queue, 'scheduled', bring)
  bring_back(queue, 'retryable', bring)
  each_due(queue, nil, key_deadlines(queue), expire)
  write_moves()
  if budget < before then redis.call('PUBLISH', key_ready(), queue) end
  forget_finished(queue, max_finished)
  write_moves()
  local count = redis.pcall('ZCARD', key_state(queue, 'running'))
  running = running + (type(count) == 'number' and count or 0)
end

-- A queue that has nothing and was told nothing need not be listed.
local function forget_if_empty(queue)
  local keys = {key_queue(queue)}
  for _, state in ipairs(FINAL_STATES) do keys[#keys + 1] = key_state(queue, state) end
  for state in pairs(ALIVE) do keys[#keys + 1] = key_state(queue, state) end
  if redis.call('EXISTS', unpack(keys)) == 0 then redis.call('ZREM', key_queues(), queue) end
end

local function release_some()
  if not usable(key_releasing()) then return end
  for _, fingerprint in ipairs(redis.call('ZRANGE', key_releasing(), 0, 9)) do
    if budget < 1 then break end
    local freed, rest = release_set_aside(fingerprint, budget)
    budget, moved = budget - freed, moved + freed
    if rest > 0 then expect(freed > 0 and now or now + RETRY_MAX_MS) end
  end
  write_moves()
end

local function forget_processes(key)
  if not usable(key) then return end
  local gone = redis.call('ZRANGEBYSCORE', key, '-inf', now_text, 'LIMIT', 0, MAX_CALL_TICKS)
  if #gone > 0 then redis.call('ZREM', key, unpack(gone)) end
end

if ARGV[2] == '' then
  release_some()
  forget_processes(key_processes())
  forget_processes(key_workers())
end
local names = redis.call('ZRANGEBYLEX', key_queues(), ARGV[2] == '' and '-' or '(' .. ARGV[2], '+', 'LIMIT', 0, QUEUES)
local last = ARGV[2]
for _, queue in ipairs(names) do
  local done = moved + removed + #crashed
  look_at(queue)
  -- Again, if there is more than fits a call; but not for ever at what cannot be moved.
  if budget < 1 and moved + removed + #crashed > done then break end
  last = queue
  if budget < 1 then break end
  forget_if_empty(queue)
end
local all = budget > 0 and #names < QUEUES
publish_hints()
return {
  now_text, 'ok', all and 'all' or 'more', last, due_next and digits(due_next) or '', running, moved, removed, crashed,
}
