#!lua flags=allow-oom
-- quarantine_release: a fingerprint may be enqueued and admitted again, and some of the jobs set aside for it go back.
--
-- KEYS     1 namespace root; touches quarantine and its indexes, the jobs set aside, their queues' sets
-- ARGV     1 fingerprint, 2 'begin', or 'go on' after a step: then it stays barred should somebody have barred it again
-- Returns  {jobs that went back, jobs that are left}; {-1, 0}: the fingerprint is not barred, and nothing is left to go back
-- Fails    a full store takes it. The fingerprint is noted as being released before it is not barred any more, so that the
--          reclaimer, or another call, goes on where one died.
-- Repeat:  harmless: it goes on
-- include: release

local fingerprint = ARGV[1]
if redis.call('HEXISTS', key_quarantine(), fingerprint) == 1 then
  if ARGV[2] == 'go on' then return {0, 0} end
  redis.call('ZADD', key_releasing(), now_text, fingerprint)
  redis.call('HDEL', key_quarantine(), fingerprint)
  redis.pcall('ZREM', key_barred(), fingerprint)
elseif not redis.call('ZSCORE', key_releasing(), fingerprint) then
  return {-1, 0}
end
local freed, rest = release_set_aside(fingerprint, MAX_CALL_TICKS)
write_moves()
publish_hints()
return {freed, rest}
