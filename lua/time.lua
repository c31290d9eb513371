#!lua flags=no-writes
-- time: what time it is.
--
-- KEYS     1 namespace root; nothing is touched
-- ARGV     none
-- Returns  store time in ms
-- Fails    nothing is written
-- Repeat:  harmless
-- include: clock

return now_text
