-- runs: what was asked for by hand, newest first; apart from the trail, so that it pushes no tick out.
-- include: clock

-- `tick` is nil for an extra run; `by` is JSON.
local function push_run(id, trigger, job_id, outcome, tick, by)
  local runs = key_manual(id)
  redis.call('LPUSH', runs, '{"schedule_id":"' .. id .. '","trigger":"' .. trigger .. '","job_id":"' .. job_id
    .. '","outcome":"' .. outcome .. '","tick_ms":' .. (tick or 'null') .. ',"by":' .. by
    .. ',"recorded_at_ms":' .. now_text .. '}')
  redis.call('LTRIM', runs, 0, MAX_MANUAL - 1)
end
