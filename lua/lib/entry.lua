-- entry: the one way into a queue, for ticks, clicks and code. Entries are gathered and written by `write_entries` at the
-- end of the call; that cannot fail, since the type of each set was checked before its first entry was gathered.
-- include: clock
-- include: digits
-- include: typed
-- include: unique
-- include: barred
-- include: jobs

local entrances = {}

local function room_in(queue)
  local most = tonumber(redis.call('HGET', key_queue(queue), 'max_unfinished') or '')
  if not most then return math.huge end
  for _, state in ipairs(UNFINISHED) do most = most - redis.call('ZCARD', key_state(queue, state)) end
  return most
end

-- A queue as this call finds it: whether its keys can be used, how many jobs it still takes, and those that entered.
local function entrance_of(queue)
  local entrance = entrances[queue]
  if entrance then return entrance end
  entrance = {usable = false, room = 0, available = {}, scheduled = {}, deadlines = {}}
  entrances[queue] = entrance
  for _, key in ipairs({key_state(queue, 'available'), key_state(queue, 'scheduled'), key_deadlines(queue)}) do
    if not typed(key, 'zset') then return entrance end
  end
  entrance.usable, entrance.room = pcall(room_in, queue)
  return entrance
end

-- `options` may have run_at, deadline (numbers), unique_key and unique_ms (text).
local function enter_queue(job_id, content, options, schedule_id, tick, manual_schedule_id)
  local entrance, run_at = entrance_of(content.queue), math.max(options.run_at or now, now)
  write_job(job_id, content, options, run_at, schedule_id, tick, manual_schedule_id)
  local function add(set, score)
    set[#set + 1] = digits(score)
    set[#set + 1] = job_id
  end
  if run_at > now then add(entrance.scheduled, run_at) else add(entrance.available, now - head_start(content.priority)) end
  if options.deadline then add(entrance.deadlines, options.deadline) end
  if options.unique_key then hold_unique(options.unique_key, job_id, options.unique_ms) end
end

local function write_entries()
  for queue, entrance in pairs(entrances) do
    local function write(key, entries)
      if #entries > 0 then redis.call('ZADD', key, unpack(entries)) end
    end
    write(key_state(queue, 'available'), entrance.available)
    write(key_state(queue, 'scheduled'), entrance.scheduled)
    write(key_deadlines(queue), entrance.deadlines)
    if #entrance.available + #entrance.scheduled > 0 then
      redis.pcall('ZADD', key_queues(), 0, queue)
      redis.call('PUBLISH', key_ready(), queue)
    end
  end
end
