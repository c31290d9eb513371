-- standing: the keys that say where a schedule stands, and whether they are what they should be.
-- include: typed

local function standing_usable(id)
  for _, key in ipairs({key_schedules(), key_due(), key_paused(), key_resumes(), key_failing(), key_gaps(id)}) do
    if not typed(key, 'zset') then return false end
  end
  return typed(key_schedule(id), 'hash') and typed(key_meta(), 'hash') and typed(key_events(id), 'list')
    and typed(key_changes(id), 'list') and typed(key_manual(id), 'list')
end

-- Where the due index keeps a schedule that is not paused.
local function stand_in_due(id, next_run) redis.call('ZADD', key_due(), next_run == '' and '+inf' or next_run, id) end
