#!lua
-- quarantine_add: bar a fingerprint of kind and payload from being enqueued.
--
-- KEYS     1 namespace root; touches quarantine
-- ARGV     1 fingerprint, 2 note as a JSON string
-- Returns  1 added, 0 it was barred before (the note is the new one)
-- Fails    nothing done
-- Repeat:  harmless
-- include: clock

local why = '{"since_ms":' .. now_text .. ',"why":"operator","note":' .. ARGV[2] .. '}'
return redis.call('HSET', key_quarantine(), ARGV[1], why)
