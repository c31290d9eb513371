#!lua
-- probe: whether the store takes writes. It makes none: without a flag that would let it pass, the engine itself refuses the
-- call at entry while memory is exhausted, on a replica, or while the server is not allowed to write.
--
-- KEYS     1 namespace root; nothing is touched
-- ARGV     none
-- Returns  'ok'
-- Fails    nothing is written
-- Repeat:  harmless

return 'ok'
