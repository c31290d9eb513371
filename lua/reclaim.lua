#!lua flags=allow-oom
-- reclaim: one bounded pass over some queues: jobs whose worker was not heard of again, whose time has come, whose deadline
-- has passed, and finished ones that were kept for long enough; jobs of released fingerprints; processes that ended.
--
-- KEYS     1 namespace root; touches duty, meta, processes, queues, quarantine, and of the queues it looks at the record, the
--          sets, and the jobs it moves or removes
-- ARGV     1 lease token, 2 name of the last queue looked at ('' = begin a pass), 3 longest time between two passes of a
--          reclaimer that the store answers, in ms, 4 crashes after which a fingerprint is quarantined, 5 most finished jobs
--          of a queue
-- Returns  {now, 'lost'}: the lease is not this token's, nothing was done
--          {now, 'ok', 'all', or 'more' to be looked at; last queue that was, next instant that something is due ('' = nothing),
--          jobs that run, jobs moved, jobs removed, {job id, its new state, …} of those whose worker was not heard of again}
-- Fails    a full store takes it: it frees memory. A foreign type in place of a set or a job: it is passed over.
-- Repeat:  harmless
-- include: holds_duty
-- include: ending
-- include: barred
-- include: due_jobs
-- include: release

if not holds_duty('reclaimer') then return {now_text, 'lost'} end

local QUEUES, crash_limit, max_finished = 20, tonumber(ARGV[4]), tonumber(ARGV[5])
local budget, due_next, running, moved, removed, crashed = MAX_CALL_TICKS, nil, 0, 0, 0, {}

local function expect(instant)
  if instant and (not due_next or instant < due_next) then due_next = instant end
end

-- Where nobody has been looking for longer than usual, the store may have been away, and workers could not be heard: each
-- lease gets that much longer. Returns the instant up to which leases that ended count as such.
local function leases_judged()
  local seen = redis.call('HMGET', key_meta(), 'reclaimed_at_ms', 'leases_judged_from_ms')
  local from = tonumber(seen[2] or '') or 0
  if now - (tonumber(seen[1] or '') or 0) > tonumber(ARGV[3]) then from = now + ARGV[3] end
  redis.call('HSET', key_meta(), 'reclaimed_at_ms', now_text, 'leases_judged_from_ms', digits(from))
  return from <= now, from
end

-- The jobs of a set that are due, each given to `handle`, within the budget. Expects the next.
local function each_due(queue, state, key, handle)
  if not usable(key) then return end
  local first = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or '')
  if not first or first > now then return expect(first) end
  if budget < 1 then return expect(now) end
  local ids = redis.call('ZRANGEBYSCORE', key, '-inf', now_text, 'LIMIT', 0, budget)
  budget = budget - #ids
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if not job or job.queue ~= queue or (state and job.state ~= state) then drop_entry(key, id) else handle(job) end
  end
  expect(budget < 1 and now or tonumber(redis.call('ZRANGEBYSCORE', key, '(' .. now_text, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or ''))
end

local function crash(job)
  local crashes = digits(job.crashes + 1)
  if past_deadline(job, now) then
    finish_as(job, 'archived', 'crash_attempt', crashes, 'last_error', 'DeadlineExceeded')
  elseif job.crashes + 1 >= crash_limit and set_aside(job, 'crash_attempt', crashes, 'last_error', 'WorkerLost') then
    if not barred(job.fingerprint) then bar(job.fingerprint, 'crash_limit', 'null', job) end  -- an operator may have been first
  else
    make_available(job, 'crash_attempt', crashes, 'last_error', 'WorkerLost')
  end
  crashed[#crashed + 1] = job.id
  crashed[#crashed + 1] = job.state
end

local function come_back(job)
  make_available(job)
  moved = moved + 1
end

-- A running job is its worker's to stop, and archived should it come back.
local function expire(job)
  if job.state == 'running' or not ALIVE[job.state] then return drop_entry(key_deadlines(job.queue), job.id) end
  finish_as(job, 'archived', 'last_error', 'DeadlineExceeded')
  moved = moved + 1
end

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

local function forget_finished(queue)
  local excess = -max_finished
  for _, state in ipairs(FINAL_STATES) do
    each_due(queue, state, key_state(queue, state), remove)
    write_moves()
    local count = redis.pcall('ZCARD', key_state(queue, state))
    excess = excess + (type(count) == 'number' and count or 0)
  end
  for _, state in ipairs(FINAL_STATES) do excess = trim(queue, state, excess) end
  if excess > 0 then expect(now) end
end

local judged, judged_from = leases_judged()

local function look_at(queue)
  local before = budget
  if judged then
    each_due(queue, 'running', key_state(queue, 'running'), crash)
  else
    expect(judged_from)
  end
  each_due(queue, 'scheduled', key_state(queue, 'scheduled'), come_back)
  each_due(queue, 'retryable', key_state(queue, 'retryable'), come_back)
  each_due(queue, nil, key_deadlines(queue), expire)
  write_moves()
  if budget < before then redis.call('PUBLISH', key_ready(), queue) end
  forget_finished(queue)
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
    if rest > 0 then expect(now) end
  end
  write_moves()
end

local function forget_processes()
  if not usable(key_processes()) then return end
  local gone = redis.call('ZRANGEBYSCORE', key_processes(), '-inf', now_text, 'LIMIT', 0, MAX_CALL_TICKS)
  if #gone > 0 then redis.call('ZREM', key_processes(), unpack(gone)) end
end

if ARGV[2] == '' then
  release_some()
  forget_processes()
end
local names = redis.call('ZRANGEBYLEX', key_queues(), ARGV[2] == '' and '-' or '(' .. ARGV[2], '+', 'LIMIT', 0, QUEUES)
local last = ARGV[2]
for _, queue in ipairs(names) do
  look_at(queue)
  if budget < 1 then break end
  forget_if_empty(queue)
  last = queue
end
local all = budget > 0 and #names < QUEUES
return {
  now_text, 'ok', all and 'all' or 'more', last, due_next and digits(due_next) or '', running, moved, removed, crashed,
}
