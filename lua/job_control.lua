#!lua flags=allow-oom
-- job_control: an operator's word on one job.
--
-- KEYS     1 namespace root; touches the job, its unique key, quarantine, its queue's sets and deadlines, queues
-- ARGV     1 id, 2 'retry' (at once, with all its attempts; a finished one or one that waits), 'cancel' (one that is not
--          finished; a running one keeps its place until its worker has stopped it, or its lease ends) or 'delete' (one that
--          does not run)
-- Returns  {word, state}: the word is 'ok', or 'missing', 'running', 'finished', 'available', 'quarantined', 'late' (its
--          deadline has passed), 'unique' (another job holds its unique key) or 'broken', and nothing was done
-- Fails    a full store takes it. Types are checked before the first write.
-- Repeat:  not harmless (the second answer may say that there is nothing to do)
-- include: ending
-- include: barred

local id, word = ARGV[1], ARGV[2]
local job = read_job(id)
if not job then return {'missing', ''} end

local function retry()
  if job.state == 'running' or job.state == 'available' then return job.state end
  if barred(job.fingerprint) then return 'quarantined' end
  if past_deadline(job, now) then return 'late' end
  -- A window is over when it is over: a job that comes back holds its key only if it held it for its life.
  local held = job.unique_key and not redis.call('HGET', key_job(id), 'unique_ms')
  local holder = held and unique_holder(job.unique_key)
  if holder and holder ~= id then return 'unique' end
  local before = job.state
  job.available_at = now
  if not make_available(job, 'available_at_ms', now_text, 'attempt', '0', 'crash_attempt', '0') then return 'broken' end
  if held and not holder then hold_unique(job.unique_key, id, '') end
  if before == 'quarantined' then redis.pcall('ZREM', key_quarantined(job.fingerprint), id) end
  if job.deadline then redis.pcall('ZADD', key_deadlines(job.queue), digits(job.deadline), id) end
  -- The last claim has had its say: said again, since its answer was lost, it must not end what is to run anew.
  redis.call('HDEL', key_job(id), 'finished_at_ms', 'cancel_requested', 'claim')
  redis.pcall('ZADD', key_queues(), 0, job.queue)
  redis.call('PUBLISH', key_ready(), job.queue)
  return 'ok'
end

local function cancel()
  if FINAL[job.state] then return job.state == 'cancelled' and 'ok' or 'finished' end
  if job.state == 'running' then
    -- Its place and its keys are its own until it has stopped: another must not begin beside it.
    redis.call('HSET', key_job(id), 'cancel_requested', '1')
    hint_job(id)
    redis.call('PUBLISH', key_ready(), 'cancel ' .. id)
    return 'ok'
  end
  if not finish_as(job, 'cancelled') then return 'broken' end
  redis.call('PUBLISH', key_ready(), job.queue)  -- a place may have become free
  return 'ok'
end

local function delete()
  if job.state == 'running' then return 'running' end
  remove_job(job)
  return 'ok'
end

local answer = {retry = retry, cancel = cancel, delete = delete}
local said = answer[word]()
write_moves()
publish_hints()
return {said, job.state}
