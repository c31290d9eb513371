#!lua flags=no-writes
-- job: one job.
--
-- KEYS     1 namespace root; reads the job
-- ARGV     1 id, 2… fields to read
-- Returns  the values of those fields (all empty: no such job)
-- Fails    nothing is written
-- Repeat:  harmless

return redis.call('HMGET', key_job(ARGV[1]), unpack(ARGV, 2))
