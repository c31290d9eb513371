-- instant: a score as an instant that a reader of whole milliseconds can take, whatever number others put there; nil for none.
local function instant_of(score)
  local number = tonumber(score or '')
  if not number or number ~= number then return nil end
  return math.min(math.max(math.floor(number), 0), MAX_INSTANT_MS)
end
