-- clock: store time, read once per call. `now` is a number of ms, `now_text` its decimal digits.
local now
do
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local now_text = string.format('%.0f', now)
