#!lua flags=allow-oom
-- queue_write: what a queue is told to let through.
--
-- KEYS     1 namespace root; touches queues and the queue's record
-- ARGV     1 queue, then fields and values: 'now' stands for store time if the field is empty so far, '' empties it
-- Returns  nothing of interest
-- Fails    a full store takes it: it may be how somebody stops what fills it. The index is written first: a queue that is
--          listed and was told nothing does no harm.
-- Repeat:  harmless
-- include: clock

local queue, record = ARGV[1], key_queue(ARGV[1])
redis.call('ZADD', key_queues(), 0, queue)
for at = 2, #ARGV, 2 do
  local field, value = ARGV[at], ARGV[at + 1]
  if value == '' then
    redis.call('HDEL', record, field)
  elseif value == 'now' then
    redis.call('HSETNX', record, field, now_text)
  else
    redis.call('HSET', record, field, value)
  end
end
redis.call('PUBLISH', key_ready(), queue)
return 'ok'
