#!lua flags=allow-oom
-- release: give a duty up at once, and wake whoever waits for it; forget the process.
--
-- KEYS     1 namespace root; touches duty, process, wake
-- ARGV     1 duty, 2 lease token, 3 process id
-- Returns  1 when the lease was this token's, else 0
-- Fails    nothing done
-- Repeat:  harmless

redis.call('DEL', key_process(ARGV[3]))
if redis.call('GET', key_duty(ARGV[1])) ~= ARGV[2] then return 0 end
redis.call('DEL', key_duty(ARGV[1]))
redis.call('PUBLISH', key_wake(), 'duty')
return 1
