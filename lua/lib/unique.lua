-- unique: a key that one job at a time may hold: for its life, or until an instant. The value is the job's id and, for a
-- window, its end; a life's key has no end of its own, and is free when its job is missing or over.
-- include: clock
-- include: digits

local UNFINISHED = {'scheduled', 'available', 'running', 'retryable'}
local ALIVE = {scheduled = true, available = true, running = true, retryable = true, quarantined = true}

-- The job that holds a key, or nil.
local function unique_holder(key)
  local id, until_ms = string.match(redis.call('GET', key_unique(key)) or '', '^(%S+) ?(%d*)$')
  if not id then return nil end
  if until_ms ~= '' then return tonumber(until_ms) > now and id or nil end
  return ALIVE[redis.call('HGET', key_job(id), 'state')] and id or nil
end

-- `window` in ms, or '' for the job's life.
local function hold_unique(key, id, window)
  if window == '' then
    redis.call('SET', key_unique(key), id)
  else
    redis.call('SET', key_unique(key), id .. ' ' .. digits(now + window), 'PX', window)
  end
end

-- A window goes on whatever becomes of its job.
local function free_unique(key, id)
  if key and redis.pcall('GET', key_unique(key)) == id then redis.call('DEL', key_unique(key)) end
end
