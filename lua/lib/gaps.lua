-- gaps: ranges of ticks that were passed without running, each with the spec whose ticks they are, so that they can be counted
-- and made up for after the spec has changed. `before` is the tick passed just before `from`: a gap that ended there, for the
-- same reason, grows instead of a new one being made, so that a schedule barred for a week leaves one range and not a
-- hundred. Writing the same gap again changes nothing.
local function gap_text(from, upto, reason, spec)
  local quoted = string.gsub(spec, '[%c"\\]', function(byte) return string.format('\\u%04x', string.byte(byte)) end)
  return '{"from_ms":' .. from .. ',"until_ms":' .. upto .. ',"reason":"' .. reason .. '","spec":"' .. quoted .. '"}'
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
  redis.call('ZREMRANGEBYRANK', key, 0, -MAX_GAPS - 1)
end
