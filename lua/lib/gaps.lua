-- gaps: ranges of ticks that were passed without running, each with the spec whose ticks they are, so that they can be counted
-- and made up for after the spec has changed. `before` is the tick passed just before `from`: a gap that ended there, for the
-- same reason, grows instead of a new one being made, so that a schedule barred for a week leaves one range and not a
-- hundred. Writing the same gap again changes nothing.
-- include: digits
local function gap_text(from, upto, reason, spec)
  local quoted = string.gsub(spec, '[%c"\\]', function(byte) return string.format('\\u%04x', string.byte(byte)) end)
  return '{"from_ms":' .. from .. ',"until_ms":' .. upto .. ',"reason":"' .. reason .. '","spec":"' .. quoted .. '"}'
end

-- The oldest of too many are forgotten; up to where, the record says, so that nobody takes a forgotten tick for one that ran.
local function trim_gaps(id)
  local key = key_gaps(id)
  local excess = redis.call('ZCARD', key) - MAX_GAPS
  if excess < 1 then return end
  local last = redis.call('ZRANGE', key, excess - 1, excess - 1, 'WITHSCORES')[2]
  redis.call('HSET', key_schedule(id), 'forgotten_ms', digits(tonumber(last)))
  redis.call('ZREMRANGEBYRANK', key, 0, excess - 1)
end

local function add_gap(id, from, upto, reason, before, spec)
  local key = key_gaps(id)
  local newest = redis.call('ZRANGE', key, -1, -1)[1]
  if newest then
    local first, last = string.match(newest, '^{"from_ms":(%d+),"until_ms":(%d+),')
    if first and last == before and newest == gap_text(first, last, reason, spec) then
      redis.call('ZREM', key, newest)
      from = first
    end
  end
  redis.call('ZADD', key, upto, gap_text(from, upto, reason, spec))
  trim_gaps(id)
end
