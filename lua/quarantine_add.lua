#!lua flags=allow-oom
-- quarantine_add: bar a fingerprint of kind and payload from being enqueued and admitted.
--
-- KEYS     1 namespace root; touches quarantine and its indexes
-- ARGV     1 fingerprint, 2 note as a JSON string
-- Returns  1 added, 0 it was barred before (the note is the new one)
-- Fails    a full store takes it: it may be how somebody stops what fills it
-- Repeat:  harmless
-- include: barred

return bar(ARGV[1], 'operator', ARGV[2]) and 1 or 0
