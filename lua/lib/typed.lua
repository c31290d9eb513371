-- typed: whether a key may be used as this type, that is, holds it or nothing.
local function typed(key, kind)
  local found = redis.call('TYPE', key).ok
  return found == kind or found == 'none'
end
