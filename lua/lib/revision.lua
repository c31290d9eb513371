-- revision: one counter for the namespace: a record deleted and made again never has a revision that somebody read before.
local function next_revision() return redis.call('HINCRBY', key_meta(), 'revision', 1) end
