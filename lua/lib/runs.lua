-- runs: what was asked for by hand, newest first; apart from the trail, so that it pushes no tick out.
-- include: clock

-- `outcome` and `job_id` are of the run, or of the first of several; `ticks` are nil for an extra run, and of a backfill the
-- first, the last and how many became jobs, so that a large one is one entry; `by` is JSON.
local function push_run(id, trigger, job_id, outcome, by, ticks)
  local runs = key_manual(id)
  local range = ticks and ',"tick_ms":' .. ticks.first .. ',"from_ms":' .. ticks.first .. ',"until_ms":' .. ticks.last
    .. ',"count":' .. ticks.count or ',"tick_ms":null'
  redis.call('LPUSH', runs, '{"schedule_id":"' .. id .. '","trigger":"' .. trigger .. '","job_id":"' .. job_id
    .. '","outcome":"' .. outcome .. '"' .. range .. ',"by":' .. by .. ',"recorded_at_ms":' .. now_text .. '}')
  redis.call('LTRIM', runs, 0, MAX_MANUAL - 1)
end
