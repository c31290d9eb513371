#!lua flags=allow-oom
-- release: give duties up at once, and wake whoever waits for one; forget the process if it ends.
--
-- KEYS     1 namespace root; touches duty, process, processes, workers, wake
-- ARGV     1 process id, 2 '1' to forget the process, else '0'; then for each duty its name and a lease token
-- Returns  the names of the duties whose lease was that token's
-- Fails    a foreign type in place of a lease or of processes is left as it is
-- Repeat:  harmless

local released = {}
for at = 3, #ARGV, 2 do
  if redis.pcall('GET', key_duty(ARGV[at])) == ARGV[at + 1] then
    redis.call('DEL', key_duty(ARGV[at]))
    released[#released + 1] = ARGV[at]
  end
end
if released[1] then redis.call('PUBLISH', key_wake(), 'duty') end
if ARGV[2] == '1' then
  redis.call('DEL', key_process(ARGV[1]))
  redis.pcall('ZREM', key_processes(), ARGV[1])
  redis.pcall('ZREM', key_workers(), ARGV[1])
end
return released
