#!lua flags=allow-oom
-- disown: jobs that a worker was given in an answer it never got go back to their queues, as if nobody had had them; those
-- that were cancelled meanwhile are over.
--
-- KEYS     1 namespace root; touches the queues' records and sets, and the jobs it moves
-- ARGV     1 process id of the worker, 2 number of queues and their names, then the ids of the jobs that it does run
-- Returns  how many jobs went back
-- Fails    a full store takes it. A foreign type in place of a set: that queue is passed over.
-- Repeat:  harmless
-- include: ending
-- include: gate

local worker, queues, runs, count = ARGV[1], tonumber(ARGV[2]), {}, 0
local LOOK_AT = 1000
for at = 3 + queues, #ARGV do runs[ARGV[at]] = true end

local function give_back(job)
  if job.cancelled then return finish_as(job, 'cancelled') end
  return make_available(job)
end

for at = 3, 2 + queues do
  local running, before = key_state(ARGV[at], 'running'), count
  for _, id in ipairs(usable(running) and redis.call('ZREVRANGE', running, 0, LOOK_AT - 1) or {}) do
    if count < MAX_CALL_TICKS and not runs[id] and redis.pcall('HGET', key_job(id), 'worker') == worker then
      local job = read_job(id)
      if job and job.state == 'running' and job.queue == ARGV[at] and give_back(job) then
        give_token_back(job.queue)
        count = count + 1
      end
    end
  end
  if count > before then redis.call('PUBLISH', key_ready(), ARGV[at]) end
end
write_moves()
publish_hints()
return count
