#!lua flags=no-writes
-- history: events of one schedule, newest first. Event ids have no holes, so an id is a place in the list.
--
-- KEYS     1 namespace root; reads the events
-- ARGV     1 id, 2 the event id before which to start ('' = from the newest), 3 limit
-- Returns  the events as stored
-- Fails    nothing is written
-- Repeat:  harmless
-- include: events

local start = 0
if ARGV[2] ~= '' then start = math.max(0, newest_event_id(ARGV[1]) - ARGV[2] + 1) end
return redis.call('LRANGE', key_events(ARGV[1]), start, start + ARGV[3] - 1)
