#!lua flags=allow-oom
-- admit: jobs for a worker's free capacity, past the gate of each queue; each with a lease and a claim number that fences
-- what the worker says of it.
--
-- KEYS     1 namespace root; touches meta, quarantine, of each queue its record, sets and deadlines, and the jobs it moves with
--          their unique keys
-- ARGV     1 process id of the worker, 2 life of a lease in ms, 3 capacity, 4 number of queues and their names, then the
--          job fields to return
-- Returns  {now, when to look again ('' = nothing to wait for), names of queues whose keys hold something else, what was refused,
--          {queue, id, claim number, field values …}, …}; refused is 'reason=count …': of queues with more waiting than their gate
--          let through 'paused', 'max_concurrent' or 'rate_limit', of jobs turned away 'deadline' or 'quarantined'
-- Fails    a full store takes it: what runs gets finished, and frees memory. What is no count of claims, in meta: the call
--          fails before anything is said of a job. A foreign type in place of a queue's keys: that queue is passed over, and
--          named. In place of a job: its entry is removed. What does not pass the gate stays where it is; what is barred is set
--          aside; what is past its deadline is archived.
-- Repeat:  not harmless (the jobs of a lost answer run only after their leases)
-- include: ending
-- include: barred
-- include: gate
-- include: each_due
-- include: claims

local capacity, queues = math.min(tonumber(ARGV[3]), MAX_CALL_TICKS), tonumber(ARGV[4])
local answer, unusable, refused = {now_text, '', '', ''}, {}, {}
local settled = 0  -- entries that got no lease and are out of the way
local LOOK_EVERY_MS = 100
local LOOK_PAST = 50  -- entries looked at beyond the room there is: what is set aside leaves room for others

local function refuse(reason) refused[reason] = (refused[reason] or 0) + 1 end

local function turn_away(reason)
  settled = settled + 1
  refuse(reason)
end

-- Whether a lease was given. What got none is settled, unless the answer is full or it cannot be moved.
local function admit(queue, id)
  local job = read_job(id)
  if not job or job.state ~= 'available' or job.queue ~= queue then
    drop_entry(key_state(queue, 'available'), id)
    settled = settled + 1
  elseif past_deadline(job, now) then
    if finish_as(job, 'archived', 'last_error', 'DeadlineExceeded') then turn_away('deadline') end
  elseif barred(job.fingerprint) then
    if set_aside(job) then turn_away('quarantined') end
  else
    local row = lease(job, ARGV[1], ARGV[2], ARGV, 5 + queues)
    answer[#answer + 1] = row
    if row then capacity = capacity - 1 end
    return row ~= nil
  end
  return false
end

-- Leases for as many as there is room for. Returns how many of `waiting` were looked at, and how many got one.
local function admit_some(queue, waiting, room)
  local looked_at, taken = 0, 0
  while taken < room and looked_at < #waiting and not full do
    if admit(queue, waiting[looked_at + 1]) then taken = taken + 1 end
    if not full then looked_at = looked_at + 1 end
  end
  return looked_at, taken
end

-- When to ask again for what got no lease; nil where nothing is left, or where others will say so.
local function ask_again(gate, rest, window_full, short, progress)
  if short then
    -- Bytes were the limit, or what is out of the way now hid others. What cannot be moved is not asked for without a pause.
    if rest > 0 or window_full then return progress and now or now + RETRY_MIN_MS end
  elseif rest > 0 and capacity > 0 and gate.free > 0 then
    -- As much as comes within LOOK_EVERY_MS, so that many workers that wait do not all ask for each token; but half a bucket
    -- at most, so that none of it runs over meanwhile.
    return now + refill_ms(gate, math.max(1, math.min(rest, gate.pace * LOOK_EVERY_MS, gate.burst / 2)))
  end  -- where `max_concurrent` is the limit, whoever finishes one says so
end

local function admit_from(queue)
  local gate, available = read_gate(queue), key_state(queue, 'available')
  if not gate or not usable(available) or not usable(key_state(queue, 'running')) then
    unusable[#unusable + 1] = queue
    return
  end
  bring_back(queue, 'scheduled')
  bring_back(queue, 'retryable')
  write_moves()
  if gate.paused and redis.call('ZCARD', available) > 0 then refuse('paused') end
  if gate.paused or capacity < 1 then return end
  local room = math.min(capacity, gate.free, gate.whole_tokens)
  local window = math.max(room, 1) + LOOK_PAST
  local waiting = redis.call('ZRANGE', available, 0, window - 1)
  if room > 0 and #waiting > 0 then take_numbers(capacity) end
  local before, looked_at, taken = settled, admit_some(queue, waiting, room)
  spend_tokens(gate, taken)
  gate.free = gate.free - taken
  if taken == room and looked_at < #waiting and capacity > 0 then refuse(gate.free < 1 and 'max_concurrent' or 'rate_limit') end
  expect(ask_again(gate, #waiting - looked_at, #waiting == window, taken < room, full or taken > 0 or settled > before))
end

for at = 5, 4 + queues do admit_from(ARGV[at]) end
write_moves()
if capacity < 1 and tonumber(ARGV[3]) > MAX_CALL_TICKS then expect(now) end
local reasons = {}
for reason, count in pairs(refused) do reasons[#reasons + 1] = reason .. '=' .. count end
answer[2], answer[3], answer[4] = due_next and digits(due_next) or '', table.concat(unusable, ' '), table.concat(reasons, ' ')
publish_hints()
return answer
