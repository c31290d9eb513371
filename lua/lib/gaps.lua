-- gaps: ranges of ticks that were passed without running. `before` is the tick passed just before `from`:
-- a gap that ended there, for the same reason, grows instead of a new one being made, so that a schedule
-- barred for a week leaves one range and not a hundred. Writing the same gap again changes nothing.
local function add_gap(id, from, upto, reason, before)
  local key = key_gaps(id)
  local newest = redis.call('ZRANGE', key, -1, -1)[1]
  if newest then
    local first, last, why = string.match(newest, '^{"from_ms":(%d+),"until_ms":(%d+),"reason":"([a-z_]+)"}$')
    if last == before and why == reason then
      redis.call('ZREM', key, newest)
      from = first
    end
  end
  redis.call('ZADD', key, upto, '{"from_ms":' .. from .. ',"until_ms":' .. upto .. ',"reason":"' .. reason .. '"}')
  redis.call('ZREMRANGEBYRANK', key, 0, -MAX_GAPS - 1)
end
