#!lua flags=no-writes
-- kept: what is kept of a schedule beside its trail: its runs by hand, its changes or its gaps.
--
-- KEYS     1 namespace root; reads the list
-- ARGV     1 'manual' or 'changes' (newest first) or 'gaps' (oldest first), 2 id
-- Returns  the entries as stored; each list is capped
-- Fails    nothing is written
-- Repeat:  harmless

if ARGV[1] == 'gaps' then return redis.call('ZRANGE', key_gaps(ARGV[2]), 0, -1) end
return redis.call('LRANGE', ARGV[1] == 'manual' and key_manual(ARGV[2]) or key_changes(ARGV[2]), 0, -1)
