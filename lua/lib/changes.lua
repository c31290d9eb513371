-- changes: who changed what of a schedule, newest first.
-- include: clock

-- `said` is JSON without its first brace: what was done, by whom, and which fields it moved.
local function push_change(id, revision, said)
  local key = key_changes(id)
  redis.call('LPUSH', key, '{"at_ms":' .. now_text .. ',"revision":' .. revision .. ',' .. said)
  redis.call('LTRIM', key, 0, MAX_CHANGES - 1)
end
