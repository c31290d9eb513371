-- jobs: the one writer of job records.
-- include: clock
-- include: digits
-- include: hints

-- `content` has kind, queue, priority, max_attempts, timeout_ms, retention_ms, fingerprint, payload, zone; headers, if any.
-- The origin is a pair: half of one is a fault of the caller and refused before anything is written.
local function write_job(job_id, content, options, run_at, schedule_id, tick, manual_schedule_id)
  if (schedule_id == '') ~= (tick == '') then error('half a periodic origin') end
  local more = {}
  if options.deadline then more = {'deadline_ms', digits(options.deadline)} end
  if options.unique_key then
    more[#more + 1] = 'unique_key'
    more[#more + 1] = options.unique_key
    if options.unique_ms ~= '' then
      more[#more + 1] = 'unique_ms'
      more[#more + 1] = options.unique_ms
    end
  end
  redis.call('HSET', key_job(job_id), 'id', job_id, 'kind', content.kind, 'queue', content.queue,
    'state', run_at > now and 'scheduled' or 'available', 'priority', content.priority, 'attempt', '0',
    'crash_attempt', '0', 'max_attempts', content.max_attempts, 'timeout_ms', content.timeout_ms,
    'retention_ms', content.retention_ms, 'fingerprint', content.fingerprint, 'enqueued_at_ms', now_text,
    'available_at_ms', digits(run_at), 'periodic_schedule_id', schedule_id, 'periodic_tick_ms', tick,
    'manual_schedule_id', manual_schedule_id, 'payload', content.payload, 'zone', content.zone,
    'headers', content.headers or '{}', unpack(more))
  hint_job(job_id)
end

local function valid_priority(content)
  local priority = tonumber(content.priority)
  return priority and math.abs(priority) <= MAX_PRIORITY
end
